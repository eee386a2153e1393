package recording

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestLatenciesAreTrue compares the latencies of messages and callbacks of a node's whole life with what the ground
// truth tells of which message went where: by the DDS writers' gids and the source timestamps, and by the messages'
// addresses in buffers. On Humble the slots that threads fill at the same time may be mistaken for each other, so what
// uses buffers has one thread.
func TestLatenciesAreTrue(t *testing.T) {
	requireLong(t)
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		forEachBehaviour(t, []string{"threads", "intra_shared", "polled"}, func(t *testing.T, name string) {
			n, r := recordFromTheBeginning(t, l, session.Configuration{}, behaviours[name])
			r.waitForRows(trace.TableCallback, enough)
			truth, data := n.stop(), r.wait()
			if lost := data.Lost(); len(lost) > 0 {
				t.Skipf("%v were lost: the machine is too slow to show anything", lost)
			}
			oracle.RequireTrueMessages(t, r.dir, data, truth)
			oracle.RequireTrueCallbacks(t, r.dir, truth)
		})
	})
}

// TestHopsAreTrue compares the latencies of nodes, paths and services and the periods of callbacks of a node's whole
// life with what the ground truth tells of which callback published, which message started it, and which steps belong
// to a call.
func TestHopsAreTrue(t *testing.T) {
	requireLong(t)
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		forEachBehaviour(t, []string{"threads", "intra_shared"}, func(t *testing.T, name string) {
			n, r := recordFromTheBeginning(t, l, session.Configuration{}, behaviours[name])
			r.waitForRows(trace.TableCallback, enough)
			truth, data := n.stop(), r.wait()
			if lost := data.Lost(); len(lost) > 0 {
				t.Skipf("%v were lost: the machine is too slow to show anything", lost)
			}
			oracle.RequireTrueNodes(t, r.dir, data, truth)
			oracle.RequireTruePaths(t, r.dir, data, truth)
			oracle.RequireTruePeriods(t, r.dir, truth)
			oracle.RequireTrueServices(t, r.dir, truth)
		})
	})
}
