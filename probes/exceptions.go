package probes

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// preferExceptions leaves out the executor's step where exceptions are seen being caught: it costs a hit for every
// callback, they are rare. What the step is needed for besides are takes that were polled: their subscription and the
// callback's tell. On Humble it also carries what was dequeued.
func (p *Plan) preferExceptions(observed map[abi.Event]bool) {
	unneeded := abi.EventExceptionCaught
	if observed[abi.EventExceptionCaught] {
		if p.options.Steps {
			return
		}
		dequeue, _ := Lookup(abi.EventRclcppRingBufferDequeue)
		if dequeue.carrier(p.Distro) == abi.EventExecutorExecute {
			return
		}
		unneeded = abi.EventExecutorExecute
	}
	p.Sites = slices.DeleteFunc(p.Sites, func(s Site) bool { return s.Event == unneeded })
	p.Missing = slices.DeleteFunc(p.Missing, func(m Missing) bool { return m.Event == unneeded })
	observed[unneeded] = false
}
