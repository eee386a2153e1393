package session

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/merge"
)

// A process of which memory was left out is scanned again, a few times, but not when the recording is over.
func TestPartialScansAreRepeated(t *testing.T) {
	for name, test := range map[string]struct {
		scanned scanned
		closed  bool
		want    bool
	}{
		"not scanned yet":             {want: true},
		"wholly":                      {scanned: scanned{begun: true}},
		"partly":                      {scanned: scanned{begun: true, partial: true}, want: true},
		"partly for the last time":    {scanned: scanned{begun: true, partial: true, repeats: maxRepeats}},
		"partly, and nobody will ask": {scanned: scanned{begun: true, partial: true}, closed: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScans(datasetClock{}, nil, merge.New(merge.Options{}), nil, newJournal(Observer{}))
			s.closed = test.closed
			if got := s.wants(&process{scanned: test.scanned}); got != test.want {
				t.Errorf("wanted: %v", got)
			}
		})
	}
}
