package probes

import "slices"

// preferExceptions leaves out the executor's step where exceptions are seen being caught: it costs a hit for every callback, they are rare.
// What the step is needed for besides are takes that were polled: their subscription and the callback's tell. On Humble it also carries
// what was dequeued.
func (p *Plan) preferExceptions(observed map[Event]bool) {
	unneeded := EventExceptionCaught
	if observed[EventExceptionCaught] {
		if p.options.Steps {
			return
		}
		dequeue, _ := Lookup(EventRclcppRingBufferDequeue)
		if dequeue.carrier(p.Distro) == EventExecutorExecute {
			return
		}
		unneeded = EventExecutorExecute
	}
	p.Sites = slices.DeleteFunc(p.Sites, func(s Site) bool { return s.Event == unneeded })
	p.Missing = slices.DeleteFunc(p.Missing, func(m Missing) bool { return m.Event == unneeded })
	observed[unneeded] = false
}
