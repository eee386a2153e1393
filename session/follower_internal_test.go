package session

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/target"
)

// followerOfAll is that of a recording of every process, which has not begun.
func followerOfAll() *follower {
	f := &follower{
		configuration: &compiled{Configuration: Configuration{All: true}}, finder: target.NewFinder(), merger: merge.New(merge.Options{}),
		mappings: new(mappings), looks: newLooks(), journal: newJournal(Observer{}), stale: staleAddresses{},
	}
	turns := newTurns(roundTime)
	f.turns = &turns
	f.processes = newProcesses(datasetClock{}, nil, f.journal)
	f.scans, f.headers = newScans(datasetClock{}, f.processes, f.merger, nil, f.journal), newHeaders(nil, nil, f.processes, f.journal)
	f.attacher = attaching.New(nil, attaching.Options{}, attachReport{}, attachReport{})
	f.blind = &blindSpans{processes: f.processes, mappings: f.mappings, attacher: f.attacher, journal: f.journal}
	f.admission = &admission{
		configuration: f.configuration, finder: f.finder, merger: f.merger, processes: f.processes, memories: new(memories),
		looks: f.looks, starts: new(recentStarts), turns: f.turns, journal: f.journal,
	}
	return f
}

// TestProcessIsReplacedWithoutRoom: a process that executes another program stays where its user has no room for one
// more.
func TestProcessIsReplacedWithoutRoom(t *testing.T) {
	command := startSleeping(t)
	pid := int32(command.Process.Pid)
	f := followerOfAll()
	p, err := f.finder.Inspect(t.Context(), pid)
	if err != nil {
		t.Fatal(err)
	}
	account := p.Account()
	entry := f.admission.enroll(t.Context(), p)
	for account.Take(quota.Processes, 1) == nil {
	}
	if err := f.replace(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	fresh := f.processes.find(pid)
	defer fresh.close()
	if fresh == entry || fresh.target == nil || fresh.ended || entry.target != nil {
		t.Errorf("the former one %+v, the new one %+v", entry, fresh)
	}
}

// TestRefusedProcessesAreMetLater: a process for which its user has no room is recorded as soon as there is some, and
// it is said once that it is not.
func TestRefusedProcessesAreMetLater(t *testing.T) {
	pid := int32(startSleeping(t).Process.Pid)
	f := followerOfAll()
	payer, err := f.finder.Payer(pid)
	if err != nil {
		t.Fatal(err)
	}
	account := f.finder.Quota().Of(payer)
	taken := int64(0)
	for account.Take(quota.Processes, 1) == nil {
		taken++
	}
	for range 3 {
		f.look(t.Context(), pid)
		if late := f.turns.next(); f.processes.find(pid) != nil || !slices.Equal(late, []int32{pid}) {
			t.Fatalf("%+v, to be looked at again are %v", f.processes.find(pid), late)
		}
	}
	if list := f.journal.warnings.list(); len(list) != 1 {
		t.Errorf("warnings %q", list)
	}
	account.Give(quota.Processes, taken)
	f.look(t.Context(), pid)
	entry := f.processes.find(pid)
	if entry == nil || entry.target == nil || len(f.turns.next()) != 0 {
		t.Fatalf("%+v, to be looked at again are %v", entry, f.turns.next())
	}
	entry.close()
}

// TestChildThatExecutesAProgramIsNotBlind: a process that could not be planned because it runs another program by then
// has missed nothing if all that it had mapped is probed for every process.
func TestChildThatExecutesAProgramIsNotBlind(t *testing.T) {
	replaced := fmt.Errorf("find the libraries: %w", target.ErrReplaced)
	for name, test := range map[string]struct {
		err     error
		modules []target.Module
		blind   bool
	}{
		"all is probed for every process": {err: replaced},
		"a file may not be":               {err: replaced, modules: []target.Module{{}}, blind: true},
		"the same program":                {err: target.ErrTooLong, blind: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := followerOfAll()
			p, err := f.finder.Inspect(t.Context(), int32(startSleeping(t).Process.Pid))
			if err != nil {
				t.Fatal(err)
			}
			entry := f.admission.enroll(t.Context(), p)
			defer entry.close()
			entry.ros2, entry.target.Modules = true, test.modules
			if err := f.attachPlan(t.Context(), entry, planning{err: test.err}); !errors.Is(err, test.err) {
				t.Errorf("another error: %v", err)
			}
			if blind := entry.unplanned != 0; blind != test.blind {
				t.Errorf("blind: %v", blind)
			}
		})
	}
}
