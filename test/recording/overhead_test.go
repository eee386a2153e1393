package recording

import (
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// hitCost makes costs tell the number of hits.
const hitCost = 1000

// oneCost is that of every hit.
var oneCost = &probes.Costs{Instructions: map[string]time.Duration{"nop": hitCost, probes.KindMove: hitCost}}

// TestOverheadIsHitsTimesCost compares what a recording says that it cost with the hits that it shows itself to have
// had: every callback's row with what is known to have happened in it, the sums with the rows.
func TestOverheadIsHitsTimesCost(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		n := startReadyNode(t, l, "--rate 50 --nested-depth 3 --nested-rate 20 --throw-every 7 --threads 2")
		r := record(t, session.Configuration{PIDs: n.pidText(), Raw: true, Sites: attaching.SitesEntries}, atCosts(oneCost))
		r.waitForRows(trace.TableCallback, enough)
		data := r.stop()
		r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
		requireOverheadOfCallbacks(t, data)
		requireOverheadOfAll(t, data)
	})
}

// requireOverheadOfCallbacks counts the raw events in each callback. Those that have no raw event (entries of functions
// of rcl, and counts of subscriptions on Humble) may come on top.
func requireOverheadOfCallbacks(t *testing.T, data *oracle.Dataset) {
	t.Helper()
	complete, more := 0, 0
	for _, row := range data.Callbacks {
		if row.Status != trace.CallbackComplete {
			if row.Overhead.Valid {
				t.Errorf("callback of status %s has an overhead", row.Status)
			}
			continue
		}
		complete++
		shown := int64(0)
		for _, e := range data.Events {
			if e.TID == row.TID && e.EventTimestamp > row.CallbackStartTimestamp.Value && e.EventTimestamp <= row.CallbackEndTimestamp.Value {
				shown++
			}
		}
		hits := row.Overhead.Value / hitCost
		if !row.Overhead.Valid || row.Overhead.Value%hitCost != 0 || hits < shown {
			t.Errorf("callback of thread %d at %d: overhead %v, of at least %d hits", row.TID, row.CallbackStartTimestamp.Value, row.Overhead, shown)
		}
		if hits > shown {
			more++
		}
	}
	if complete < enough/2 {
		t.Errorf("%d complete callbacks", complete)
	}
	t.Logf("%d of %d complete callbacks had hits without raw events", more, complete)
}

// requireOverheadOfAll compares the sums with the rows.
func requireOverheadOfAll(t *testing.T, data *oracle.Dataset) {
	t.Helper()
	o := data.Session.Overhead
	if o == nil || o.Measured || o.Cost != int64(o.Hits)*hitCost || o.Duration <= 0 {
		t.Fatalf("%+v", o)
	}
	hits, sum := map[string]uint64{}, uint64(0)
	for _, event := range o.Events {
		hits[event.Event] = event.Hits
		sum += event.Hits
	}
	started, ended := uint64(0), uint64(0)
	for _, row := range data.Callbacks {
		if row.CallbackStartTimestamp.Valid {
			started++
		}
		if row.CallbackEndTimestamp.Valid {
			ended++
		}
	}
	if sum != o.Hits || hits["callback_start"] != started || hits["callback_end"] != ended {
		t.Errorf("hits %v, in all %d; %d callbacks started and %d ended", hits, o.Hits, started, ended)
	}
	ofThreads := uint64(0)
	for _, thread := range o.Threads {
		ofThreads += thread.Hits
		if thread.Share != float64(thread.Cost)/float64(o.Duration) {
			t.Errorf("%+v of %d ns", thread, o.Duration)
		}
	}
	if ofThreads != o.Hits || len(o.Threads) != o.ThreadCount {
		t.Errorf("%d hits of %d threads, in all %d", ofThreads, o.ThreadCount, o.Hits)
	}
}
