package tracetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	systemChains = 16
	// lostEvery is how many messages pass between processes for one that is lost.
	lostEvery = 1000
	// settled is how long after its timer everything of a chain is over, in nanoseconds.
	settled = int64(100_000_000)
	// batchRows is about the number of callbacks in a batch.
	batchRows = 100_000
)

// A chain goes through four nodes: a sensor's timer publishes points, a filter publishes objects in the callback of
// points, a tracker tracks in that of objects, and a control node receives tracks. Filter and tracker are in one
// process, and in every second chain objects go there through an intra-process buffer.
const (
	sensor = iota
	filter
	tracker
	control
	chainNodes
)

var (
	nodeNames  = [chainNodes]string{"sensor", "filter", "tracker", "control"}
	topicNames = [chainNodes - 1]string{"points", "objects", "tracks"}
	// nodeProcess is the process of each node.
	nodeProcess = [chainNodes]int{0, 1, 1, 2}
	commands    = []string{"sensing", "perception", "control"}
)

// SystemTopic returns the name of a chain's topic: 0 to 2 are points, objects and tracks.
func SystemTopic(chain, topic int) string {
	return fmt.Sprintf("/chain_%d/%s", chain, topicNames[topic])
}

// System generates at least n callback executions of a system of 16 chains at 10 to 100 Hz, in the order in which they
// completed, in batches, of which emit owns none: it must not keep the slices. One message in a thousand that goes
// between processes is lost. It returns the entities. It is the same for the same n.
func System(n int, emit func(*trace.Batch) error) (*trace.Batch, error) {
	s := &system{random: rand.New(rand.NewPCG(3, 4)), emit: emit, numbers: make(map[int32]uint64)}
	for i := range s.next {
		s.next[i] = int64(i) * 1_000_003
	}
	for s.made < n {
		chain := 0
		for i := range s.next {
			if s.next[i] < s.next[chain] {
				chain = i
			}
		}
		if len(s.rows.Callbacks) >= batchRows {
			if err := s.flush(start + s.next[chain] - settled); err != nil {
				return nil, err
			}
		}
		s.run(chain)
		s.next[chain] += period(chain)
	}
	return systemEntities(), s.flush(1<<63 - 1)
}

func period(chain int) int64 { return int64(10_000_000 * (1 + chain%10)) }

// system is a System in the making.
type system struct {
	random  *rand.Rand
	emit    func(*trace.Batch) error
	rows    trace.Batch
	next    [systemChains]int64 // the next expiry of each timer, since start
	numbers map[int32]uint64    // publishes of each thread
	slots   [systemChains]uint64
	made    int
}

// run makes what one expiry of a chain's timer leads to.
func (s *system) run(chain int) {
	c := s.callback(chain, sensor, start+s.next[chain]+s.jitter(40_000))
	c.Kind, c.Period = trace.KindTimer, trace.Some(period(chain))
	for node := sensor; ; node++ {
		published := c.CallbackStartTimestamp.Value + 20_000 + s.jitter(200_000)
		c.CallbackEndTimestamp = trace.Some(published + 10_000 + s.jitter(50_000))
		if node == control {
			s.rows.Callbacks = append(s.rows.Callbacks, c)
			s.made++
			return
		}
		p := s.publish(chain, node, &c, published)
		s.rows.Callbacks = append(s.rows.Callbacks, c)
		s.made++
		if nodeProcess[node] != nodeProcess[node+1] && s.random.IntN(lostEvery) == 0 {
			return
		}
		taken := published + 30_000 + s.jitter(100_000)
		c = s.callback(chain, node+1, taken+1_500+s.jitter(400))
		c.TopicName = SystemTopic(chain, node)
		if p.EnqueueCount > 0 {
			c.Kind, c.IsIntraProcess, c.Callback = trace.KindIntraProcessSubscription, trace.Some(true), callbackAddress(chain, node+1)+8
			c.Buffer, c.DequeueIndex, c.DequeueSize, c.DequeueTimestamp = bufferAddress(chain), trace.Some(s.slots[chain]%10), trace.Some(uint64(0)), trace.Some(taken)
			s.slots[chain]++
			continue
		}
		c.Kind, c.Message, c.SourceTimestamp, c.RMWTakeTimestamp = trace.KindSubscription, s.message(), p.SourceTimestamp, trace.Some(taken)
		c.RMWSubscriptionHandle, c.PublisherGID = handle(chain, node+1, rmwSubscription), gid(chain, node)
	}
}

