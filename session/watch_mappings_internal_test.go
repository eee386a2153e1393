package session

import (
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/target"
)

// A process is looked at when there is reason to, and seldom without any.
func TestWantsLook(t *testing.T) {
	const looked = int64(1000) // when it was
	for name, test := range map[string]struct {
		change func(m *mappings, entry *process)
		want   bool
	}{
		"no reason":                      {func(*mappings, *process) {}, false},
		"mappings are not told":          {func(m *mappings, _ *process) { m.told = false }, true},
		"some were not told since":       {func(m *mappings, _ *process) { m.lostAt = looked + 1 }, true},
		"some were not told before":      {func(m *mappings, _ *process) { m.lostAt = looked - 1 }, false},
		"it has mapped something":        {func(_ *mappings, entry *process) { entry.noteMapped(newLooks()) }, true},
		"it is young":                    {func(_ *mappings, entry *process) { entry.looks = 1 }, true},
		"nobody has looked":              {func(_ *mappings, entry *process) { entry.target = nil }, true},
		"attaching is tried again":       {func(_ *mappings, entry *process) { entry.retry = time.Now() }, true},
		"something could not be planned": {func(_ *mappings, entry *process) { entry.unplanned = 1 }, true},
		"it was long ago":                {func(_ *mappings, entry *process) { entry.lookedAt = time.Now().Add(-2 * unaskedPause) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			var m mappings
			m.begin()
			p := &target.Process{}
			entry := &process{target: p, probed: attaching.NewProcess(p), looks: youngLooks, lookedAt: time.Now(), refreshed: looked}
			test.change(&m, entry)
			if got := entry.wantsLook(&m); got != test.want {
				t.Errorf("wanted: %v", got)
			}
		})
	}
}

// Who maps one file after the other is looked at soon, and then not each time.
func TestLooksAreAskedFor(t *testing.T) {
	looks, entry := newLooks(), &process{}
	entry.row.PID = 7
	asked := func() bool {
		pid, ok := looks.next()
		return ok && pid == 7
	}
	entry.noteMapped(looks)
	if !asked() {
		t.Error("nobody looks")
	}
	entry.noteMapped(looks)
	if asked() || !entry.mapped {
		t.Errorf("it is looked at again; mapped: %v", entry.mapped)
	}
	entry.askedAt = entry.askedAt.Add(-2 * askPause)
	entry.noteMapped(looks)
	if !asked() {
		t.Error("nobody looks again")
	}
}
