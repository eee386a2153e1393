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

// Details are what Detailed passes on. The memory of a batch is used again: who keeps instances copies them.
type Details struct {
	// Messages gets the instances of CommunicationLatency, in their order, with what they are about.
	Messages func([]DetailedMessage) error
	// Nodes gets those of NodeLatency.
	Nodes func([]NodeInstance) error
}

// Detailed passes on all messages and what nodes made of them, as CommunicationLatency and NodeLatency do, but in one
// pass through the datasets. The query must ask for everything: the two filter in different ways.
func (q *Query) Detailed(ctx context.Context, options LinkOptions, each Details) error {
	nodes, err := q.newNodeLatencies(ctx, options, each.Nodes)
	if err != nil {
		return err
	}
	messages := newSeries(q.detailing(each.Messages), func(p *passage) int64 { return p.departure.at })
	passages := newPassages(q, q.filter.communication, messages.add)
	wanted := q.wantedPassages()
	wanted.callback = nodes.links.wants().callback
	err = q.eachMessageWindow(ctx, wanted, func(w *messageWindow) error {
		passages.add(w)
		if err := messages.flush(); err != nil {
			return err
		}
		return nodes.add(w)
	})
	if err != nil {
		return err
	}
	passages.end()
	if err := messages.end(q); err != nil {
		return err
	}
	return nodes.end(q)
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