func (s *system) callback(chain, node int, begin int64) trace.Callback {
	c := trace.Callback{
		ProcessKey: key(nodeProcess[node]), TID: int32(5000 + 100*node + chain%4), CPU: int32(s.random.IntN(cpus)),
		Callback: callbackAddress(chain, node), CallbackStartTimestamp: trace.Some(begin), Status: trace.CallbackComplete,
		IsIntraProcess: trace.Some(false), NodeName: nodeName(chain, node), Symbol: symbol(node), Provenance: trace.FromTracepoint,
	}
	if node > sensor {
		c.SubscriptionHandle = handle(chain, node, subscription)
	}
	return c
}

func (s *system) publish(chain, node int, in *trace.Callback, at int64) trace.Publish {
	number := s.numbers[in.TID]
	s.numbers[in.TID]++
	p := trace.Publish{
		ProcessKey: in.ProcessKey, TID: in.TID, CPU: in.CPU, PublishNumber: number,
		PublisherHandle: handle(chain, node, publisher), RMWPublisherHandle: handle(chain, node, rmwPublisher), Status: trace.PublishComplete,
		Callback: in.Callback, CallbackStartTimestamp: in.CallbackStartTimestamp, Depth: 1,
		TopicName: SystemTopic(chain, node), NodeName: in.NodeName, Kind: trace.PublishMessage, Provenance: trace.FromTracepoint,
	}
	if isIntraProcess(chain, node) {
		p.RclcppIntraPublishTimestamp, p.IntraMessage, p.EnqueueCount = trace.Some(at), s.message(), 1
		s.rows.Enqueues = append(s.rows.Enqueues, trace.Enqueue{
			ProcessKey: in.ProcessKey, TID: in.TID, CPU: in.CPU, Buffer: bufferAddress(chain), Index: trace.Some(s.slots[chain] % 10), Size: 1,
			Overwritten: trace.Some(false), EnqueueTimestamp: at + 700, PublishNumber: trace.Some(number), Callback: in.Callback,
			CallbackStartTimestamp: in.CallbackStartTimestamp, PublisherHandle: p.PublisherHandle, TopicName: p.TopicName, Provenance: trace.FromTracepoint,
		})
	} else {
		p.Message = s.message()
		p.RclcppPublishTimestamp, p.RclPublishTimestamp = trace.Some(at), trace.Some(at+800+s.jitter(200))
		p.RMWPublishTimestamp, p.SourceTimestamp = trace.Some(at+1_800+s.jitter(300)), trace.Some(at+3_000+s.jitter(500))
		p.DDSBindAddrToStampTimestamp = trace.Some(p.SourceTimestamp.Value + 400)
	}
	s.rows.Publishes = append(s.rows.Publishes, p)
	return p
}

// isIntraProcess tells whether what the node publishes goes through a buffer.
func isIntraProcess(chain, node int) bool { return node == filter && chain%2 == 0 }

// flush emits the rows that completed before the time and keeps the others.
func (s *system) flush(before int64) error {
	batch := new(trace.Batch)
	batch.Callbacks, s.rows.Callbacks = split(s.rows.Callbacks, before, func(c *trace.Callback) int64 { return c.CallbackEndTimestamp.Value })
	batch.Publishes, s.rows.Publishes = split(s.rows.Publishes, before, func(p *trace.Publish) int64 {
		return max(p.RclcppIntraPublishTimestamp.Value, p.RclcppPublishTimestamp.Value)
	})
	batch.Enqueues, s.rows.Enqueues = split(s.rows.Enqueues, before, func(e *trace.Enqueue) int64 { return e.EnqueueTimestamp })
	return s.emit(batch)
}

// split sorts rows by time and parts those before a time from the others.
func split[R any](rows []R, before int64, at func(*R) int64) (done, left []R) {
	slices.SortFunc(rows, func(a, b R) int { return cmp.Compare(at(&a), at(&b)) })
	i, _ := slices.BinarySearchFunc(rows, before, func(r R, t int64) int { return cmp.Compare(at(&r), t) })
	return rows[:i], slices.Clone(rows[i:])
}

func (s *system) jitter(limit int) int64 { return int64(s.random.IntN(limit)) }

func (s *system) message() trace.Address { return arena + trace.Address(s.random.IntN(512)*0x150) }

// The kinds of handles of a node.
const (
	nodeHandle = iota
	publisher
	rmwPublisher
	subscription
	rmwSubscription
	timer
	group
	object
)

func handle(chain, node, kind int) trace.Address {
	return heap + trace.Address(0x10_0000+0x4000*chain+0x800*node+0x40*kind)
}

