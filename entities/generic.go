package entities

import "github.com/caret-bpf/caret-bpf/trace"

// showGenericSubscription takes in whose object it is that Humble calls back, which no event announces. The object was
// read while its callback began; a scan may have found it before.
func (g *Graph) showGenericSubscription(time int64, handle, address, callbackAddress trace.Address) {
	s, ok := find(g, g.subscriptions.lives, handle, time, "subscription", g.readSubscription)
	if !ok {
		return
	}
	switch known, ok := g.objects.at(address, time); {
	case ok && known.subscription == s && known.callback != nil:
		return
	case ok && known.subscription != nil && known.subscription != s: // whose end was not seen
		g.objects.bury(known, time)
	}
	c := &callback{life: life{since: s.since}}
	c.current = trace.CallbackInfo{ProcessKey: g.key, Callback: callbackAddress, Provenance: trace.FromMemory}
	fill(&c.current.Symbol, g.reader.functionSymbol(callbackAddress))
	g.failures.clear("callback", callbackAddress)
	g.callbacks.add(callbackAddress, c)
	_ = g.showObject(s, address, c) // the object is this subscription's, or unknown
}
