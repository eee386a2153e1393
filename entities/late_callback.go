package entities

import "github.com/caret-bpf/caret-bpf/trace"

// callbackOf is the callback that lived at an address at a time, or began late there: after the rcl subscription of an
// intra-process subscription was finalized. An executor may have chosen the subscription's waitable before, which it
// keeps alive while it runs the callback. Whoever has the address next is announced before it can run, unless that
// event was lost.
func (g *Graph) callbackOf(address trace.Address, time int64) (*callback, bool) {
	if c, ok := g.callbacks.at(address, time); ok {
		return c, true
	}
	c, ok := g.callbacks.latest(address, time)
	if !ok || c.current.Kind != trace.KindIntraProcessSubscription {
		return nil, false
	}
	until, ended := c.end()
	return c, ended && until <= time && until > g.lostUntil
}
