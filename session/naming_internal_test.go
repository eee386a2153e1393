package session

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/entities"
)

// slowCode takes long to look up a function.
type slowCode struct{ understoodMemory }

func (slowCode) FunctionAt(uint64) (entities.Function, bool) {
	time.Sleep(namingTime / 2)
	return entities.Function{}, true
}

func (slowCode) PassedMember(uint64, string) (elffile.Member, error) {
	time.Sleep(3 * namingTime)
	return elffile.Member{}, nil
}

// The functions of one user's processes keep the reader waiting for so long and no longer, whoever else has spent his
// time.
func TestNamingTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &naming{journal: newJournal(Observer{})}
		of := func(user uint32) namedMemory { return namedMemory{slowCode{}, n, user} }
		function := func(user uint32) bool { _, ok := of(user).FunctionAt(0); return ok }
		member := func(user uint32) bool {
			_, err := of(user).PassedMember(0, "")
			if err != nil && !errors.Is(err, errNamedLate) {
				t.Error(err)
			}
			return err == nil
		}
		for i, step := range []struct {
			after time.Duration
			ask   func(user uint32) bool
			user  uint32
			want  bool
		}{
			{0, function, 1, true},
			{0, function, 1, true},
			{0, function, 1, false},
			{0, member, 1, false},
			{0, function, 2, true},
			{allowancePeriod, member, 1, true},
			{allowancePeriod, function, 1, false}, // it has taken what three periods have
			{0, function, 2, true},
			{2 * allowancePeriod, function, 1, true},
		} {
			time.Sleep(step.after)
			if got := step.ask(step.user); got != step.want {
				t.Errorf("step %d: %v", i, got)
			}
		}
		if list := n.journal.warnings.list(); len(list) != 1 {
			t.Errorf("warnings %q", list)
		}
	})
}
