package main

import (
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

// It is said for whom probes were made, and since when for whom if that has changed.
func TestInfoSaysForWhomProbesAre(t *testing.T) {
	first := &trace.Links{Recorded: 20, Others: 60}
	const at = 1_700_000_000_000_000_000
	change := trace.LinkChange{Timestamp: at, Links: trace.Links{Shared: true, Recorded: 20, Others: 1}}
	for name, test := range map[string]struct {
		session trace.Session
		want    string
	}{
		"an old recording": {trace.Session{}, ""},
		"no change":        {trace.Session{Links: first}, "probes: for each process, of 20 that are recorded and 60 others that run ROS 2\n"},
		"a change": {
			trace.Session{Links: first, LinkChanges: []trace.LinkChange{change}},
			"probes: for each process, of 20 that are recorded and 60 others that run ROS 2\nprobes from " + report.Time(at) +
				" on: for every process, of 20 that are recorded and 1 others that run ROS 2\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if printLinks(&out, &test.session); out.String() != test.want {
				t.Errorf("%q", out.String())
			}
		})
	}
}
