package main

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/trace"
)

func TestInfoTellsHowRealTimeWasSynchronized(t *testing.T) {
	for name, test := range map[string]struct {
		known summary.RealTime
		want  string
	}{
		"not known":     {summary.RealTime{}, "real time: how well it was synchronized is not known"},
		"never":         {summary.RealTime{Asked: 3}, "real time: not synchronized"},
		"always":        {summary.RealTime{Asked: 3, Synchronized: 3, MaxError: trace.Some(int64(3_400_000))}, "real time: synchronized, off by at most 3.40 ms by what the kernel was told"},
		"for a time":    {summary.RealTime{Asked: 3, Synchronized: 2, MaxError: trace.Some(int64(3_400_000))}, "real time: synchronized in 2 of 3 measurements, off by at most 3.40 ms by what the kernel was told"},
		"without bound": {summary.RealTime{Asked: 3, Synchronized: 3}, "real time: synchronized; the kernel was not told how far it may be off"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := realTimeText(test.known); got != test.want {
				t.Errorf("%q, not %q", got, test.want)
			}
		})
	}
}
