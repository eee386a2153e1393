package graph

import (
	"errors"

	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Graph knows the entities of one process. It is not safe for concurrent use.
//
// The lookups return a pointer to the entity's row: it is the caller's to read, and it may fill up as more becomes known. Fields
// are null where unknown.
type Graph struct {
	key    trace.ProcessKey
	view   view
	layout *layouts.Layout

	nodes                lives[*node]
	publishers           lives[*publisher]
	rmwPublishers        lives[*publisher]
	subscriptions        lives[*subscription]
	rmwSubscriptions     lives[*subscription]
	objects              lives[*object]
	timers               lives[*timer]
	services             lives[*service]
	callbacks            lives[*callback]
	failures             failures
	changedNodes         []*node
	changedPublishers    []*publisher
	changedSubscriptions []*subscription
	changedObjects       []*object
	changedTimers        []*timer
	changedCallbacks     []*callback
}

// New returns a Graph that knows nothing yet. The key is put into every row.
func New(key trace.ProcessKey) *Graph {
	return &Graph{
		key:              key,
		nodes:            make(lives[*node]),
		publishers:       make(lives[*publisher]),
		rmwPublishers:    make(lives[*publisher]),
		subscriptions:    make(lives[*subscription]),
		rmwSubscriptions: make(lives[*subscription]),
		objects:          make(lives[*object]),
		timers:           make(lives[*timer]),
		services:         make(lives[*service]),
		callbacks:        make(lives[*callback]),
		failures:         make(failures),
	}
}

// SetMemory lets the graph read the process's memory, where the objects have the layout of its distribution. Without memory
// (nil), as before the first call and when the process has ended, only initialization events tell of entities; without a
// layout (nil), as for an unknown distribution, memory is not read either.
func (g *Graph) SetMemory(memory Memory, layout *layouts.Layout) {
	g.view, g.layout = view{memory}, layout
	if layout == nil {
		g.view = view{}
	}
	clear(g.failures)
}

// Node returns the node of an rcl_node_t at a time.
func (g *Graph) Node(handle trace.Address, time int64) (*trace.Node, bool) {
	found, ok := find(g, g.nodes, handle, time, "node", g.readNode)
	if !ok {
		return nil, false
	}
	return &found.current, true
}

// Publisher returns the publisher of an rcl_publisher_t at a time.
func (g *Graph) Publisher(handle trace.Address, time int64) (*trace.Publisher, bool) {
	found, ok := find(g, g.publishers, handle, time, "publisher", g.readPublisher)
	if !ok {
		return nil, false
	}
	return &found.current, true
}

// PublisherByRMW returns the publisher of an rmw_publisher_t at a time. Its rcl handle is null unless it became known otherwise.
func (g *Graph) PublisherByRMW(handle trace.Address, time int64) (*trace.Publisher, bool) {
	found, ok := find(g, g.rmwPublishers, handle, time, "rmw publisher", g.readRMWPublisher)
	if !ok {
		return nil, false
	}
	return &found.current, true
}

// SubscriptionByRMW returns the subscription of an rmw_subscription_t at a time, without its rclcpp objects. Its rcl handle is
// null unless it became known otherwise.
func (g *Graph) SubscriptionByRMW(handle trace.Address, time int64) (*trace.Subscription, bool) {
	found, ok := find(g, g.rmwSubscriptions, handle, time, "rmw subscription", g.readRMWSubscription)
	if !ok {
		return nil, false
	}
	return &found.current, true
}

// Callback returns what is known of the callback that callback_start passed at a time.
func (g *Graph) Callback(address trace.Address, time int64) (*trace.CallbackInfo, bool) {
	found, ok := find(g, g.callbacks, address, time, "callback", g.readCallback)
	if !ok {
		return nil, false
	}
	return &found.current, true
}

var errReused = errors.New("the entity ended before its address was reused, and was not known till then")

// find looks an entity up, and reads it from memory if nothing was ever known of its address. An entity that was there before
// the recording cannot be read where another one has been created since.
func find[E mortal](
	g *Graph, known lives[E], address trace.Address, time int64, kind string, read func(trace.Address) (E, error),
) (E, bool) {
	var none E
	if address == 0 {
		return none, false
	}
	if entity, ok := known.at(address, time); ok {
		return entity, true
	}
	if known.has(address) {
		g.failures.set(kind, address, errReused)
		return none, false
	}
	if !g.failures.mayTry(kind, address) {
		return none, false
	}
	entity, err := read(address)
	if err == nil && entity.begin() > time {
		err = errReused
	}
	if err != nil {
		g.failures.set(kind, address, err)
		return none, false
	}
	g.failures.clear(kind, address)
	return entity, true
}
