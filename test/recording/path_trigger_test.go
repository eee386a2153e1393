package recording

import (
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestPathTrigger: a trigger on a path comes as often as a message reaches its end, whether messages go through the
// middleware or through buffers.
func TestPathTrigger(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		for name, flags := range map[string]string{"inter-process": "", "intra-process": " --intra-process"} {
			t.Run(name, func(t *testing.T) {
				n := startReadyNode(t, l, "--rate 100 --nodes 3 --chain"+flags)
				r := record(t, session.Configuration{PIDs: n.pidText(), Triggers: []string{
					"path over=1ns from=/n[0-9]+/t[0-9]+$ to=/relayed$ before=0s after=0s do=run:/bin/true per-day=1",
					"path over=1h from=/n[0-9]+/t[0-9]+$ to=/relayed$ before=0s after=0s",
				}})
				time.Sleep(time.Second)
				r.cancel()
				if err := <-r.done; err != nil {
					t.Fatal(err)
				}
				n.stop()
				data := oracle.ReadDataset(t, r.dir)
				came := func(i int) int { return int(data.Session.Triggers[i].Fired + data.Session.Triggers[i].Suppressed) }
				want := relayedBack(data)
				if want < 20 || came(0) != want || came(1) != 0 {
					t.Errorf("it came %d times and, over an hour, %d times; %d messages were relayed and got", came(0), came(1), want)
				}
			})
		}
	})
}

// ofThread is a thread's callback by its start, or its publish by its number.
type ofThread struct {
	tid int32
	of  int64
}

// relayedBack counts the callbacks of relayed messages that lead back to a message of a timer.
func relayedBack(data *oracle.Dataset) (count int) {
	callbacks, published := map[ofThread]*trace.Callback{}, map[ofThread]*trace.Publish{}
	for i := range data.Callbacks {
		if c := &data.Callbacks[i]; c.CallbackStartTimestamp.Valid {
			callbacks[ofThread{c.TID, c.CallbackStartTimestamp.Value}] = c
		}
	}
	for i := range data.Publishes {
		p := &data.Publishes[i]
		published[ofThread{p.TID, int64(p.PublishNumber)}] = p
	}
	for _, last := range callbacks {
		if !strings.HasSuffix(last.TopicName, "/relayed") {
			continue
		}
		relay := publishOf(data, published, last)
		if relay == nil || !relay.CallbackStartTimestamp.Valid {
			continue
		}
		middle := callbacks[ofThread{relay.TID, relay.CallbackStartTimestamp.Value}]
		if middle != nil && publishOf(data, published, middle) != nil {
			count++
		}
	}
	return count
}

// publishOf returns the publish of the message that a callback got, nil if it is not known.
func publishOf(data *oracle.Dataset, published map[ofThread]*trace.Publish, c *trace.Callback) (of *trace.Publish) {
	if c.SourceTimestamp.Valid {
		for i := range data.Publishes {
			if p := &data.Publishes[i]; p.TopicName == c.TopicName && p.SourceTimestamp == c.SourceTimestamp {
				return p
			}
		}
		return nil
	}
	newest := int64(0)
	for _, e := range data.Enqueues {
		isTaken := c.DequeueIndex.Valid && e.Buffer == c.Buffer && e.Index == c.DequeueIndex && e.EnqueueTimestamp <= c.DequeueTimestamp.Value
		if isTaken && e.EnqueueTimestamp >= newest && e.PublishNumber.Valid {
			newest, of = e.EnqueueTimestamp, published[ofThread{e.TID, int64(e.PublishNumber.Value)}]
		}
	}
	return of
}
