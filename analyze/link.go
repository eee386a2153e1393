package analyze

import (
	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// linked is how an output of a node came from an input.
type linked struct {
	input *arrival // nil: no input led to the output of a chain of callbacks
	// inputEnd is the end of the callback that the input started, outputStart the start of the callback that published;
	// noTime where there is no such callback or its time is unknown.
	inputEnd, outputStart int64
	output                *departure // nil: the input led to none
	// middle are the executions of a chain between that of its first callback and that of its last one.
	middle []*arrival
	again  bool // it has led to another output before
}

// link finds for the messages of a subscription the messages of a publisher of the same node that were made of them.
// Windows come in the order of time; emit gets each output with its input once, and each input that led to nothing
// once. Of a chain of callbacks it also gets the outputs that no input led to.
type link interface {
	receive(*arrival)
	execute(*arrival)
	publish(*departure)
	// settle links what happened before the limit.
	settle(limit int64)
	end()
}

// keptExecutions is the number of executions without a known end that are kept because they may still publish.
const keptExecutions = 256

// execution identifies the execution of a callback. By a coarse clock it may start on several threads at once.
type execution struct {
	callback *system.Callback
	start    int64
	tid      int32
}

// execution is that in which the message was published, one without a callback where it was in none.
func (d *departure) execution() execution { return execution{d.callback, d.start, d.number.tid} }

// mayPublish tells whether an execution with that end may still publish after the limit. Of those whose end is unknown
// only the newest may; newer is how many have begun since.
func mayPublish(end, limit int64, newer int) bool {
	if end == noTime {
		return newer < keptExecutions
	}
	return end >= limit
}

// unused is a message that led to no output.
func (a *arrival) unused() linked { return linked{input: a, inputEnd: a.end, outputStart: noTime} }

// execution is that of the callback which the message started, or in which it was polled.
func (a *arrival) execution() execution {
	if a.polled {
		return execution{a.callback, a.within, a.tid}
	}
	return execution{a.callback, a.start, a.tid}
}

// latestLink links each publish with the latest message that was received at or before it (use_latest_message).
type latestLink struct {
	emit      func(linked)
	received  []*arrival
	published []*departure
	latest    *arrival
	used      bool
}

func (l *latestLink) receive(a *arrival)   { l.received = append(l.received, a) }
func (l *latestLink) execute(*arrival)     {}
func (l *latestLink) publish(d *departure) { l.published = append(l.published, d) }

func (l *latestLink) settle(int64) {
	next := 0
	for _, d := range l.published {
		for next < len(l.received) && l.received[next].start <= d.at {
			l.replace(l.received[next])
			next++
		}
		if l.latest != nil {
			l.emit(linked{input: l.latest, inputEnd: l.latest.end, outputStart: d.start, output: d, again: l.used})
			l.used = true
		}
	}
	for _, a := range l.received[next:] {
		l.replace(a)
	}
	l.received, l.published = l.received[:0], l.published[:0]
}

func (l *latestLink) replace(by *arrival) {
	if l.latest != nil && !l.used {
		l.emit(l.latest.unused())
	}
	l.latest, l.used = by, false
}

func (l *latestLink) end() { l.replace(nil) }

// links are the links of many pairs of subscriptions and publishers.
type links struct {
	options        LinkOptions
	all            []link
	bySubscription map[*system.Subscription][]link
	byPublisher    map[*system.Publisher][]link
	byCallback     map[*system.Callback][]link // whose every execution counts
}

func newLinks(options LinkOptions) *links {
	return &links{options: options, bySubscription: make(map[*system.Subscription][]link), byPublisher: make(map[*system.Publisher][]link), byCallback: make(map[*system.Callback][]link)}
}

// contextOf is how the outputs of a pair are found to belong to its inputs.
func (l *links) contextOf(known system.ContextType) system.ContextType {
	if known == system.ContextUndefined && l.options.Latest {
		return system.ContextUseLatestMessage
	}
	return known
}

// connect adds the link of a pair, as the context says. It returns false where the context gives no way to tell.
func (l *links) connect(n *system.Node, s *system.Subscription, p *system.Publisher, context system.ContextType, emit func(linked)) bool {
	var of link
	switch context {
	case system.ContextUseLatestMessage:
		of = &latestLink{emit: emit}
	case system.ContextFused:
		of = &fusedLink{emit: emit}
	case system.ContextCallbackChain:
		chain := chainOf(n, s, p)
		switch len(chain) {
		case 0:
			return false
		case 1:
			of = &recordedLink{emit: emit}
		default:
			of = newChainLink(chain, s, l.options.EveryStart, emit)
			for _, c := range chain {
				l.byCallback[c] = append(l.byCallback[c], of)
			}
		}
	default:
		return false
	}
	l.all = append(l.all, of)
	l.bySubscription[s] = append(l.bySubscription[s], of)
	l.byPublisher[p] = append(l.byPublisher[p], of)
	return true
}

// chainOf returns the chain of callbacks that the message contexts name, else the one that was observed.
func chainOf(n *system.Node, s *system.Subscription, p *system.Publisher) []*system.Callback {
	for _, c := range n.MessageContexts {
		if c.Subscription == s && c.Publisher == p && len(c.Callbacks) > 0 {
			return c.Callbacks
		}
	}
	return n.CallbackChain(s, p)
}

func (l *links) wants() *wantedMessages {
	return &wantedMessages{
		publisher:    func(p *system.Publisher) bool { return l.byPublisher[p] != nil },
		subscription: func(s *system.Subscription) bool { return l.bySubscription[s] != nil },
		callback:     func(c *system.Callback) bool { return l.byCallback[c] != nil },
		known:        true,
	}
}

func (l *links) add(w *messageWindow) {
	for _, a := range w.arrivals {
		if a.subscription != nil {
			for _, of := range l.bySubscription[a.subscription] {
				of.receive(a)
			}
		}
		if !a.polled {
			for _, of := range l.byCallback[a.callback] {
				of.execute(a)
			}
		}
	}
	for _, d := range w.departures {
		for _, of := range l.byPublisher[d.publisher] {
			of.publish(d)
		}
	}
	for _, of := range l.all {
		of.settle(w.limit)
	}
}

func (l *links) end() {
	for _, of := range l.all {
		of.end()
	}
}
