package system

import (
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// Of a dataset with too many entities those are known that there is memory for, and a warning says so.
func TestAsManyEntitiesAsThereIsMemoryFor(t *testing.T) {
	for limit, want := range []struct{ processes, nodes, publishers, warnings int }{{0, 0, 0, 3}, {1, 0, 0, 2}, {1, 1, 0, 2}, {1, 2, 0, 1}, {1, 2, 1, 1}, {1, 2, 2, 0}} {
		dir := t.TempDir()
		key := trace.ProcessKey{BootID: "boot", PID: 1}
		tracetest.AddSegment(t, dir, 0, []trace.Process{{ProcessKey: key, Revision: 1}})
		tracetest.AddSegment(t, dir, 0, []trace.Node{{ProcessKey: key, NodeHandle: 1, NodeName: "a"}, {ProcessKey: key, NodeHandle: 2, NodeName: "b"}})
		tracetest.AddSegment(t, dir, 0, []trace.Publisher{{ProcessKey: key, PublisherHandle: 3, TopicName: "/t"}, {ProcessKey: key, PublisherHandle: 4, TopicName: "/t"}})
		tracetest.AddSession(t, dir, trace.NewSession())
		l := newLoader()
		if err := l.readEntities(t.Context(), tracetest.Open(t, dir), &trace.EntityLimit{Entities: limit, Text: 99}); err != nil {
			t.Fatal(err)
		}
		warnings := 0
		for _, w := range l.result.Warnings {
			if strings.Contains(w, "entities and processes") {
				warnings++
			}
		}
		if len(l.processes) != want.processes || len(l.nodes.rows) != want.nodes || len(l.publishers.rows) != want.publishers || warnings != want.warnings {
			t.Errorf("up to %d: %d processes, %d nodes, %d publishers, warnings %q", limit, len(l.processes), len(l.nodes.rows), len(l.publishers.rows), l.result.Warnings)
		}
	}
}
