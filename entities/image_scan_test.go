package entities

import (
	"iter"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// What a scan needs of an image: mappings, classes with bases, and objects that lead to each other.

func (m *image) Mappings() ([]target.Mapping, error) {
	return []target.Mapping{
		{Start: m.heap.start, End: m.heap.start + uint64(len(m.heap.data)), Perm: "rw-p", Path: "[heap]"},
		{Start: m.file.start, End: m.file.start + uint64(len(m.file.data)), Perm: "r--p", Path: "/lib/librclcpp.so", Inode: 7},
	}, nil
}

func (m *image) ResidentRanges(start, end uint64) iter.Seq2[target.Range, error] {
	return func(yield func(target.Range, error) bool) { yield(target.Range{Start: start, End: end}, nil) }
}

// WrittenRanges: all that the file holds was written when it was loaded.
func (m *image) WrittenRanges(start, end uint64) iter.Seq2[target.Range, error] {
	return m.ResidentRanges(start, end)
}

func (m *image) IsGivenBack(uint64) bool { return false }

func (m *image) FunctionAt(address uint64) (Function, bool) {
	f, ok := m.functions[address]
	return f, ok
}

// imageBase is a base class of an image's class.
type imageBase struct {
	typeInfo uint64
	offset   int64
}

// typeInfo makes a type_info; each name has one.
func (m *image) typeInfo(name string, bases ...imageBase) uint64 {
	if known, ok := m.typeInfos[name]; ok {
		return known
	}
	flavor := "N10__cxxabiv117__class_type_infoE"
	switch {
	case len(bases) == 1 && bases[0].offset == 0:
		flavor = "N10__cxxabiv120__si_class_type_infoE"
	case len(bases) > 0:
		flavor = "N10__cxxabiv121__vmi_class_type_infoE"
	}
	at := m.allocate(&m.file, 24+16*len(bases))
	m.typeInfos[name] = at
	m.set(at, m.flavor(flavor))
	m.set(at+8, m.text(&m.file, name))
	if len(bases) == 1 && bases[0].offset == 0 {
		m.set(at+16, bases[0].typeInfo)
		return at
	}
	if len(bases) > 0 {
		m.set(at+16, uint64(len(bases))<<32)
	}
	for i, b := range bases {
		m.set(at+24+16*uint64(i), b.typeInfo)
		m.set(at+32+16*uint64(i), uint64(b.offset)<<8|2) // a public base
	}
	return at
}

// flavor returns the vtable of a class of type_info.
func (m *image) flavor(name string) uint64 {
	if known, ok := m.flavors[name]; ok {
		return known
	}
	own := m.allocate(&m.file, 16)
	m.set(own, m.allocate(&m.file, 16))
	m.set(own+8, m.text(&m.file, name))
	vtable := m.allocate(&m.file, 32)
	m.set(vtable+8, own)
	m.flavors[name] = vtable + 16
	return vtable + 16
}

// instance makes the part at an address of an object of a class an instance of it; offset is that of the part.
func (m *image) instance(part, typeInfo uint64, offset int64) {
	vtable := m.allocate(&m.file, vtableSize)
	m.set(vtable, uint64(-offset))
	m.set(vtable+8, typeInfo)
	m.set(part, vtable+16)
}

// base returns the type_info of a class that is derived from nothing.
func (m *image) base(name string) imageBase { return imageBase{typeInfo: m.typeInfo(name)} }

// control makes a control block with a strong count.
func (m *image) control(count uint64) uint64 {
	if m.controlVtable == 0 {
		m.controlVtable = m.allocate(&m.file, 16)
	}
	block := m.allocate(&m.heap, 32)
	m.set(block, m.controlVtable)
	m.set(block+8, count|1<<32)
	return block
}

// share makes the words at an address a shared_ptr or weak_ptr to a living object.
func (m *image) share(at, object uint64) {
	m.set(at, object)
	m.set(at+8, m.control(1))
}

// vector makes a vector of weak_ptr to living objects.
func (m *image) vector(at uint64, objects ...uint64) {
	elements := m.allocate(&m.heap, 16*len(objects)+16)
	for i, object := range objects {
		m.share(elements+16*uint64(i), object)
	}
	m.set(at, elements)
	m.set(at+8, elements+16*uint64(len(objects)))
	m.set(at+16, elements+16*uint64(len(objects)))
}

// tree makes a map or set of weak_ptr to living objects.
func (m *image) tree(at uint64, objects ...uint64) {
	m.set(at+treeCount, uint64(len(objects)))
	slot := at + treeRoot
	for i, object := range objects {
		node := m.allocate(&m.heap, 64)
		m.set(slot, node)
		m.share(node+treeKey, object)
		slot = node + []uint64{treeLeft, treeRight}[i%2]
	}
}

// world is a process with a node and one of everything.
type world struct {
	*image
	publisher, subscription, intra, timer, service, client, executor uint64 // rclcpp objects, or the parts of them
	nodeBase, group, context, rclContext                             uint64
	nodeHandle                                                       uint64
}

const (
	messageArguments = "N8std_msgs3msg7String_ISaIvEEE"
	serviceArgument  = "N8std_srvs3srv7TriggerEE"
)

func newWorld(t testing.TB, m *image) *world {
	t.Helper()
	w := &world{image: m}
	l := m.layout
	w.nodeHandle = m.node("talker", "/demo")

	w.rclContext = m.object()
	w.context = m.object()
	m.instance(w.context, m.typeInfo(contextName), 0)
	m.share(w.context+self, w.context)
	m.share(w.context+l.Context.RCLContext, w.rclContext)

	handle, _ := m.publisher("/chatter", 10)
	w.publisher = m.object() + 16 // room for another base before it
	m.instance(w.publisher, m.typeInfo(publisherName+messageArguments+"SaIvEE", m.base(publisherBaseName)), 0)
	m.share(w.publisher+self, w.publisher)
	m.share(w.publisher+l.PublisherBase.NodeHandle, w.nodeHandle)
	m.share(w.publisher+l.PublisherBase.PublisherHandle, handle)

	handle, _ = m.subscription("/commands", 5)
	w.subscription = m.object()
	m.instance(w.subscription, m.typeInfo(subscriptionName+messageArguments+"SaIvEE", m.base(subscriptionBaseName)), 0)
	m.share(w.subscription+self, w.subscription)
	m.share(w.subscription+l.SubscriptionBase.NodeHandle, w.nodeHandle)
	m.share(w.subscription+l.SubscriptionBase.SubscriptionHandle, handle)
	w.intra, _, _ = m.intraProcessObject("/commands")
	m.instance(w.intra, m.typeInfo(standardIntraProcess), 0)
	m.share(w.subscription+l.SubscriptionBase.IntraProcess, w.intra)

	w.timer = m.object()
	m.instance(w.timer, m.typeInfo("N6rclcpp9WallTimerIZ4mainEUlvE_LPv0EEE",
		imageBase{typeInfo: m.typeInfo(genericTimerName+"Z4mainEUlvE_LPv0EEE", m.base(timerBaseName))}), 0)
	m.share(w.timer+l.TimerBase.TimerHandle, m.timer(5e8))
	m.executes(w.timer, elffile.Member{Offsets: []int64{int64(l.TimerBase.End)}, Address: true}) // the functor is an empty lambda

	w.service = m.object()
	m.instance(w.service, m.typeInfo(serviceName+serviceArgument+"E", m.base(serviceBaseName)), 0)
	m.share(w.service+l.ServiceBase.NodeHandle, w.nodeHandle)
	m.share(w.service+l.ServiceBase.ServiceHandle, m.service("/demo/trigger"))

	w.client = m.object()
	m.instance(w.client, m.typeInfo(clientName+serviceArgument+"E", m.base(clientBaseName)), 0)
	m.share(w.client+l.ClientBase.NodeHandle, w.nodeHandle)
	m.share(w.client+l.ClientBase.ClientHandle, m.client("/other/trigger"))

	w.group = m.object()
	m.set(w.group+l.CallbackGroup.Type, 1)
	m.vector(w.group+l.CallbackGroup.Subscriptions, w.subscription)
	m.vector(w.group+l.CallbackGroup.Timers, w.timer)
	m.vector(w.group+l.CallbackGroup.Services, w.service)
	m.vector(w.group+l.CallbackGroup.Clients, w.client)

	w.nodeBase = m.object()
	m.instance(w.nodeBase, m.typeInfo(nodeBaseName), 0)
	m.share(w.nodeBase+self, w.nodeBase)
	m.share(w.nodeBase+l.NodeBase.NodeHandle, w.nodeHandle)
	m.share(w.nodeBase+l.NodeBase.DefaultCallbackGroup, w.group)
	m.vector(w.nodeBase + l.NodeBase.CallbackGroups)

	w.executor = w.executorOf(multiThreadedName)
	m.set(w.executor+l.Executor.Threads, 3)
	return w
}

// executorOf makes an executor of a class that has the group.
func (w *world) executorOf(name string) uint64 {
	m, l := w.image, w.layout.Executor
	executor := m.allocate(&m.heap, 2048)
	m.instance(executor, m.typeInfo(name, m.base(executorName)), 0)
	m.share(executor+l.Context, w.context)
	switch {
	case name == staticSingleThreadedName && l.StaticCollector != 0:
		collector := m.object()
		m.share(executor+l.StaticCollector, collector)
		m.tree(collector+l.StaticCollectorGroups[1], w.group)
	case l.Collector != 0:
		m.tree(executor+l.Collector+l.CollectorGroups[1], w.group)
	default:
		m.tree(executor+l.Groups, w.group)
	}
	return executor
}

// rows returns the rows that a scan must find, without provenances.
func (w *world) rows() trace.Batch {
	l := w.layout
	const node = "/demo/talker"
	handle, group := trace.Address(w.nodeHandle), trace.Address(w.group)
	at := func(object, member uint64) trace.Address { return trace.Address(w.get(object + member)) }
	publisher, subscription := at(w.publisher, l.PublisherBase.PublisherHandle), at(w.subscription, l.SubscriptionBase.SubscriptionHandle)
	service, client := at(w.service, l.ServiceBase.ServiceHandle), at(w.client, l.ClientBase.ClientHandle)
	rmw := func(handle trace.Address, impl, rmw uint64) trace.Address {
		return trace.Address(w.get(w.get(uint64(handle)+impl) + rmw))
	}
	row := trace.Subscription{
		ProcessKey: testKey, SubscriptionHandle: subscription, NodeHandle: handle, TopicName: "/commands", QueueDepth: trace.Some(uint64(5)),
		RMWSubscriptionHandle: rmw(subscription, l.Subscription.Impl, l.Subscription.RMWHandle), NodeName: node,
		Provenance: trace.FromMemory, MessageType: "std_msgs/msg/String", CallbackGroup: group,
	}
	inter, intra := row, row
	inter.Subscription, inter.IsIntraProcess = trace.Address(w.subscription), trace.Some(false)
	inter.Callback = w.callbackOf(layouts.OwnerSubscription, w.subscription)
	intra.Subscription, intra.IsIntraProcess = trace.Address(w.intra), trace.Some(true)
	intra.Callback = w.callbackOf(layouts.OwnerSubscriptionIntraProcess, w.intra)
	intra.IPB = at(w.intra, l.SubscriptionIntraProcess.Buffer)
	intra.Buffer, intra.Capacity = at(uint64(intra.IPB), l.SubscriptionIntraProcess.Ring), trace.Some(uint64(ringCapacity))
	timer := at(w.timer, l.TimerBase.TimerHandle)
	timerCallback, serviceCallback := trace.Address(w.timer+l.TimerBase.End), w.callbackOf(layouts.OwnerService, w.service)
	info := trace.CallbackInfo{ProcessKey: testKey, NodeName: node, CallbackGroup: group, Provenance: trace.FromMemory}
	interInfo, intraInfo, timerInfo, serviceInfo := info, info, info, info
	interInfo.Callback, interInfo.Kind, interInfo.OwnerHandle, interInfo.TopicName = inter.Callback, trace.KindSubscription, subscription, "/commands"
	intraInfo.Callback, intraInfo.Kind = intra.Callback, trace.KindIntraProcessSubscription
	intraInfo.OwnerHandle, intraInfo.TopicName = subscription, "/commands"
	timerInfo.Callback, timerInfo.Kind, timerInfo.OwnerHandle = timerCallback, trace.KindTimer, timer
	timerInfo.Period, timerInfo.Symbol = trace.Some(int64(5e8)), "main::{lambda()#1}"
	serviceInfo.Callback, serviceInfo.Kind, serviceInfo.OwnerHandle, serviceInfo.TopicName = serviceCallback, trace.KindService, service, "/demo/trigger"
	executor := trace.Executor{
		ProcessKey: testKey, Executor: trace.Address(w.executor), ExecutorType: multiThreadedExecutor, ThreadCount: trace.Some(uint64(3)),
		Provenance: trace.FromMemory,
	}
	if l.Executor.Collector != 0 {
		executor.EntitiesCollector = executor.Executor + trace.Address(l.Executor.Collector)
	}
	return trace.Batch{
		Nodes: []trace.Node{{
			ProcessKey: testKey, NodeHandle: handle, RMWHandle: rmw(handle, l.Node.Impl, l.Node.RMWHandle), NodeName: "talker",
			Namespace: "/demo", Provenance: trace.FromMemory,
		}},
		Publishers: []trace.Publisher{{
			ProcessKey: testKey, PublisherHandle: publisher, NodeHandle: handle, TopicName: "/chatter", QueueDepth: trace.Some(uint64(10)),
			RMWPublisherHandle: rmw(publisher, l.Publisher.Impl, l.Publisher.RMWHandle), NodeName: node, Provenance: trace.FromMemory,
			MessageType: "std_msgs/msg/String",
		}},
		Subscriptions: []trace.Subscription{inter, intra},
		Timers: []trace.Timer{{
			ProcessKey: testKey, TimerHandle: timer, Period: trace.Some(int64(5e8)), NodeHandle: handle, NodeName: node,
			Callback: timerCallback, Provenance: trace.FromMemory, CallbackGroup: group,
		}},
		ServiceServers: []trace.ServiceServer{{
			ProcessKey: testKey, ServiceHandle: service, NodeHandle: handle, ServiceName: "/demo/trigger", ServiceType: "std_srvs/srv/Trigger",
			RMWServiceHandle: rmw(service, l.Service.Impl, l.Service.RMWHandle), Callback: serviceCallback, CallbackGroup: group,
			NodeName: node, Provenance: trace.FromMemory,
		}},
		Clients: []trace.Client{{
			ProcessKey: testKey, ClientHandle: client, NodeHandle: handle, ServiceName: "/other/trigger", ServiceType: "std_srvs/srv/Trigger",
			RMWClientHandle: rmw(client, l.Client.Impl, l.Client.RMWHandle), CallbackGroup: group, NodeName: node, Provenance: trace.FromMemory,
		}},
		CallbackInfos: []trace.CallbackInfo{interInfo, intraInfo, timerInfo, serviceInfo},
		CallbackGroups: []trace.CallbackGroup{{
			ProcessKey: testKey, CallbackGroup: group, GroupTypeName: trace.Reentrant, NodeHandle: handle, NodeName: node,
			Executor: trace.Address(w.executor), Provenance: trace.FromMemory,
		}},
		Executors: []trace.Executor{executor},
		Contexts:  []trace.Context{{ProcessKey: testKey, ContextHandle: trace.Address(w.rclContext), Provenance: trace.FromMemory}},
	}
}

// page returns the number of the page of an address.
func page(address uint64) uint64 { return address / pageSize }

// without is an image in which pages are missing.
type without struct {
	*image
	pages []uint64
}

func (s without) ReadAt(p []byte, address uint64) error {
	for at := page(address); at <= page(address+uint64(len(p))-1); at++ {
		if slices.Contains(s.pages, at) {
			return target.ErrNotResident
		}
	}
	return s.image.ReadAt(p, address)
}
