package main

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/tools/busy"
)

// Only what a processor did that was about as fast as at best counts, whatever it took. Without any there is no figure.
func TestOnlySteadyWindowsCount(t *testing.T) {
	pace := &busy.Pace{Fastest: 100}
	some := windows{{taken: 5000, pace: 100}, {taken: 90000, pace: 141}, {taken: 7000, pace: 140}, {taken: 6000, pace: 120}}
	if middle, ok := some.median(pace); !ok || middle != 6000 {
		t.Errorf("%v, %v", middle, ok)
	}
	dearest, at, steady := dearestWindow([]figures{{first: some}, {first: some[:1]}}, func(f figures) windows { return f.first }, pace)
	if dearest != 7000 || at != 2 || steady != 3 {
		t.Errorf("%v in window %d of %d", dearest, at, steady)
	}
	if middle, ok := some[1:2].median(pace); ok {
		t.Errorf("%v of a slow processor", middle)
	}
}
