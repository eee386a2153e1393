package entities

import (
	"github.com/caret-bpf/caret-bpf/trace"
)

// The handlers of the events of executors and callback groups.

// CARET's names of the types of executors.
const (
	singleThreadedExecutor       = "single_threaded_executor"
	multiThreadedExecutor        = "multi_threaded_executor"
	staticSingleThreadedExecutor = "static_single_threaded_executor"
	eventsExecutor               = "events_executor"
)

// executorTypes maps what construct_executor tells to names. The base class's constructor tells nothing.
var executorTypes = map[uint64]string{
	ExecutorSingleThreaded:       singleThreadedExecutor,
	ExecutorMultiThreaded:        multiThreadedExecutor,
	ExecutorStaticSingleThreaded: staticSingleThreadedExecutor,
	ExecutorEvents:               eventsExecutor,
}

// executorsOfRclcpp are the names of the executors that rclcpp has.
var executorsOfRclcpp = map[string]bool{
	singleThreadedExecutor: true, multiThreadedExecutor: true, staticSingleThreadedExecutor: true, eventsExecutor: true,
}

// initExecutor handles construct_executor. The constructor of a derived class calls that of its base: both are events
// of one executor.
func (g *Graph) initExecutor(time int64, address trace.Address, kind uint64) {
	name := executorTypes[kind]
	if e, ok := g.executors.at(address, time); ok && e.since != always && time-e.since < announcement &&
		(name == "" || e.current.ExecutorType == "") {
		fill(&e.current.ExecutorType, name)
		g.executors.note(e)
		return
	}
	e := &executor{life: life{since: time}}
	e.current = trace.Executor{
		ProcessKey: g.key, Executor: address, ExecutorType: name, InitTimestamp: trace.Some(time), Provenance: trace.FromTracepoint,
	}
	g.executors.add(address, e)
	if layout := g.reader.layout; layout != nil && layout.Executor.Collector != 0 {
		g.setCollector(e, address+trace.Address(layout.Executor.Collector))
	}
	g.executors.note(e)
	g.awaitScan(time)
}

// linkCollector handles executor_entity_collector_to_executor.
func (g *Graph) linkCollector(time int64, address, collector trace.Address) {
	e, ok := g.executors.at(address, time)
	if !ok {
		e = g.newExecutor(time, address)
	}
	g.setCollector(e, collector)
	g.executors.note(e)
}

// newExecutor begins the life of an executor whose construction was not seen.
func (g *Graph) newExecutor(time int64, address trace.Address) *executor {
	e := &executor{life: life{since: time}}
	e.current = trace.Executor{ProcessKey: g.key, Executor: address, Provenance: trace.FromObservation}
	g.executors.add(address, e)
	g.executors.note(e)
	g.awaitScan(time)
	return e
}

func (g *Graph) setCollector(e *executor, collector trace.Address) {
	if collector == 0 || e.current.EntitiesCollector == collector {
		return
	}
	e.current.EntitiesCollector = collector
	g.collectors.add(collector, e)
}

// joinExecutor handles the addition of a callback group to an executor.
func (g *Graph) joinExecutor(time int64, address trace.Address, kind uint64, executor trace.Address) {
	if address == 0 {
		return
	}
	if _, ok := g.executors.at(executor, time); !ok {
		g.newExecutor(time, executor)
	}
	c := g.groupJoins(time, address, kind)
	c.collector = 0
	c.current.Executor = executor
	g.groups.note(c)
}

// joinCollector handles the addition of a callback group to what collects the entities of an executor.
func (g *Graph) joinCollector(time int64, address trace.Address, kind uint64, collector trace.Address) {
	if address == 0 {
		return
	}
	c := g.groupJoins(time, address, kind)
	c.collector = collector
	g.nameExecutor(c)
	g.groups.note(c)
}

// groupJoins returns the group that is being added to an executor.
func (g *Graph) groupJoins(time int64, address trace.Address, kind uint64) *group {
	c := g.groupOf(time, address, groupTypeName(kind), 0)
	c.joined = time
	c.current.InitTimestamp, c.current.Provenance = trace.Some(time), trace.FromTracepoint
	return c
}

func groupTypeName(kind uint64) trace.CallbackGroupType {
	switch kind {
	case GroupMutuallyExclusive:
		return trace.MutuallyExclusive
	case GroupReentrant:
		return trace.Reentrant
	}
	return ""
}

