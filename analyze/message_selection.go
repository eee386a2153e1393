package analyze

import "github.com/caret-bpf/caret-bpf/trace"

// messageSelections say which rows of the tables can tell of wanted messages.
type messageSelections struct {
	departures, arrivals, takes, enqueues trace.Selection
}

// selections returns the rows that name an address at which something wanted lived at any time: readers look at the time and at the
// process. Where entities may be wanted that only rows name, all rows are selected.
func (w *wantedMessages) selections(index *entityIndex) messageSelections {
	buffers := trace.AddressCondition{Column: "buffer", Addresses: index.buffers.addressesOf(w.subscription)}
	s := messageSelections{enqueues: trace.Selection{buffers}}
	if !w.known {
		return s
	}
	subscriptions := trace.AddressCondition{Column: "subscription_handle", Addresses: index.subscriptions.addressesOf(w.subscription)}
	s.departures = trace.Selection{{Column: "publisher_handle", Addresses: index.publishers.addressesOf(w.publisher)}}
	s.arrivals = trace.Selection{subscriptions, {Column: "callback", Addresses: index.callbacks.addressesOf(func(c *Callback) bool {
		return c.Subscription != nil && w.subscription(c.Subscription) || w.callback != nil && w.callback(c)
	})}}
	s.takes = trace.Selection{subscriptions, buffers}
	return s
}
