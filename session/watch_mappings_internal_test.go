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
		change func(s *Session, entry *process)
		want   bool
	}{
		"no reason":                      {func(*Session, *process) {}, false},
		"mappings are not told":          {func(s *Session, _ *process) { s.mappings.told = false }, true},
		"some were not told since":       {func(s *Session, _ *process) { s.mappings.lostAt = looked + 1 }, true},
		"some were not told before":      {func(s *Session, _ *process) { s.mappings.lostAt = looked - 1 }, false},
		"it has mapped something":        {func(s *Session, entry *process) { s.noteMapped(entry) }, true},
		"it is young":                    {func(_ *Session, entry *process) { entry.looks = 1 }, true},
		"nobody has looked":              {func(_ *Session, entry *process) { entry.target = nil }, true},
		"attaching is tried again":       {func(_ *Session, entry *process) { entry.retry = time.Now() }, true},
		"something could not be planned": {func(_ *Session, entry *process) { entry.unplanned = 1 }, true},
		"it was long ago":                {func(_ *Session, entry *process) { entry.lookedAt = time.Now().Add(-2 * unaskedPause) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Session{looks: newLooks()}
			s.mappings.told = true
			p := &target.Process{}
			entry := &process{target: p, probed: attaching.NewProcess(p), looks: youngLooks, lookedAt: time.Now(), refreshed: looked}
			test.change(s, entry)
			if got := s.wantsLook(entry); got != test.want {
				t.Errorf("wanted: %v", got)
			}
		})
	}
}

// Who maps one file after the other is looked at soon, and then not each time.
func TestLooksAreAskedFor(t *testing.T) {
	s, entry := &Session{looks: newLooks()}, &process{}
	entry.row.PID = 7
	asked := func() bool {
		pid, ok := s.looks.next()
		return ok && pid == 7
	}
	s.noteMapped(entry)
	if !asked() {
		t.Error("nobody looks")
	}
	s.noteMapped(entry)
	if asked() || !entry.mapped {
		t.Errorf("it is looked at again; mapped: %v", entry.mapped)
	}
	entry.askedAt = entry.askedAt.Add(-2 * askPause)
	s.noteMapped(entry)
	if !asked() {
		t.Error("nobody looks again")
	}
}
