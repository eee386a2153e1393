package recording

import (
	"fmt"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestDroppedTakes: another process subscribes to what nodes with intra-process communication publish, so each message
// goes through the middleware, too, and rclcpp drops it at its subscriptions. What it drops was not received, and feeds
// no callback.
func TestDroppedTakes(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		domain := fmt.Sprint(" --domain ", standin.Domain(t))
		listener := startNode(t, l, "--subscribe-only"+domain)
		n := startReadyNode(t, l, "--rate 100 --intra-process --subscriptions-per-topic 2 --wait-subscribers 1"+domain)
		listener.WaitReady()
		r := record(t, session.Configuration{PIDs: n.pidText()})
		r.waitForRows(trace.TableTake, enough)
		data := r.stop()
		result := r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
		listener.stop()
		if ignored, all := result.Kinds[string(trace.TakeIgnored)], len(data.Takes); ignored < enough/2 || all-ignored > enough/5 {
			t.Errorf("%d of %d takes are ignored: %v", ignored, all, result.Kinds)
		}
		requireReceived(t, r, data)
	})
}

// requireReceived demands that each topic of a callback was received as often as callbacks got a message of it.
func requireReceived(t *testing.T, r *recording, data *oracle.Dataset) {
	t.Helper()
	want := map[string]uint64{}
	for _, row := range data.Callbacks {
		if row.TopicName != "" && row.CallbackStartTimestamp.Valid {
			want[row.TopicName]++
		}
	}
	d, err := trace.Open(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := summary.Of(t.Context(), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range recorded.Topics {
		if n, ok := want[topic.TopicName]; ok && topic.Received != n {
			t.Errorf("%s was received %d times, but %d callbacks got a message", topic.TopicName, topic.Received, n)
		}
		delete(want, topic.TopicName)
	}
	if len(want) > 0 {
		t.Errorf("not in the summary: %v", want)
	}
}
