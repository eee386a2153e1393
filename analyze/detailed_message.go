package analyze

import (
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// DetailedMessage is the way of one message to one subscription with the entities that it is about.
type DetailedMessage struct {
	CommunicationInstance
	Publisher    *system.Publisher
	Subscription *system.Subscription
	// Callback is that which the message started or, where it is Polled, in which it was taken; nil where it was not
	// received, and of a poll outside of callbacks.
	Callback *system.Callback
	Polled   bool
	// CallbackEnd is when the callback that it started ended, in Unix nanoseconds; null where that is not known.
	CallbackEnd trace.Optional[int64]
}

// Messages passes on the instances of CommunicationLatency, in their order, with what they are about. The memory of a
// batch is used again.
func (q *Query) Messages(ctx context.Context, each func([]DetailedMessage) error) error {
	if err := q.loadPolls(ctx); err != nil {
		return err
	}
	instances := newSeries(q.detailing(each), func(p *passage) int64 { return p.departure.at })
	add := func(p passage) {
		if q.filter.covers(p.departure.at) {
			instances.add(p)
		}
	}
	if err := q.scanPassages(ctx, add, instances.flush); err != nil {
		return err
	}
	return instances.end(q)
}

// detailing passes on the messages that passages are of.
func (q *Query) detailing(each func([]DetailedMessage) error) func([]passage) error {
	var messages []DetailedMessage
	return func(passages []passage) error {
		messages = slices.Grow(messages[:0], len(passages))[:len(passages)]
		for i := range passages {
			q.detail(&messages[i], &passages[i])
		}
		return each(messages)
	}
}

func (q *Query) detail(m *DetailedMessage, p *passage) {
	*m = DetailedMessage{
		CommunicationInstance: instanceOf(p, p.by(), p.latency()), Publisher: p.departure.publisher, Subscription: p.subscription,
	}
	if a := p.arrival; a != nil {
		m.Callback, m.Polled = a.callback, a.polled
		if m.Latency.Valid {
			m.ClockAgreement = q.agreement(p.departure.dataset, p.departure.at, a.dataset, a.start)
		}
		if !a.polled {
			m.CallbackEnd = optionalTime(a.end)
		}
	}
}
