package oracle

import (
	"cmp"
	"slices"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/trace"
)

// lives says which entity had an address when: addresses are reused.
type lives[T any] map[uint64][]life[T]

type life[T any] struct {
	since  uint64 // before its initialization
	ready  uint64 // after it
	entity T
}

// at returns the entity that had an address at an instant, the first one if that was before all of them.
func (l lives[T]) at(address, time uint64) (life[T], bool) {
	entities := l[address]
	if len(entities) == 0 {
		return life[T]{}, false
	}
	i, _ := slices.BinarySearchFunc(entities, time+1, func(e life[T], at uint64) int { return cmp.Compare(e.since, at) })
	return entities[max(i-1, 0)], true
}

func (l lives[T]) add(address, since, ready uint64, entity T) {
	if address == 0 {
		return
	}
	l[address] = append(l[address], life[T]{since, ready, entity})
	slices.SortFunc(l[address], func(a, b life[T]) int { return cmp.Compare(a.since, b.since) })
}

// callbackNames is what the dataset should know of a callback.
type callbackNames struct {
	kind         trace.CallbackKind
	topic, node  string
	nodeHandle   uint64
	subscription uint64
	period       trace.Optional[int64]
}

// population is who lived where in a process.
type population struct {
	nodes            lives[groundtruth.Node]
	publishers       lives[groundtruth.Publisher]    // by rcl handle
	rmwSubscriptions lives[groundtruth.Subscription] // by rmw handle
	services         lives[groundtruth.Service]
	clients          lives[groundtruth.Client]
	stateMachines    lives[groundtruth.LifecycleStateMachineInit]
	callbacks        lives[callbackNames]
}

func (t *Truth) population() population {
	p := population{
		lives[groundtruth.Node]{}, lives[groundtruth.Publisher]{}, lives[groundtruth.Subscription]{}, lives[groundtruth.Service]{},
		lives[groundtruth.Client]{}, lives[groundtruth.LifecycleStateMachineInit]{}, lives[callbackNames]{},
	}
	for _, node := range t.Nodes {
		p.nodes.add(node.Node, t.initOf(groundtruth.EntityNode, node.Node, node.Time), node.Time, node)
	}
	for _, publisher := range t.Publishers {
		since := t.initOf(groundtruth.EntityPublisher, publisher.Publisher, publisher.Time)
		p.publishers.add(publisher.Publisher, since, publisher.Time, publisher)
	}
	for _, s := range t.Subscriptions {
		since := t.initOf(groundtruth.EntitySubscription, s.Subscription, s.Time)
		p.rmwSubscriptions.add(s.RMWSubscription, since, s.Time, s)
		names := callbackNames{
			kind: trace.KindSubscription, topic: s.Topic, nodeHandle: s.Node, node: p.nodeName(s.Node, s.Time), subscription: s.Subscription,
		}
		p.callbacks.add(s.Callback, since, s.Time, names)
		names.kind = trace.KindIntraProcessSubscription
		p.callbacks.add(s.IntraCallback, since, s.Time, names)
	}
	for _, timer := range t.Timers {
		since := t.initOf(groundtruth.EntityTimer, timer.Timer, timer.Time)
		names := callbackNames{
			kind: trace.KindTimer, nodeHandle: timer.Node, node: p.nodeName(timer.Node, timer.Time), period: trace.Some(timer.Period),
		}
		if t.SharesCallback(timer) { // all of them are the node's
			names.period = trace.Optional[int64]{}
		}
		p.callbacks.add(timer.Callback, since, timer.Time, names)
	}
	for _, service := range t.Services {
		since := t.initOf(groundtruth.EntityService, service.Service, service.Time)
		p.services.add(service.Service, since, service.Time, service)
		p.callbacks.add(service.Callback, since, service.Time, callbackNames{
			kind: trace.KindService, topic: service.Name, nodeHandle: service.Node, node: p.nodeName(service.Node, service.Time),
		})
	}
	for _, client := range t.Clients {
		p.clients.add(client.Client, t.initOf(groundtruth.EntityClient, client.Client, client.Time), client.Time, client)
	}
	for _, init := range t.LifecycleStateMachineInits {
		p.stateMachines.add(init.StateMachine, init.Bracket.Before, init.Bracket.After, init)
	}
	return p
}

// SharesCallback reports whether a timer refers to a variable that another one refers to, too, while both live.
func (t *Truth) SharesCallback(timer groundtruth.Timer) bool {
	outlives := func(a, b groundtruth.Timer) bool {
		end, ended := t.finiOf(groundtruth.EntityTimer, a.Timer, t.initOf(groundtruth.EntityTimer, a.Timer, a.Time))
		return !ended || end.Before > b.Time
	}
	return slices.ContainsFunc(t.Timers, func(other groundtruth.Timer) bool {
		return other != timer && other.Callback == timer.Callback && outlives(timer, other) && outlives(other, timer)
	})
}

// initOf returns when the initialization of an entity began that was over at an instant; 0 if nothing tells.
func (t *Truth) initOf(kind groundtruth.EntityKind, handle, over uint64) uint64 {
	since := uint64(0)
	for _, init := range t.EntityInits {
		if init.Kind == kind && init.Handle == handle && init.Bracket.Before <= over {
			since = max(since, init.Bracket.Before)
		}
	}
	return since
}

// finiOf returns when the entity that was initialized then was destroyed; false if it was not.
func (t *Truth) finiOf(kind groundtruth.EntityKind, handle, since uint64) (groundtruth.Bracket, bool) {
	var first groundtruth.Bracket
	for _, fini := range t.EntityFinis {
		if fini.Kind == kind && fini.Handle == handle && fini.Bracket.Before >= since &&
			(!first.Happened() || fini.Bracket.Before < first.Before) {
			first = fini.Bracket
		}
	}
	return first, first.Happened()
}

func (p *population) nodeName(handle, at uint64) string {
	node, _ := p.nodes.at(handle, at)
	return fullName(node.entity)
}

// nodeOfPublisher returns the name of the node of a publisher.
func (p *population) nodeOfPublisher(handle, at uint64) string {
	publisher, _ := p.publishers.at(handle, at)
	return p.nodeName(publisher.entity.Node, at)
}
