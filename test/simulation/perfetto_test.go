package simulation

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/export/perfetto"
	"github.com/caret-bpf/caret-bpf/export/perfetto/perfettotest"
	"github.com/caret-bpf/caret-bpf/trace"
)

// drawnPublish is a publish as a trace shows it.
type drawnPublish struct {
	pid   int64
	topic string
	at    int64
}

// reached is how many callbacks and polls got a message: at least, and as many more as nothing recorded tells of.
type reached struct{ certain, untold int }

// reachedWithin tells of the messages of a recording how many receptions it has seen.
func (s *System) reachedWithin(r *recording) map[drawnPublish]reached {
	all := make(map[drawnPublish]reached)
	s.eachMessage(func(m *message) {
		if m.publisher.node.process.recording != r || m.published() == 0 {
			return
		}
		of := drawnPublish{int64(m.publisher.node.process.key.PID), m.publisher.topic, r.stamp(firstSeen(r, m))}
		now := all[of]
		for sub, d := range m.deliveries {
			if sub.node.process.recording != r || !sub.node.process.isKnown() || !d.reception.seen() {
				continue
			}
			switch {
			case !sub.hasOf(m.publisher) && m.hasSource():
				now.certain++
			case sub.hasOf(m.publisher) && r.sees(d.enqueued) && sub.ring.leavesOpen(d, r):
				now.untold++
			case sub.hasOf(m.publisher) && r.sees(d.enqueued):
				now.certain++
			}
		}
		all[of] = now
	})
	return all
}

// firstSeen is the first layer of a message that a recording has.
func firstSeen(r *recording, m *message) int64 {
	for _, layer := range []int64{m.intra, m.rclcpp, m.rcl, m.rmw} {
		if r.sees(layer) {
			return layer
		}
	}
	return 0
}

// TestPerfettoTellsWhatHappened: traces of random systems keep what Perfetto asks of them, have every execution once,
// and of each publish as many flows as callbacks and polls got the message, also where it is read in many windows.
func TestPerfettoTellsWhatHappened(t *testing.T) {
	first := number(t, seedVariable, 1)
	for seed := first; seed < first+number(t, systemsVariable, 20); seed++ {
		s := New(seed)
		s.Run()
		datasets, err := s.Write(t.TempDir(), 16)
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range datasets {
			for _, rows := range []int{0, 100} {
				t.Run(fmt.Sprintf("seed %d, recording %d, windows of %d rows", seed, i, rows), func(t *testing.T) {
					checkPerfetto(t, s, s.recordings[i], d, rows)
				})
			}
		}
	}
}

func checkPerfetto(t *testing.T, s *System, r *recording, d *trace.Dataset, windowRows int) {
	q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d)
	if err != nil {
		t.Fatal(err)
	}
	q.WindowRows = windowRows
	var out bytes.Buffer
	summary, err := perfetto.Write(t.Context(), &out, d, q, perfetto.Options{Compression: perfetto.Zstd})
	if err != nil {
		t.Fatal(err)
	}
	of, err := perfettotest.Decode(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	executions := make(map[string]int)
	for _, list := range [][]*perfettotest.Slice{of.Slices, of.Instants} {
		for _, slice := range list {
			executions[slice.Category]++
		}
	}
	if executions["callback"] != len(r.rows.Callbacks) || executions["publish"] != len(r.rows.Publishes) || summary.Overlapping > 0 {
		t.Errorf("%v are drawn of %d callbacks and %d publishes, %d overlap", executions, len(r.rows.Callbacks), len(r.rows.Publishes), summary.Overlapping)
	}
	got := make(map[drawnPublish]int)
	for _, flow := range of.Flows {
		topic, _ := flow.From.Arguments["topic"].(string)
		got[drawnPublish{flow.From.Track.PID, topic, flow.From.Begin}]++
		if to := flow.To.Name; !strings.HasSuffix(to, " "+topic) {
			t.Errorf("a message of %s goes to %s", topic, to)
		}
	}
	for publish, want := range s.reachedWithin(r) {
		if n := got[publish]; n < want.certain || n > want.certain+want.untold {
			t.Errorf("%+v has %d flows, want %+v", publish, n, want)
		}
		delete(got, publish)
	}
	if len(got) > 0 {
		t.Errorf("flows of what was not published: %v", got)
	}
}
