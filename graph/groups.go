package graph

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

// executorTypes maps what ConstructExecutor tells to names. The base class's constructor tells nothing.
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

// initExecutor handles construct_executor. The constructor of a derived class calls that of its base: both are events of one executor.
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
	c := g.groupAt(time, address)
	c.joined = time
	c.current.InitTimestamp, c.current.Provenance = trace.Some(time), trace.FromTracepoint
	if name := groupTypeName(kind); name != "" {
		c.current.GroupTypeName = name
	}
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

// groupAt returns the callback group at an address. No event tells of its construction; one whose node has ended has ended, too.
func (g *Graph) groupAt(time int64, address trace.Address) *group {
	c, ok := g.groups.at(address, time)
	if ok {
		n, known := g.nodes.last(c.current.NodeHandle)
		if !known {
			return c
		}
		if until, ended := n.end(); !ended || until > time {
			return c
		}
	}
	c = &group{life: life{since: time}, joined: always}
	c.current = trace.CallbackGroup{ProcessKey: g.key, CallbackGroup: address, Provenance: trace.FromObservation}
	g.groups.add(address, c)
	g.groups.note(c)
	g.awaitScan(time)
	return c
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
	if name := g.nodeName(handle, time); name != "" { // proves that it is a node
		c := g.groupAt(time, address)
		c.current.NodeHandle, c.current.NodeName = handle, name
		g.groups.note(c)
	}
}

// ownGroup notes whose callback group one is, by the node of an entity in it.
func (g *Graph) ownGroup(c *group, nodeHandle trace.Address) {
	if c.current.NodeHandle == 0 && nodeHandle != 0 {
		c.current.NodeHandle = nodeHandle
		g.nameNode(&c.current.NodeName, nodeHandle, &c.life)
		g.groups.note(c)
	}
}

// typeGroup notes the type of a callback group that gets an entity, counted from 1. Nothing else tells that of a group without executor.
func (g *Graph) typeGroup(time int64, address trace.Address, kind uint64) {
	if kind == 0 {
		return
	}
	c := g.groupAt(time, address)
	fill(&c.current.GroupTypeName, groupTypeName(kind-1))
	g.groups.note(c)
}

func (g *Graph) groupTimer(time int64, address, handle trace.Address) {
	t, c := g.timerAt(handle, time), g.groupAt(time, address)
	t.current.CallbackGroup = address
	fill(&t.current.NodeHandle, c.current.NodeHandle)
	g.ownGroup(c, t.current.NodeHandle)
	g.changedTimer(t)
}

func (g *Graph) groupSubscription(time int64, address, handle trace.Address) {
	s, ok := find(g, g.subscriptions.lives, handle, time, "subscription", g.readSubscription)
	if !ok {
		return
	}
	c := g.groupAt(time, address)
	s.current.CallbackGroup = address
	fill(&s.current.NodeHandle, c.current.NodeHandle)
	g.ownGroup(c, s.current.NodeHandle)
	g.changedSubscription(s)
}

func (g *Graph) groupService(time int64, address, handle trace.Address) {
	s, c := g.serviceAt(handle, time), g.groupAt(time, address)
	s.current.CallbackGroup = address
	fill(&s.current.NodeHandle, c.current.NodeHandle)
	g.ownGroup(c, s.current.NodeHandle)
	g.changedService(s)
}

func (g *Graph) groupClient(time int64, address, handle trace.Address) {
	found, ok := find(g, g.clients.lives, handle, time, "client", g.readClient)
	if !ok {
		return
	}
	c := g.groupAt(time, address)
	found.current.CallbackGroup = address
	fill(&found.current.NodeHandle, c.current.NodeHandle)
	g.ownGroup(c, found.current.NodeHandle)
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
		if !known {
			e = g.newExecutor(c.joined, address)
			found.ProcessKey = g.key
			e.current = found
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
