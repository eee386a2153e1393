package entities

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

var errUnmapped = errors.New("not mapped")

// image is the memory of an invented process: a heap and a read-only mapping of a file, in which tests build objects.
type image struct {
	t      testing.TB
	layout *layouts.Layout
	heap   region
	file   region
	reads  int

	typeInfos, flavors map[string]uint64
	controlVtable      uint64
	functions          map[uint64]Function
	passed             map[uint64]elffile.Member
}

// vtableSize is that of a table with four virtual functions, and what precedes them.
const vtableSize = 6 * wordSize

type region struct {
	start, next uint64
	data        []byte
}

func newImage(t testing.TB, distro string, machine elf.Machine) *image {
	t.Helper()
	layout, err := layouts.For(distro, machine, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &image{
		t: t, layout: layout,
		heap:      region{start: 0x5555_0000_0000, data: make([]byte, 128<<10)},
		file:      region{start: 0x7fff_0000_0000, data: make([]byte, 64<<10)},
		typeInfos: make(map[string]uint64), flavors: make(map[string]uint64), functions: make(map[uint64]Function),
		passed: make(map[uint64]elffile.Member),
	}
}

func (m *image) ReadAt(p []byte, address uint64) error {
	m.reads++
	for _, r := range []*region{&m.heap, &m.file} {
		if address >= r.start && address-r.start <= uint64(len(r.data)) && uint64(len(p)) <= uint64(len(r.data))-(address-r.start) {
			copy(p, r.data[address-r.start:])
			return nil
		}
	}
	return errUnmapped
}

func (m *image) ReadOnlyFile(address uint64) bool {
	return address >= m.file.start && address-m.file.start < uint64(len(m.file.data))
}

// allocate reserves size bytes of a region, 16-aligned like malloc's.
func (m *image) allocate(r *region, size int) uint64 {
	address := r.start + r.next
	r.next += (uint64(size) + 15) &^ 15
	if r.next > uint64(len(r.data)) {
		m.t.Fatal("the image is too small")
	}
	return address
}

func (m *image) object() uint64 { return m.allocate(&m.heap, 1024) }

func (m *image) text(r *region, text string) uint64 {
	address := m.allocate(r, len(text)+1)
	copy(r.data[address-r.start:], text)
	return address
}

func (m *image) set(address, word uint64) {
	for _, r := range []*region{&m.heap, &m.file} {
		if address >= r.start && address-r.start+wordSize <= uint64(len(r.data)) {
			binary.LittleEndian.PutUint64(r.data[address-r.start:], word)
			return
		}
	}
	m.t.Fatalf("%#x is not in the image", address)
}

func (m *image) get(address uint64) uint64 {
	var p [wordSize]byte
	if err := m.ReadAt(p[:], address); err != nil {
		m.t.Fatal(err)
	}
	return binary.LittleEndian.Uint64(p[:])
}

// class makes an object an instance of a class: it gets a vtable with a type_info.
func (m *image) class(object uint64, typeName string) {
	typeInfo := m.allocate(&m.file, 16)
	m.set(typeInfo, m.allocate(&m.file, 16))
	m.set(typeInfo+wordSize, m.text(&m.file, typeName))
	vtable := m.allocate(&m.file, vtableSize)
	m.set(vtable+wordSize, typeInfo)
	m.set(object, vtable+2*wordSize)
}

// rmw makes an rmw object with names at offsets.
func (m *image) rmw(names map[uint64]string) uint64 {
	object := m.object()
	m.set(object, m.text(&m.file, "rmw_fastrtps_cpp"))
	for offset, name := range names {
		m.set(object+offset, m.text(&m.heap, name))
	}
	return object
}

func (m *image) node(name, namespace string) uint64 {
	handle, impl := m.object(), m.object()
	m.set(handle+m.layout.Node.Impl, impl)
	m.set(impl+m.layout.Node.RMWHandle, m.rmw(map[uint64]string{m.layout.RMWNode.Name: name, m.layout.RMWNode.Namespace: namespace}))
	return handle
}

func (m *image) endpoint(layout layouts.Endpoint, topicOffset uint64, topic string, depth uint64) (handle, rmw uint64) {
	handle, impl := m.object(), m.object()
	rmw = m.rmw(map[uint64]string{topicOffset: topic})
	m.set(handle+layout.Impl, impl)
	m.set(impl+layout.RMWHandle, rmw)
	m.set(impl+layout.Depth, depth)
	return handle, rmw
}

func (m *image) publisher(topic string, depth uint64) (handle, rmw uint64) {
	return m.endpoint(m.layout.Publisher, m.layout.RMWTopicName.Publisher, topic, depth)
}

func (m *image) subscription(topic string, depth uint64) (handle, rmw uint64) {
	return m.endpoint(m.layout.Subscription, m.layout.RMWTopicName.Subscription, topic, depth)
}

func (m *image) timer(period uint64) uint64 {
	handle, impl := m.object(), m.object()
	m.set(handle+m.layout.Timer.Impl, impl)
	m.set(impl+m.layout.Timer.Context, m.object())
	m.set(impl+m.layout.Timer.Period, period)
	return handle
}

func (m *image) service(name string) uint64 {
	handle, impl := m.object(), m.object()
	m.set(handle+m.layout.Service.Impl, impl)
	m.set(impl+m.layout.Service.RMWHandle, m.rmw(map[uint64]string{m.layout.RMWTopicName.Service: name}))
	return handle
}

func (m *image) client(name string) uint64 {
	handle, impl := m.object(), m.object()
	m.set(handle+m.layout.Client.Impl, impl)
	m.set(impl+m.layout.Client.RMWHandle, m.rmw(map[uint64]string{m.layout.RMWTopicName.Client: name}))
	return handle
}

// callbackOf returns the address of the callback of an object, as callback_start passes it.
func (m *image) callbackOf(kind layouts.OwnerKind, object uint64) trace.Address {
	for _, owner := range m.layout.Owners {
		if owner.Kind == kind {
			return trace.Address(object + owner.Callback)
		}
	}
	m.t.Fatalf("no owner of kind %d", kind)
	return 0
}

func (m *image) timerObject(typeName string, timer uint64) (object uint64, callback trace.Address) {
	object = m.object()
	m.class(object, typeName)
	m.set(object+m.layout.TimerBase.TimerHandle, timer)
	callback = m.callbackOf(layouts.OwnerTimer, object)
	m.executes(object, elffile.Member{Offsets: []int64{int64(callback) - int64(object)}, Address: true})
	return object, callback
}

// executes gives the class of a timer a function that passes a member to callback_start.
func (m *image) executes(object uint64, passed elffile.Member) {
	function := m.allocate(&m.file, 16)
	m.passed[function] = passed
	m.set(m.get(object)+executeCallback*wordSize, function)
}

func (m *image) PassedMember(function uint64, callee string) (elffile.Member, error) {
	if passed, ok := m.passed[function]; ok && callee == callbackStart {
		return passed, nil
	}
	return elffile.Member{}, elffile.ErrUnexpectedShape
}

func (m *image) subscriptionObject(subscription, node uint64) (object uint64, callback trace.Address) {
	object = m.object()
	m.class(object, "N6rclcpp12SubscriptionIN8std_msgs3msg7String_ISaIvEESaIvES5_S5_EE")
	m.set(object+m.layout.SubscriptionBase.SubscriptionHandle, subscription)
	m.set(object+m.layout.SubscriptionBase.NodeHandle, node)
	return object, m.callbackOf(layouts.OwnerSubscription, object)
}

// ringCapacity is that of every ring buffer of an image.
const ringCapacity = 10

func (m *image) intraProcessObject(topic string) (object, ring uint64, callback trace.Address) {
	object, buffer, ring := m.object(), m.object(), m.object()
	m.class(object, standardIntraProcess)
	m.class(ring, layouts.RingBufferTypeName+"St10unique_ptrIiSt14default_deleteIiEEEE")
	m.set(object+m.layout.SubscriptionIntraProcess.TopicName, m.text(&m.heap, topic))
	m.set(object+m.layout.SubscriptionIntraProcess.TopicName+wordSize, uint64(len(topic)))
	m.set(object+m.layout.SubscriptionIntraProcess.Buffer, buffer)
	m.set(buffer+m.layout.SubscriptionIntraProcess.Ring, ring)
	m.set(ring+m.layout.SubscriptionIntraProcess.Capacity, ringCapacity)
	return object, ring, m.callbackOf(layouts.OwnerSubscriptionIntraProcess, object)
}

func (m *image) serviceObject(service, node uint64) (object uint64, callback trace.Address) {
	object = m.object()
	m.class(object, "N6rclcpp7ServiceIN8std_srvs3srv5EmptyEEE")
	m.set(object+m.layout.ServiceBase.ServiceHandle, service)
	m.set(object+m.layout.ServiceBase.NodeHandle, node)
	return object, m.callbackOf(layouts.OwnerService, object)
}

var testKey = trace.ProcessKey{BootID: "boot", PID: 42, ProcessStart: 7}

// graph returns a graph that reads the image.
func (m *image) graph() *Graph {
	g := New(testKey)
	g.SetMemory(m, m.layout)
	return g
}
