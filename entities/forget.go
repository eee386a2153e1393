package entities

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// forgetEnded forgets the entities that had ended by a time, so that a process whose entities come and go needs no more
// memory the longer it runs.
func (g *Graph) forgetEnded(by int64) {
	g.forgotUntil = max(g.forgotUntil, by)
	nodes := len(g.nodes.lives)
	g.nodes.forgetEnded(by)
	g.forgotNodes = g.forgotNodes || len(g.nodes.lives) < nodes
	g.publishers.forgetEnded(by)
	g.subscriptions.forgetEnded(by)
	g.objects.forgetEnded(by)
	g.timers.forgetEnded(by)
	g.services.forgetEnded(by)
	g.clients.forgetEnded(by)
	g.callbacks.forgetEnded(by)
	g.groups.forgetEnded(by)
	g.executors.forgetEnded(by)
	g.contexts.forgetEnded(by)
	g.stateMachines.forgetEnded(by)
	g.rmwPublishers.forgetEnded(by)
	g.rmwSubscriptions.forgetEnded(by)
	g.collectors.forgetEnded(by)
	g.buffers.forgetEnded(by)
	g.intraProcessBuffers.forgetEnded(by)
}

func (l lives[E]) forgetEnded(by int64) {
	for address, entities := range l {
		left := slices.DeleteFunc(entities, func(entity E) bool {
			until, ended := entity.end()
			return ended && until <= by
		})
		l.keep(address, left)
	}
}

// keep replaces who lived at an address.
func (l lives[E]) keep(address trace.Address, entities []E) {
	if len(entities) == 0 {
		delete(l, address)
		return
	}
	l[address] = entities
}
