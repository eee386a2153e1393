package entities

import (
	"fmt"
	"strings"

	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// maxDepth bounds a queue depth and a buffer's capacity that are believed.
	maxDepth = 1 << 32
	// maxPeriod bounds a timer's period that is believed: a year, in nanoseconds.
	maxPeriod = 365 * 24 * 3600 * 1e9
)

// reader follows the members of rcl's, rmw's and rclcpp's objects and judges what they lead to. What it returns has no
// process key.
type reader struct {
	view
	layout *layouts.Layout
}

// readable returns the layout to read the process's memory with.
func (r reader) readable() (*layouts.Layout, error) {
	if r.memory == nil {
		return nil, errNoMemory
	}
	return r.layout, nil
}

// nodeAt reads an rcl_node_t.
func (r reader) nodeAt(handle trace.Address) (trace.Node, error) {
	layout, err := r.readable()
	if err != nil {
		return trace.Node{}, err
	}
	rmw, err := r.rmwHandleAt(handle, layout.Node.Impl, layout.Node.RMWHandle)
	if err != nil {
		return trace.Node{}, err
	}
	name, err := r.rmwNameAt(rmw, layout.RMWNode.Name, isBaseName)
	if err != nil {
		return trace.Node{}, err
	}
	namespace, err := r.rmwNameAt(rmw, layout.RMWNode.Namespace, isName)
	if err != nil {
		return trace.Node{}, err
	}
	return trace.Node{
		NodeHandle: handle, RMWHandle: rmw, NodeName: name, Namespace: namespace, Provenance: trace.FromMemory,
	}, nil
}

// publisherAt reads an rcl_publisher_t.
func (r reader) publisherAt(handle trace.Address) (trace.Publisher, error) {
	layout, err := r.readable()
	if err != nil {
		return trace.Publisher{}, err
	}
	rmw, depth, err := r.endpointAt(handle, layout.Publisher)
	if err != nil {
		return trace.Publisher{}, err
	}
	topic, err := r.rmwNameAt(rmw, layout.RMWTopicName.Publisher, isTopic)
	if err != nil {
		return trace.Publisher{}, err
	}
	gid, _ := r.publisherGIDAt(rmw)
	return trace.Publisher{
		PublisherHandle: handle, RMWPublisherHandle: rmw, TopicName: topic, QueueDepth: trace.Some(depth), GID: gid,
		Provenance: trace.FromMemory,
	}, nil
}

// subscriptionAt reads an rcl_subscription_t.
func (r reader) subscriptionAt(handle trace.Address) (trace.Subscription, error) {
	layout, err := r.readable()
	if err != nil {
		return trace.Subscription{}, err
	}
	rmw, depth, err := r.endpointAt(handle, layout.Subscription)
	if err != nil {
		return trace.Subscription{}, err
	}
	topic, err := r.rmwNameAt(rmw, layout.RMWTopicName.Subscription, isTopic)
	if err != nil {
		return trace.Subscription{}, err
	}
	return trace.Subscription{
		SubscriptionHandle: handle, RMWSubscriptionHandle: rmw, TopicName: topic, QueueDepth: trace.Some(depth),
		Provenance: trace.FromMemory,
	}, nil
}

// timerAt reads an rcl_timer_t.
func (r reader) timerAt(handle trace.Address) (trace.Timer, error) {
	layout, err := r.readable()
	if err != nil {
		return trace.Timer{}, err
	}
	impl, err := r.pointer(handle + trace.Address(layout.Timer.Impl))
	if err != nil {
		return trace.Timer{}, err
	}
	if _, err := r.pointer(impl + trace.Address(layout.Timer.Context)); err != nil {
		return trace.Timer{}, err
	}
	period, err := r.word(impl + trace.Address(layout.Timer.Period))
	if err != nil {
		return trace.Timer{}, err
	}
	if period > maxPeriod { // 0 is one: the timer is always ready
		return trace.Timer{}, fmt.Errorf("%d ns is no period: %w", period, errImplausible)
	}
	return trace.Timer{TimerHandle: handle, Period: trace.Some(int64(period)), Provenance: trace.FromMemory}, nil
}

// serviceAt reads an rcl_service_t.
func (r reader) serviceAt(handle trace.Address) (trace.ServiceServer, error) {
	layout, err := r.readable()
	if err != nil {
		return trace.ServiceServer{}, err
	}
	rmw, err := r.rmwHandleAt(handle, layout.Service.Impl, layout.Service.RMWHandle)
	if err != nil {
		return trace.ServiceServer{}, err
	}
	name, err := r.rmwNameAt(rmw, layout.RMWTopicName.Service, isTopic)
	if err != nil {
		return trace.ServiceServer{}, err
	}
	return trace.ServiceServer{ServiceHandle: handle, RMWServiceHandle: rmw, ServiceName: name, Provenance: trace.FromMemory}, nil
}

