package session

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/merge"
)

// A process of which memory was left out is scanned again, a few times, but not when the recording is over, and not
// while what was found last is still to take effect.
func TestPartialScansAreRepeated(t *testing.T) {
	for name, test := range map[string]struct {
		scanned scanned
		closed  bool
		running bool
		want    bool
	}{
		"not scanned yet":             {want: true},
		"it is being scanned":         {running: true},
		"wholly":                      {scanned: scanned{begun: true}},
		"partly":                      {scanned: scanned{begun: true, partial: true}, want: true},
		"partly for the last time":    {scanned: scanned{begun: true, partial: true, repeats: maxRepeats}},
		"partly, and nobody will ask": {scanned: scanned{begun: true, partial: true}, closed: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScans(datasetClock{}, nil, merge.New(merge.Options{}), nil, newJournal(Observer{}))
			s.closed = test.closed
			entry := &process{scanned: test.scanned}
			if test.running {
				s.running[entry] = func() {}
			}
			if got := s.wants(entry); got != test.want {
				t.Errorf("wanted: %v", got)
			}
		})
	}
}
