package entities

import "github.com/caret-bpf/caret-bpf/trace"

// lateCallback is the callback of an intra-process subscription that began after its rcl subscription was finalized. An
// executor may have chosen the subscription's waitable before, which it keeps alive while it runs the callback. Whoever
// has the address next is announced before it can run, unless that event was lost.
func (g *Graph) lateCallback(address trace.Address, time int64) (*callback, bool) {
	lives := g.callbacks.lives[address]
	for i := len(lives) - 1; i >= 0; i-- {
		c := lives[i]
		if c.begin() > time {
			continue
		}
		until, ended := c.end()
		late := ended && until <= time && until > g.lostUntil && c.current.Kind == trace.KindIntraProcessSubscription
		return c, late
	}
	return nil, false
}