// clientAt reads an rcl_client_t.
func (r reader) clientAt(handle trace.Address) (trace.Client, error) {
	layout, err := r.readable()
	if err != nil {
		return trace.Client{}, err
	}
	rmw, err := r.rmwHandleAt(handle, layout.Client.Impl, layout.Client.RMWHandle)
	if err != nil {
		return trace.Client{}, err
	}
	name, err := r.rmwNameAt(rmw, layout.RMWTopicName.Client, isTopic)
	if err != nil {
		return trace.Client{}, err
	}
	gid, _ := r.clientGIDAt(rmw)
	return trace.Client{
		ClientHandle: handle, RMWClientHandle: rmw, ServiceName: name, GID: gid, Provenance: trace.FromMemory,
	}, nil
}

// rmwHandleAt follows an rcl object to its rmw object.
func (r reader) rmwHandleAt(handle trace.Address, impl, rmw uint64) (trace.Address, error) {
	at, err := r.pointer(handle + trace.Address(impl))
	if err != nil {
		return 0, err
	}
	return r.pointer(at + trace.Address(rmw))
}

// endpointAt follows an rcl publisher or subscription to its rmw object and its queue depth.
func (r reader) endpointAt(handle trace.Address, layout layouts.Endpoint) (rmw trace.Address, depth uint64, err error) {
	impl, err := r.pointer(handle + trace.Address(layout.Impl))
	if err != nil {
		return 0, 0, err
	}
	rmw, err = r.pointer(impl + trace.Address(layout.RMWHandle))
	if err != nil {
		return 0, 0, err
	}
	depth, err = r.word(impl + trace.Address(layout.Depth))
	if err != nil {
		return 0, 0, err
	}
	if depth > maxDepth {
		return 0, 0, fmt.Errorf("%d is no queue depth: %w", depth, errImplausible)
	}
	return rmw, depth, nil
}

// identifierAt reads the name of an rmw object's implementation.
func (r reader) identifierAt(rmw trace.Address) (string, error) {
	layout, err := r.readable()
	if err != nil {
		return "", err
	}
	return r.namePointer(rmw+trace.Address(layout.RMWIdentifier), isIdentifier)
}

// rmwNameAt reads a name of an rmw object, which has the identifier of its implementation.
func (r reader) rmwNameAt(rmw trace.Address, offset uint64, valid func(string) bool) (string, error) {
	if _, err := r.identifierAt(rmw); err != nil {
		return "", fmt.Errorf("no rmw object: %w", err)
	}
	return r.namePointer(rmw+trace.Address(offset), valid)
}

// rmwTopicAt reads the name of the topic or service of an rmw object.
func (r reader) rmwTopicAt(rmw trace.Address, offset func(layouts.RMWTopicName) uint64) (string, error) {
	layout, err := r.readable()
	if err != nil {
		return "", err
	}
	return r.rmwNameAt(rmw, offset(layout.RMWTopicName), isRMWTopic)
}

// intraProcess is what an intra-process object says of its buffer.
type intraProcess struct {
	ipb, ring trace.Address
	capacity  uint64
}

// intraProcessAt reads the buffer and the ring buffer of a subscription's intra-process object, as
// rclcpp_ring_buffer_dequeue names it.
func (r reader) intraProcessAt(object trace.Address) (intraProcess, error) {
	layout, err := r.readable()
	if err != nil {
		return intraProcess{}, err
	}
	ipb, err := r.pointer(object + trace.Address(layout.SubscriptionIntraProcess.Buffer))
	if err != nil {
		return intraProcess{}, err
	}
	ring, err := r.pointer(ipb + trace.Address(layout.SubscriptionIntraProcess.Ring))
	if err != nil {
		return intraProcess{}, err
	}
	name, err := r.className(ring)
	if err != nil {
		return intraProcess{}, err
	}
	if !strings.HasPrefix(name, layouts.RingBufferTypeName) {
		return intraProcess{}, fmt.Errorf("%v is no ring buffer: %w", ring, errImplausible)
	}
	capacity, err := r.word(ring + trace.Address(layout.SubscriptionIntraProcess.Capacity))
	if err != nil {
		return intraProcess{}, err
	}
	if capacity == 0 || capacity > maxDepth {
		return intraProcess{}, fmt.Errorf("%d is no capacity: %w", capacity, errImplausible)
	}
	return intraProcess{ipb: ipb, ring: ring, capacity: capacity}, nil
}

// ownerOf returns the only object of a class that a callback can be a member of, and the mangled name of its very
// class.
func (r reader) ownerOf(callback trace.Address, owner layouts.Owner) (object trace.Address, typeName string, ok bool) {
	for _, possible := range r.possibleOwners(callback, owner) {
		name, err := r.className(possible)
		if err != nil || !owner.Matches(name) || !r.mayKeep(possible, callback, owner, name) {
			continue
		}
		if ok {
			return 0, "", false
		}
		object, typeName, ok = possible, name, true
	}
	return object, typeName, ok
}
