package view

import (
	"context"
	"errors"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
)

const (
	// messageMargin is how far around a tile the ends of its messages are looked for, in nanoseconds. Messages that took
	// longer than this and that leave the tile on the side of the other end are missing.
	messageMargin = 1_000_000_000
	// tilePublishes and tileMessages are the numbers of publishes and of messages that an exact tile has at most.
	tilePublishes = 8000
	tileMessages  = 8000
)

// publishedIn is what was published in a tile, and the messages that were on their way in it.
type publishedIn struct {
	Publishes publishes `json:"publishes"`
	Messages  messages  `json:"messages"`
	// More says that there are more than these.
	More bool `json:"more"`
	// LongMissing says that a callback in the tile was started by a message of which no publish was found: it was not
	// recorded, or lies further back than is looked for.
	LongMissing bool `json:"longMissing"`
}

// publishes has an element of each array for each publish.
type publishes struct {
	Thread []int   `json:"thread"`
	Topic  []int   `json:"topic"`
	At     []int64 `json:"t"`
}

// messages has an element of each array for each message that was received: from its publish to the callback that it
// started or, where it was polled, to its take.
type messages struct {
	Topic      []int   `json:"topic"`
	FromThread []int   `json:"fromThread"`
	FromTime   []int64 `json:"fromTime"`
	ToThread   []int   `json:"toThread"`
	ToTime     []int64 `json:"toTime"`
}

// errEnough ends a reading of which no more is wanted.
var errEnough = errors.New("there is enough")

// published reads what was published in a tile.
func (v *View) published(ctx context.Context, t tile) (publishedIn, error) {
	r := publishedReading{view: v, tile: t, sent: make(map[uint64]sentMessage), publishedIn: publishedIn{
		Publishes: publishes{[]int{}, []int{}, []int64{}}, Messages: messages{[]int{}, []int{}, []int64{}, []int{}, []int64{}},
	}}
	first := v.span.First
	err := v.timeline.within(ctx, first+t.begin-messageMargin, first+t.end+messageMargin, func(q *analyze.Query) error {
		return q.Timeline(ctx, r.add)
	})
	if errors.Is(err, errEnough) {
		r.More, err = true, nil
	}
	return r.publishedIn, err
}

// publishedReading gathers it window by window.
type publishedReading struct {
	publishedIn
	view *View
	tile tile
	sent map[uint64]sentMessage // by the numbers of publications
}

type sentMessage struct {
	topic, thread int
	at            int64
}

func (r *publishedReading) add(w *analyze.TimelineWindow) error {
	for _, p := range w.Publications {
		sent := sentMessage{r.view.timelineEntities.topic(p.Publisher.TopicName), r.view.threadOf(p.Publisher.Node, p.TID), r.view.since(p.At)}
		if sent.at > r.tile.end {
			continue
		}
		if len(p.Flows) > 0 {
			r.sent[p.Number] = sent
		}
		if sent.at < r.tile.begin {
			continue
		}
		if len(r.Publishes.At) == tilePublishes {
			return errEnough
		}
		r.Publishes.Thread, r.Publishes.Topic = append(r.Publishes.Thread, sent.thread), append(r.Publishes.Topic, sent.topic)
		r.Publishes.At = append(r.Publishes.At, sent.at)
	}
	for _, e := range w.Executions {
		if at := r.view.since(e.At()); e.Flow == 0 && e.Callback.Subscription != nil && at >= r.tile.begin && at <= r.tile.end {
			r.LongMissing = true
		}
		if err := r.receive(e.Flow, e.Callback.Node, e.TID, e.At()); err != nil {
			return err
		}
	}
	for _, p := range w.Polls {
		if err := r.receive(p.Flow, p.Subscription.Node, p.TID, p.At); err != nil {
			return err
		}
	}
	return nil
}

func (r *publishedReading) receive(flow analyze.Flow, node *system.Node, tid int32, at int64) error {
	sent, known := r.sent[flow.Publication()]
	received := r.view.since(at)
	if flow == 0 || !known || received < r.tile.begin {
		return nil
	}
	m := &r.Messages
	if len(m.Topic) == tileMessages {
		return errEnough
	}
	m.Topic, m.FromThread, m.FromTime = append(m.Topic, sent.topic), append(m.FromThread, sent.thread), append(m.FromTime, sent.at)
	m.ToThread, m.ToTime = append(m.ToThread, r.view.threadOf(node, tid)), append(m.ToTime, received)
	return nil
}

// threadOf returns the number of a thread, unknown where its process is not known.
func (v *View) threadOf(node *system.Node, tid int32) int {
	if node == nil {
		return unknown
	}
	if id, known := v.timelineEntities.threads[analyze.Thread{Process: node.Process, TID: tid}]; known {
		return id
	}
	return unknown
}