func callbackAddress(chain, node int) trace.Address { return handle(chain, node, 0) + 0x400 }

func bufferAddress(chain int) trace.Address { return heap + trace.Address(0x80_0000+0x200*chain) }

func nodeName(chain, node int) string { return fmt.Sprintf("/chain_%d/%s", chain, nodeNames[node]) }

func symbol(node int) string { return nodeNames[node] + "::on_event()" }

func gid(chain, node int) string { return fmt.Sprintf("010f%028x%04x%04x", 7, chain, node) }

// systemEntities returns the entities of a System, as they were found in memory.
func systemEntities() *trace.Batch {
	e := new(trace.Batch)
	for i, command := range commands {
		e.Processes = append(e.Processes, trace.Process{ProcessKey: key(i), Command: command, Distro: "jazzy", RMWImplementation: "rmw_fastrtps_cpp"})
		e.Executors = append(e.Executors, trace.Executor{ProcessKey: key(i), Executor: heap, ExecutorType: "multi_threaded_executor", Provenance: trace.FromMemory})
	}
	for chain := range systemChains {
		for node := range chainNodes {
			addNode(e, chain, node)
		}
	}
	return e
}

func addNode(e *trace.Batch, chain, node int) {
	k, name, g := key(nodeProcess[node]), nodeName(chain, node), handle(chain, node, group)
	e.Nodes = append(e.Nodes, trace.Node{
		ProcessKey: k, NodeHandle: handle(chain, node, nodeHandle), NodeName: nodeNames[node], Namespace: fmt.Sprintf("/chain_%d", chain), Provenance: trace.FromMemory,
	})
	e.CallbackGroups = append(e.CallbackGroups, trace.CallbackGroup{
		ProcessKey: k, CallbackGroup: g, GroupTypeName: trace.MutuallyExclusive, NodeHandle: handle(chain, node, nodeHandle), NodeName: name, Executor: heap, Provenance: trace.FromMemory,
	})
	info := trace.CallbackInfo{ProcessKey: k, Callback: callbackAddress(chain, node), Symbol: symbol(node), NodeName: name, CallbackGroup: g, Provenance: trace.FromMemory}
	if node < control {
		e.Publishers = append(e.Publishers, trace.Publisher{
			ProcessKey: k, PublisherHandle: handle(chain, node, publisher), NodeHandle: handle(chain, node, nodeHandle), RMWPublisherHandle: handle(chain, node, rmwPublisher),
			TopicName: SystemTopic(chain, node), NodeName: name, MessageType: "std_msgs/msg/String", GID: gid(chain, node), Provenance: trace.FromMemory,
		})
	}
	if node == sensor {
		info.Kind, info.OwnerHandle, info.Period = trace.KindTimer, handle(chain, node, timer), trace.Some(period(chain))
		e.Timers = append(e.Timers, trace.Timer{
			ProcessKey: k, TimerHandle: info.OwnerHandle, Period: info.Period, NodeHandle: handle(chain, node, nodeHandle), NodeName: name,
			Callback: info.Callback, CallbackGroup: g, Provenance: trace.FromMemory,
		})
		e.CallbackInfos = append(e.CallbackInfos, info)
		return
	}
	info.Kind, info.OwnerHandle, info.TopicName = trace.KindSubscription, handle(chain, node, subscription), SystemTopic(chain, node-1)
	e.CallbackInfos = append(e.CallbackInfos, info)
	row := trace.Subscription{
		ProcessKey: k, SubscriptionHandle: info.OwnerHandle, NodeHandle: handle(chain, node, nodeHandle), RMWSubscriptionHandle: handle(chain, node, rmwSubscription),
		TopicName: info.TopicName, Subscription: handle(chain, node, object), Callback: info.Callback, IsIntraProcess: trace.Some(false), NodeName: name,
		MessageType: "std_msgs/msg/String", CallbackGroup: g, Provenance: trace.FromMemory,
	}
	e.Subscriptions = append(e.Subscriptions, row)
	if isIntraProcess(chain, node-1) {
		row.Subscription, row.Callback, row.IsIntraProcess, row.Buffer = row.Subscription+8, row.Callback+8, trace.Some(true), bufferAddress(chain)
		row.Capacity = trace.Some(uint64(10))
		e.Subscriptions = append(e.Subscriptions, row)
		info.Kind, info.Callback = trace.KindIntraProcessSubscription, row.Callback
		e.CallbackInfos = append(e.CallbackInfos, info)
	}
}
