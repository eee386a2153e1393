package recording

import (
	"maps"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestLateAttachFindsTheSameEntities records a program from its start and, once it runs, with a second recording that
// attaches to it: the tables of entities are right in both, and equal but for provenance and times.
func TestLateAttachFindsTheSameEntities(t *testing.T) {
	programs := map[string]string{
		"threads": "--nodes 2 --topics 2 --rate 50 --intra-process --service-rate 30 --service-clients 2 --threads 3 --reentrant",
		"single": "--nodes 2 --rate 50 --chain --service-rate 30 --deferred-service-rate 20 --polled-rate 20 " +
			"--serialized-rate 20 --loaned-rate 20 --sim-time-rate 20",
		"static": "--static-executor --rate 50 --intra-process --callback-form shared --service-rate 30 --untaken-response-rate 10",
	}
	forEachLayout(t, func(t *testing.T, l layout) {
		for _, name := range slices.Sorted(maps.Keys(programs)) {
			if testing.Short() && name != "threads" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				n, first := recordFromTheBeginning(t, l, session.Configuration{}, programs[name])
				n.WaitReady()
				second := record(t, session.Configuration{PIDs: n.pidText()})
				second.waitForRows(trace.TableCallback, enough)
				attached := second.stop()
				fromStart := first.stop()
				truth := n.stop()
				for _, r := range []*recording{first, second} {
					if testing.Short() && r.said("was cut short") {
						t.Skip("a recorder said that this machine is too slow to find all entities in time")
					}
				}
				oracle.RequireEntities(t, attached, truth, second.span(attached, truth.Header.PID))
				oracle.RequireEntities(t, fromStart, truth, first.span(fromStart, truth.Header.PID))
				oracle.RequireSameEntities(t, truth.Header.PID, attached, fromStart)
			})
		}
	})
}
