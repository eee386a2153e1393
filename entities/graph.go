package entities

import (
	"errors"

	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Graph knows the entities of one process. It is not safe for concurrent use.
//
// The lookups return a pointer to the entity's row: it is the caller's to read, and it may fill up as more becomes
// known. Fields are null where unknown.
type Graph struct {
	key    trace.ProcessKey
	reader reader

	nodes         population[*node]
	publishers    population[*publisher]
	subscriptions population[*subscription]
	objects       population[*object]
	timers        population[*timer]
	services      population[*service]
	clients       population[*client]
	callbacks     population[*callback]
	groups        population[*group]
	executors     population[*executor]
	contexts      population[*rclContext]
	stateMachines population[*stateMachine]

	// Other addresses that lead to entities.
	rmwPublishers    lives[*publisher]
	rmwSubscriptions lives[*subscription]
	collectors       lives[*executor]

	// What is announced before the entity that it belongs to.
	buffers             lives[*buffer]
	intraProcessBuffers lives[*intraProcessBuffer]
	gids                map[trace.Address]announcedGID
	nameless            map[trace.Address]*publisher // of /rosout, by the node that follows them

	implementation string // of rmw
	graves         map[grave]int64
	failures       failures
	// unscanned is the time of the last initialization event of something that only a scan of the memory completes.
	unscanned trace.Optional[int64]
	// knownTypes are what KnownTypes has not returned yet.
	knownTypes []KnownType
	lastEvent  int64
	lostUntil  int64    // when initialization events were lost last
	numbers    *Numbers // nil: rows have none
	room       room
	clock      func() int64
	unread     func(trace.Address) bool // as of WatchUnread
	// forgotUntil is by when entities had ended that were forgotten; always if none were.
	forgotUntil int64
	// forgotNodes says that there was a node of which nothing is known any more.
	forgotNodes bool
	// intraProcess says that there is or was a subscription of intra-process communication.
	intraProcess bool
}

// New returns a Graph that knows nothing yet. The key is put into every row.
func New(key trace.ProcessKey) *Graph {
	g := &Graph{
		key:                 key,
		forgotUntil:         always,
		rmwPublishers:       make(lives[*publisher]),
		rmwSubscriptions:    make(lives[*subscription]),
		collectors:          make(lives[*executor]),
		buffers:             make(lives[*buffer]),
		intraProcessBuffers: make(lives[*intraProcessBuffer]),
		gids:                make(map[trace.Address]announcedGID),
		nameless:            make(map[trace.Address]*publisher),
		graves:              make(map[grave]int64),
		failures:            make(failures),
	}
	g.nodes = newPopulation(g.buryNode)
	g.publishers = newPopulation(func(p *publisher, time int64) { g.publishers.end(p, time) })
	g.subscriptions = newPopulation(g.burySubscription)
	g.objects = newPopulation(g.buryObject)
	g.timers = newPopulation(g.buryTimer)
	g.services = newPopulation(g.buryService)
	g.clients = newPopulation(func(c *client, time int64) { g.clients.end(c, time) })
	g.callbacks = newPopulation(func(c *callback, time int64) { g.callbacks.end(c, time) })
	g.groups = newPopulation(func(c *group, time int64) { g.groups.end(c, time) })
	g.executors = newPopulation(func(e *executor, time int64) { g.executors.end(e, time) })
	g.contexts = newPopulation(func(c *rclContext, time int64) { g.contexts.end(c, time) })
	g.stateMachines = newPopulation(func(m *stateMachine, time int64) { g.stateMachines.end(m, time) })
	return g
}

// SetMemory lets the graph read the process's memory, where the objects have the layout of its distribution. Without
// memory (nil), as before the first call and when the process has ended, only initialization events tell of entities;
// without a layout (nil), as for an unknown distribution, memory is not read either.
func (g *Graph) SetMemory(memory Memory, layout *layouts.Layout) {
	g.reader = reader{view{memory: memory}, layout}
	if layout == nil {
		g.reader.view = view{}
	}
	clear(g.failures)
}

// WatchUnread gives the graph what reports whether an initialization event, or the end of an entity, names an address
// that has happened and was not handed to Init and End yet. Without it, none is believed to be under way.
func (g *Graph) WatchUnread(unread func(address trace.Address) bool) { g.unread = unread }

// HasNodes reports whether a node is or was among the entities.
func (g *Graph) HasNodes() bool { return len(g.nodes.lives) > 0 || g.forgotNodes }

// LastEvent is the time of the last initialization event, 0 if there was none.
func (g *Graph) LastEvent() int64 { return g.lastEvent }

// NoteIntraProcess says that the process has intra-process communication, whatever is known of its entities.
func (g *Graph) NoteIntraProcess() { g.intraProcess = true }

// HasIntraProcess reports whether a subscription of intra-process communication is or was among the entities.
func (g *Graph) HasIntraProcess() bool {
	if g.intraProcess {
		return true
	}
	for _, lives := range g.objects.lives {
		for _, o := range lives {
			if o.current.IsIntraProcess.Value {
				g.intraProcess = true
				return true
			}
		}
	}
	return false
}

// Node returns the node of an rcl_node_t at a time.
func (g *Graph) Node(handle trace.Address, time int64) (*trace.Node, bool) {
	found, ok := find(g, g.nodes.lives, handle, time, "node", g.readNode)
	if !ok {
		return nil, false
	}
	return &found.current, true
}

// Publisher returns the publisher of an rcl_publisher_t at a time.
func (g *Graph) Publisher(handle trace.Address, time int64) (*trace.Publisher, bool) {
	found, ok := find(g, g.publishers.lives, handle, time, "publisher", g.readPublisher)
	if !ok {
		return nil, false
	}
	return &found.current, true
}

// PublisherByRMW returns the publisher of an rmw_publisher_t at a time. Its rcl handle is null unless it became known
// otherwise.
func (g *Graph) PublisherByRMW(handle trace.Address, time int64) (*trace.Publisher, bool) {
	found, ok := find(g, g.rmwPublishers, handle, time, "rmw publisher", g.readRMWPublisher)
	if !ok {
		return nil, false
	}
	return &found.current, true
}

// SubscriptionByRMW returns the subscription of an rmw_subscription_t at a time, without its rclcpp objects. Its rcl
// handle is null unless it became known otherwise.
func (g *Graph) SubscriptionByRMW(handle trace.Address, time int64) (*trace.Subscription, bool) {
	found, ok := find(g, g.rmwSubscriptions, handle, time, "rmw subscription", g.readRMWSubscription)
	if !ok {
		return nil, false
	}
	return &found.current, true
}

// Service returns the service of an rcl_service_t at a time.
func (g *Graph) Service(handle trace.Address, time int64) (*trace.ServiceServer, bool) {
	found, ok := find(g, g.services.lives, handle, time, "service", g.readService)
	if !ok {
		return nil, false
	}
	return &found.current, true
}

// Client returns the client of an rcl_client_t at a time.
func (g *Graph) Client(handle trace.Address, time int64) (*trace.Client, bool) {
	found, ok := find(g, g.clients.lives, handle, time, "client", g.readClient)
	if !ok {
		return nil, false
	}
	return &found.current, true
}

// StateMachine returns the state machine of a managed node at a time. Only its initialization event and scans tell of
// one.
func (g *Graph) StateMachine(address trace.Address, time int64) (*trace.LifecycleStateMachine, bool) {
	found, ok := g.stateMachines.at(address, time)
	if !ok {
		return nil, false
	}
	return &found.current, true
}

// Callback returns what is known of the callback that callback_start passed at a time.
func (g *Graph) Callback(address trace.Address, time int64) (*trace.CallbackInfo, bool) {
	if known, ok := g.callbackOf(address, time); ok {
		return &known.current, true
	}
	found, ok := find(g, g.callbacks.lives, address, time, "callback", g.readCallback)
	if !ok {
		return nil, false
	}
	return &found.current, true
}

var errLost = errors.New("initialization events were lost afterwards: by now another one may live there")

var errReused = errors.New("who lived there then was not known before its end")

// find looks an entity up, and reads it from memory if nothing was ever known of its address. An entity that was there
// before the recording cannot be read where another one has been created since, or where it has ended, or where that
// may have been lost.
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
	if time < g.forgotUntil { // it may be one that was forgotten: what is there now is another one
		g.failures.set(kind, address, errReused)
		return none, false
	}
	if time <= g.lostUntil {
		g.failures.set(kind, address, errLost)
		return none, false
	}
	if !g.failures.mayTry(kind, address) {
		return none, false
	}
	if !g.mayGrow() {
		g.failures.set(kind, address, errNoRoom)
		return none, false
	}
	entity, err := readSettled(g, address, read)
	if err == nil && entity.begin() > time {
		err = errReused
	}
	if err != nil {
		g.failures.set(kind, address, err)
		if errors.Is(err, errOvertaken) {
			g.failures.tryAgain(kind, address)
		}
		return none, false
	}
	g.failures.clear(kind, address)
	return entity, true
}

// readSettled reads an entity of which no event waits to be merged. One that does says that memory shows who came after
// the one that is looked up.
func readSettled[E mortal](g *Graph, address trace.Address, read func(trace.Address) (E, error)) (E, error) {
	if g.unread != nil {
		defer func(outer func() bool) { g.reader.overtaken = outer }(g.reader.overtaken)
		g.reader.overtaken = func() bool { return g.unread(address) }
	}
	return read(address)
}