// groupOf returns the callback group at an address, of which an event tells the type and the node; "" and 0 if it does
// not. No event tells of its construction, or of its end: one whose node has ended has ended, too, and where the type
// or the node is another one, the group is.
func (g *Graph) groupOf(time int64, address trace.Address, kind trace.CallbackGroupType, nodeHandle trace.Address) *group {
	c, ok := g.groups.at(address, time)
	if !ok || g.hasLostNode(c, time) || !isGroup(c, &trace.CallbackGroup{GroupTypeName: kind, NodeHandle: nodeHandle}) {
		c = &group{life: life{since: time}, joined: always}
		c.current = trace.CallbackGroup{ProcessKey: g.key, CallbackGroup: address, Provenance: trace.FromObservation}
		g.groups.add(address, c)
		g.groups.note(c)
		g.awaitScan(time)
	}
	if kind != "" && c.current.GroupTypeName == "" {
		c.current.GroupTypeName = kind
		g.groups.note(c)
	}
	if nodeHandle != 0 && c.current.NodeHandle == 0 {
		c.current.NodeHandle = nodeHandle
		g.nameNode(&c.current.NodeName, nodeHandle, &c.life)
		g.groups.note(c)
	}
	return c
}

// hasLostNode reports whether the node of a group has ended.
func (g *Graph) hasLostNode(c *group, time int64) bool {
	n, known := g.nodes.last(c.current.NodeHandle)
	if !known {
		return false
	}
	until, ended := n.end()
	return ended && until <= time
}

// placeGroup notes whose callback group one is, by its rclcpp node.
func (g *Graph) placeGroup(time int64, address, nodeBase trace.Address) {
	layout, err := g.reader.readable()
	if err != nil || nodeBase == 0 {
		return
	}
	handle, err := g.reader.pointer(nodeBase + trace.Address(layout.NodeBase.NodeHandle))
	if err != nil {
		return
	}
	if g.nodeName(handle, time) != "" { // proves that it is a node
		g.groupOf(time, address, "", handle)
	}
}

// entityGroupType is the type of a callback group that gets an entity, which events count from 1. Nothing else tells
// that of a group without executor.
func entityGroupType(kind uint64) trace.CallbackGroupType {
	if kind == 0 {
		return ""
	}
	return groupTypeName(kind - 1)
}

// groupTimer handles the addition of a timer to a callback group. Of the timer's node, that of the group,
// rclcpp_timer_link_node tells next.
func (g *Graph) groupTimer(time int64, address, handle trace.Address, kind trace.CallbackGroupType) {
	if handle == 0 { // it could not be read
		return
	}
	t := g.timerAt(handle, time)
	g.groupOf(time, address, kind, t.current.NodeHandle)
	t.current.CallbackGroup = address
	g.changedTimer(t)
}

func (g *Graph) groupSubscription(time int64, address, handle trace.Address, kind trace.CallbackGroupType) {
	s, ok := find(g, g.subscriptions.lives, handle, time, "subscription", g.readSubscription)
	if !ok {
		return
	}
	c := g.groupOf(time, address, kind, s.current.NodeHandle)
	s.current.CallbackGroup = address
	fill(&s.current.NodeHandle, c.current.NodeHandle)
	g.changedSubscription(s)
}

func (g *Graph) groupService(time int64, address, handle trace.Address, kind trace.CallbackGroupType) {
	if handle == 0 {
		return
	}
	s := g.serviceAt(handle, time)
	c := g.groupOf(time, address, kind, s.current.NodeHandle)
	s.current.CallbackGroup = address
	fill(&s.current.NodeHandle, c.current.NodeHandle)
	g.changedService(s)
}

func (g *Graph) groupClient(time int64, address, handle trace.Address, kind trace.CallbackGroupType) {
	found, ok := find(g, g.clients.lives, handle, time, "client", g.readClient)
	if !ok {
		return
	}
	c := g.groupOf(time, address, kind, found.current.NodeHandle)
	found.current.CallbackGroup = address
	fill(&found.current.NodeHandle, c.current.NodeHandle)
	g.clients.note(found)
}

// nameExecutor looks for the executor whose collector a group is in.
func (g *Graph) nameExecutor(c *group) {
	if c.collector == 0 {
		return
	}
	if e, ok := g.collectors.at(c.collector, c.joined); ok {
		c.current.Executor = e.current.Executor
		return
	}
	layout, err := g.reader.readable()
	if err != nil || layout.Executor.Collector == 0 || uint64(c.collector) < layout.Executor.Collector {
		return
	}
	address := c.collector - trace.Address(layout.Executor.Collector)
	if found, err := g.reader.executorAt(address); err == nil {
		e, known := g.executors.at(address, now)
		switch {
		case !known:
			e = g.newExecutor(c.joined, address)
			found.ProcessKey = g.key
			e.current = found
		case e.since > c.joined:
			return // another one is there now
		}
		g.setCollector(e, c.collector)
		c.current.Executor = address
	}
}

// completeExecutor reads what the construction of an executor does not tell: it is over when this is called.
func (g *Graph) completeExecutor(e *executor) {
	if e.ended {
		return
	}
	found, err := g.reader.executorAt(e.current.Executor)
	if err != nil {
		return
	}
	fill(&e.current.ExecutorType, found.ExecutorType)
	fill(&e.current.ThreadCount, found.ThreadCount)
	if found.EntitiesCollector != 0 {
		g.setCollector(e, found.EntitiesCollector)
	}
}
