package analyze

import (
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// messageSelections say which rows of the tables can tell of wanted messages.
type messageSelections struct {
	departures, arrivals, takes, enqueues trace.Selection
}

// selections returns the rows that name an address at which something wanted lived at any time: readers look at the
// time and at the process. Where entities may be wanted that only rows name, those with a wanted topic are selected,
// too.
func (w *wantedMessages) selections(index *system.Index) messageSelections {
	buffers := trace.Condition{Column: "buffer", Addresses: index.Buffers.AddressesOf(w.subscription)}
	s := messageSelections{enqueues: trace.Selection{buffers}}
	if !w.known && w.topic == nil {
		return s
	}
	publishers := trace.Condition{Column: "publisher_handle", Addresses: index.Publishers.AddressesOf(w.publisher)}
	subscriptions := trace.Condition{Column: "subscription_handle", Addresses: index.Subscriptions.AddressesOf(w.subscription)}
	callbacks := trace.Condition{Column: "callback", Addresses: index.Callbacks.AddressesOf(func(c *system.Callback) bool {
		return c.Subscription != nil && w.subscription(c.Subscription) || w.callback != nil && w.callback(c)
	})}
	s.departures = trace.Selection{publishers}
	s.arrivals = trace.Selection{subscriptions, callbacks}
	s.takes = trace.Selection{subscriptions, buffers}
	if !w.known {
		topics := trace.Condition{Column: "topic_name", Text: w.topic}
		s.departures, s.arrivals, s.takes = append(s.departures, topics), append(s.arrivals, topics), append(s.takes, topics)
	}
	return s
}
