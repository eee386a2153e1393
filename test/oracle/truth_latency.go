package oracle

import (
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/trace"
)

// transit is the way of a message from a publish to its arrival.
type transit struct {
	publish, arrival groundtruth.Bracket
}

// transits finds out by the ground truth alone which messages arrived where.
func (t *Truth) transits() []transit {
	var found []transit
	written := t.writtenMessages()
	arrive := func(gid string, source int64, at groundtruth.Bracket) {
		if p := written[writtenMessage{gid, source}]; p != nil && source != 0 {
			found = append(found, transit{firstLayer(p), at})
		}
	}
	for i := range t.Callbacks {
		c := &t.Callbacks[i]
		arrive(c.PublisherGID, c.SourceTimestamp, c.Start)
	}
	for i := range t.Takes {
		if take := &t.Takes[i]; take.Polled {
			arrive(take.PublisherGID, take.SourceTimestamp, take.Bracket)
		}
	}
	return append(found, t.bufferedTransits()...)
}

type writtenMessage struct {
	gid    string
	source int64
}

func (t *Truth) writtenMessages() map[writtenMessage]*groundtruth.Publish {
	gids := map[uint64][]groundtruth.RMWEntityInit{}
	for _, p := range t.RMWPublisherInits {
		gids[p.Handle] = append(gids[p.Handle], p)
	}
	written := map[writtenMessage]*groundtruth.Publish{}
	for i := range t.Publishes {
		p := &t.Publishes[i]
		for _, entity := range slices.Backward(gids[p.RMWPublisher]) {
			if entity.Bracket.Before <= p.Stamp.Before {
				written[writtenMessage{entity.GID, p.SourceTimestamp}] = p
				break
			}
		}
	}
	return written
}

// bufferedTransits follows messages by their addresses: in a buffer they do not change.
func (t *Truth) bufferedTransits() []transit {
	type held struct{ buffer, message uint64 }
	enqueues := map[held][]*enqueueTruth{}
	for _, thread := range t.threads {
		for _, e := range thread.enqueues {
			enqueues[held{e.Buffer, e.Message}] = append(enqueues[held{e.Buffer, e.Message}], e)
		}
	}
	var found []transit
	for _, thread := range t.threads {
		for _, d := range thread.dequeues {
			var last *enqueueTruth
			for _, e := range enqueues[held{d.Buffer, d.Message}] {
				if e.Bracket.Before < d.Bracket.After && (last == nil || e.Bracket.Before > last.Bracket.Before) {
					last = e
				}
			}
			if last != nil && last.publish != nil && d.feeds != nil {
				found = append(found, transit{firstLayer(&last.publish.Publish), d.feeds.Start})
			}
		}
	}
	return found
}

// firstLayer is where CARET's communication latency begins.
func firstLayer(p *groundtruth.Publish) groundtruth.Bracket {
	for _, layer := range []groundtruth.Bracket{p.Intra, p.RCLCPP, p.RCL, p.RMW} {
		if layer.Happened() {
			return layer
		}
	}
	return p.Stamp
}

// RequireTrueMessages compares the latencies of messages between nodes.
func RequireTrueMessages(t *testing.T, dir string, data *Dataset, truth *Truth) {
	t.Helper()
	check := newTransitCheck(data, truth.transits())
	_, err := OpenQuery(t, dir).CommunicationLatency(t.Context(), func(instances []analyze.CommunicationInstance) error {
		for _, i := range instances {
			if i.Fate != analyze.Received {
				continue
			}
			begin := firstValid(i.RclcppIntraPublish, i.RclcppPublish, i.RclPublish, i.RMWPublish)
			if !check.claim(begin, begin+i.Latency.Value) {
				t.Errorf("by the ground truth no message went so: %+v", i)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	check.require(t, "between nodes")
}

// RequireTrueCallbacks compares the number and the sum of the latencies of callbacks.
func RequireTrueCallbacks(t *testing.T, dir string, truth *Truth) {
	t.Helper()
	var sum struct{ count, least, longest uint64 }
	for i := range truth.Callbacks {
		if c := &truth.Callbacks[i]; c.End.Happened() {
			sum.count++
			sum.least += c.End.Before - c.Start.After
			sum.longest += c.End.After - c.Start.Before
		}
	}
	results, err := OpenQuery(t, dir).CallbackLatency(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var count, duration uint64
	for _, r := range results {
		count += r.Count
		duration += r.Count * uint64(r.Mean.Value)
	}
	// Each mean is rounded.
	if count != sum.count || duration+count < sum.least || duration > sum.longest+count {
		t.Errorf("%d callbacks took %d ns, by the ground truth %d took %d to %d ns", count, duration, sum.count, sum.least, sum.longest)
	}
}

// OpenQuery asks the dataset in a directory.
func OpenQuery(t *testing.T, dirs ...string) *analyze.Query {
	t.Helper()
	var datasets []*trace.Dataset
	for _, dir := range dirs {
		d, err := trace.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		datasets = append(datasets, d)
	}
	q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, datasets...)
	if err != nil {
		t.Fatal(err)
	}
	return q
}
