// Package layouts knows where the members of rcl's, rmw's and rclcpp's objects lie, per ROS 2 distribution and
// architecture.
//
// The offsets are data: offsets.csv holds them, versions.csv the package releases whose headers they were computed
// from. They are compiler output, not guesses, but a workspace may carry another build: what accessor functions of its
// libraries prove (accessors.csv) goes before the data, and whoever follows the offsets checks what is found.
package layouts

import (
	"debug/elf"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrUnknown says that there is no layout for the distribution or the architecture asked for.
var ErrUnknown = errors.New("no layout known")

//go:embed offsets.csv
var offsetsCSV string

//go:embed versions.csv
var versionsCSV string

// Layout holds the byte offsets of the members that caret-bpf follows, for one distribution and architecture.
type Layout struct {
	Distro  string
	Machine elf.Machine
	// Differences are the members that accessor functions prove to lie elsewhere than in the releases that are known. What
	// lies beside them in the same structure, and has no accessor, may have moved, too.
	Differences []Difference

	Node         Node
	Publisher    Endpoint
	Subscription Endpoint
	Service      Service
	Client       Client
	Timer        Timer
	RMWNode      RMWNode
	// RMWIdentifier is that of implementation_identifier, a char pointer, in every rmw object.
	RMWIdentifier     uint64
	RMWTopicName      RMWTopicName
	MessageInfo       MessageInfo
	SerializedMessage SerializedMessage
	GID               GID
	StateMachine      StateMachine
	RosoutEntry       RosoutEntry

	Context                  Context
	NodeBase                 NodeBase
	CallbackGroup            CallbackGroup
	PublisherBase            PublisherBase
	SubscriptionBase         SubscriptionBase
	SubscriptionIntraProcess SubscriptionIntraProcess
	TimerBase                TimerBase
	ServiceBase              ServiceBase
	ClientBase               ClientBase
	Executor                 Executor
	AnyExecutable            AnyExecutable

	// Owners lists what a callback address may be a member of.
	Owners []Owner
}

// Node leads from an rcl_node_t to its rmw_node_t.
type Node struct {
	Impl      uint64 // rcl_node_t.impl
	RMWHandle uint64 // rcl_node_impl_t.rmw_node_handle
}

// Endpoint leads from an rcl_publisher_t or rcl_subscription_t to its rmw object and to the queue depth in force.
type Endpoint struct {
	Impl      uint64 // rcl_*_t.impl
	RMWHandle uint64 // rcl_*_impl_t.rmw_handle
	Depth     uint64 // rcl_*_impl_t.actual_qos.depth, a size_t
}

// Service leads from an rcl_service_t to its rmw_service_t.
type Service struct {
	Impl      uint64 // rcl_service_t.impl
	RMWHandle uint64 // rcl_service_impl_t.rmw_handle
}

// Client leads from an rcl_client_t to its rmw_client_t.
type Client struct {
	Impl      uint64 // rcl_client_t.impl
	RMWHandle uint64 // rcl_client_impl_t.rmw_handle
}

// Timer leads from an rcl_timer_t to its period.
type Timer struct {
	Impl    uint64 // rcl_timer_t.impl
	Context uint64 // rcl_timer_impl_t.context, a pointer that no timer lacks
	Period  uint64 // rcl_timer_impl_t.period, int64 nanoseconds
}

// RMWNode holds the strings of an rmw_node_t.
type RMWNode struct {
	Name      uint64 // rmw_node_t.name, a char pointer
	Namespace uint64 // rmw_node_t.namespace_, a char pointer
}

// RMWTopicName holds the topic or service name of each kind of rmw object, a char pointer.
type RMWTopicName struct {
	Publisher    uint64 // rmw_publisher_t.topic_name
	Subscription uint64 // rmw_subscription_t.topic_name
	Service      uint64 // rmw_service_t.service_name
	Client       uint64 // rmw_client_t.service_name
}

// MessageInfo holds members of rmw_message_info_t, which whoever takes a message has filled.
type MessageInfo struct {
	SourceTimestamp uint64 // source_timestamp, int64 nanoseconds
	PublisherGID    uint64 // publisher_gid.data
}

// SerializedMessage holds members of rcl_serialized_message_t, which is an rcutils_uint8_array_t.
type SerializedMessage struct {
	Buffer uint64 // buffer, to its bytes
}

// OwnerKind says which rclcpp class a callback is a member of.
type OwnerKind uint8

// The classes whose callbacks rclcpp traces with callback_start.
const (
	OwnerSubscription OwnerKind = iota + 1
	OwnerSubscriptionIntraProcess
	OwnerTimer
	OwnerService
)

// Owner describes one class that a callback address given to callback_start may be a member of.
type Owner struct {
	Kind OwnerKind
	// Callback is the offset of the callback in the object. That of a timer has it only if its functor is aligned as a
	// pointer is: TimerBase.End.
	Callback uint64
	// TypeNames are the mangled class names, as type_info holds them, that the object may have; one ending in I is a
	// prefix that template arguments follow, any other is the whole name.
	TypeNames []string
}

// CallbackOf returns where objects of a class that owns callbacks have theirs.
func (l *Layout) CallbackOf(kind OwnerKind) uint64 {
	for _, owner := range l.Owners {
		if owner.Kind == kind {
			return owner.Callback
		}
	}
	return 0
}

// Matches reports whether an object whose type_info holds the mangled name typeName is such an owner.
func (o Owner) Matches(typeName string) bool {
	for _, name := range o.TypeNames {
		if typeName == name || strings.HasSuffix(name, "I") && strings.HasPrefix(typeName, name) {
			return true
		}
	}
	return false
}

// Version returns the release of a package (rcl, rclcpp, rmw) that the layouts of a distribution were read from, "" if
// unknown.
func Version(distro, packageName string) string {
	versions, err := parseTable(versionsCSV, 1)
	if err != nil {
		return ""
	}
	return versions[column{distro, packageName}]
}

// For returns the layout of a distribution ("humble", "jazzy", ...) on an architecture (EM_X86_64 or EM_AARCH64).
// What was learned from the libraries at hand goes before what is known of the distribution; it may be nil. The error
// wraps ErrUnknown when there is no layout.
func For(distro string, machine elf.Machine, learned Learned) (*Layout, error) {
	var suffix string
	switch machine {
	case elf.EM_X86_64:
		suffix = "_amd64"
	case elf.EM_AARCH64:
		suffix = "_arm64"
	default:
		return nil, fmt.Errorf("architecture %v: %w", machine, ErrUnknown)
	}
	cells, err := parseTable(offsetsCSV, 2)
	if err != nil {
		return nil, fmt.Errorf("read the layout table: %w", err)
	}
	reader := offsetReader{cells: cells, column: distro + suffix, learned: learned}
	layout := reader.layout()
	if reader.missing != "" {
		return nil, fmt.Errorf("distribution %q (%s): %w", distro, reader.missing, ErrUnknown)
	}
	layout.Distro, layout.Machine, layout.Differences = distro, machine, reader.differences()
	return layout, nil
}

// column addresses a cell of a table: its column's header and its row's key.
type column struct{ header, row string }

// parseTable reads a CSV table whose rows are named by their first keys columns, joined with a dot.
func parseTable(text string, keys int) (map[column]string, error) {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	cells := make(map[column]string)
	for _, record := range records[1:] {
		row := strings.Join(record[:keys], ".")
		for i := keys; i < len(record); i++ {
			cells[column{records[0][i], row}] = record[i]
		}
	}
	return cells, nil
}

// offsetReader reads the cells of one column and remembers the first that is absent.
type offsetReader struct {
	cells   map[column]string
	column  string
	learned Learned
	missing string
}

func (r *offsetReader) at(member string) uint64 {
	offset, err := strconv.ParseUint(r.cells[column{r.column, member}], 10, 32)
	if err != nil && r.missing == "" {
		r.missing = member
	}
	if learned, known := r.learned[member]; known {
		return learned
	}
	return offset
}

// Sizes in bytes, of a shared_ptr and an atomic_bool.
const (
	sharedPointerSize = 16
	atomicBoolSize    = 1
)

// absent stands in the table for a member that a distribution does not have.
const absent = "-"

// optional is 0 for a member that the distribution does not have. None of those members is the first of its structure.
func (r *offsetReader) optional(member string) uint64 {
	if r.cells[column{r.column, member}] == absent {
		return 0
	}
	return r.at(member)
}

func (r *offsetReader) layout() *Layout {
	return &Layout{
		Node: Node{Impl: r.at("rcl_node_s.impl"), RMWHandle: r.at("rcl_node_impl_s.rmw_node_handle")},
		Publisher: Endpoint{
			Impl:      r.at("rcl_publisher_s.impl"),
			RMWHandle: r.at("rcl_publisher_impl_s.rmw_handle"),
			Depth:     r.at("rcl_publisher_impl_s.actual_qos.depth"),
		},
		Subscription: Endpoint{
			Impl:      r.at("rcl_subscription_s.impl"),
			RMWHandle: r.at("rcl_subscription_impl_s.rmw_handle"),
			Depth:     r.at("rcl_subscription_impl_s.actual_qos.depth"),
		},
		Service:       Service{Impl: r.at("rcl_service_s.impl"), RMWHandle: r.at("rcl_service_impl_s.rmw_handle")},
		Client:        Client{Impl: r.at("rcl_client_s.impl"), RMWHandle: r.at("rcl_client_impl_s.rmw_handle")},
		Timer:         Timer{Impl: r.at("rcl_timer_s.impl"), Context: r.at("rcl_timer_impl_s.context"), Period: r.at("rcl_timer_impl_s.period")},
		RMWNode:       RMWNode{Name: r.at("rmw_node_s.name"), Namespace: r.at("rmw_node_s.namespace_")},
		RMWIdentifier: r.at("rmw_publisher_s.implementation_identifier"),
		RMWTopicName: RMWTopicName{
			Publisher:    r.at("rmw_publisher_s.topic_name"),
			Subscription: r.at("rmw_subscription_s.topic_name"),
			Service:      r.at("rmw_service_s.service_name"),
			Client:       r.at("rmw_client_s.service_name"),
		},
		MessageInfo: MessageInfo{
			SourceTimestamp: r.at("rmw_message_info_s.source_timestamp"),
			PublisherGID:    r.at("rmw_message_info_s.publisher_gid.data"),
		},
		SerializedMessage: SerializedMessage{Buffer: r.at("rcutils_uint8_array_s.buffer")},
		GID: GID{
			PublisherData:    r.at("rmw_publisher_s.data"),
			ClientData:       r.at("rmw_client_s.data"),
			FastDDSPublisher: r.at("CustomPublisherInfo.publisher_gid"),
			FastDDSClient:    r.at("CustomClientInfo.writer_guid_"),
			CyclonePublisher: r.at("CddsPublisher.gid"),
			CycloneClient:    r.at("CddsCS.pub"),
			CycloneHandle:    r.at("CddsPublisher.pubiid"),
			AnyPublisherBase: r.at("PublisherBase.rmw_gid_"),
		},
		StateMachine: StateMachine{
			TransitionEvent: r.at("rcl_lifecycle_state_machine_s.com_interface.pub_transition_event"),
			ChangeState:     r.at("rcl_lifecycle_state_machine_s.com_interface.srv_change_state"),
		},
		RosoutEntry: RosoutEntry{Node: r.at("rosout_map_entry_t.node"), Publisher: r.at("rosout_map_entry_t.publisher")},
		Context:     Context{RCLContext: r.at("Context.rcl_context_")},
		NodeBase: NodeBase{
			NodeHandle:           r.at("NodeBase.node_handle_"),
			DefaultCallbackGroup: r.at("NodeBase.default_callback_group_"),
			CallbackGroups:       r.at("NodeBase.callback_groups_"),
		},
		CallbackGroup: CallbackGroup{
			Type:          r.at("CallbackGroup.type_"),
			Subscriptions: r.at("CallbackGroup.subscription_ptrs_"),
			Timers:        r.at("CallbackGroup.timer_ptrs_"),
			Services:      r.at("CallbackGroup.service_ptrs_"),
			Clients:       r.at("CallbackGroup.client_ptrs_"),
			Waitables:     r.at("CallbackGroup.waitable_ptrs_"),
		},
		PublisherBase: PublisherBase{
			NodeHandle:      r.at("PublisherBase.rcl_node_handle_"),
			PublisherHandle: r.at("PublisherBase.publisher_handle_"),
			TypeSupport:     r.at("PublisherBase.type_support_"),
		},
		SubscriptionBase: SubscriptionBase{
			NodeHandle:         r.at("SubscriptionBase.node_handle_"),
			SubscriptionHandle: r.at("SubscriptionBase.subscription_handle_"),
			IntraProcess:       r.at("SubscriptionBase.subscription_intra_process_"),
			TypeSupport:        r.at("SubscriptionBase.type_support_"),
		},
		SubscriptionIntraProcess: SubscriptionIntraProcess{
			GuardCondition: r.at("SubscriptionIntraProcessBase.gc_"),
			TopicName:      r.at("SubscriptionIntraProcessBase.topic_name_"),
			Buffer:         r.at("SubscriptionIntraProcessBuffer.buffer_"),
			Ring:           r.at("TypedIntraProcessBuffer.buffer_"),
			Capacity:       r.at("RingBufferImplementation.capacity_"),
		},
		TimerBase: TimerBase{
			TimerHandle: r.at("TimerBase.timer_handle_"),
			End:         r.at("TimerBase.timer_handle_") + sharedPointerSize + atomicBoolSize, // in_use_by_wait_set_ follows
		},
		ServiceBase: ServiceBase{
			NodeHandle:    r.at("ServiceBase.node_handle_"),
			ServiceHandle: r.at("ServiceBase.service_handle_"),
		},
		ClientBase: ClientBase{
			NodeHandle:   r.at("ClientBase.node_handle_"),
			ClientHandle: r.at("ClientBase.client_handle_"),
		},
		Executor: Executor{
			Context:         r.at("Executor.context_"),
			Groups:          r.optional("Executor.weak_groups_to_nodes_"),
			Collector:       r.optional("Executor.collector_"),
			Threads:         r.at("MultiThreadedExecutor.number_of_threads_"),
			StaticCollector: r.optional("StaticSingleThreadedExecutor.entities_collector_"),
			StaticCollectorGroups: [2]uint64{
				r.optional("StaticExecutorEntitiesCollector.weak_groups_associated_with_executor_to_nodes_"),
				r.optional("StaticExecutorEntitiesCollector.weak_groups_to_nodes_associated_with_executor_"),
			},
			EventsCollector: r.optional("EventsExecutor.entities_collector_"),
			CollectorGroups: [3]uint64{
				r.optional("ExecutorEntitiesCollector.manually_added_groups_"),
				r.optional("ExecutorEntitiesCollector.automatically_added_groups_"),
				r.optional("ExecutorEntitiesCollector.pending_manually_added_groups_"),
			},
		},
		AnyExecutable: AnyExecutable{Waitable: r.at("AnyExecutable.waitable"), Data: r.at("AnyExecutable.data")},
		Owners: []Owner{
			{
				Kind: OwnerTimer, Callback: r.at("GenericTimer.callback_"),
				TypeNames: []string{"N6rclcpp9WallTimerI", "N6rclcpp12GenericTimerI"},
			},
			{
				Kind: OwnerSubscription, Callback: r.at("Subscription.any_callback_"),
				TypeNames: []string{"N6rclcpp12SubscriptionI", "N6rclcpp19GenericSubscriptionE"},
			},
			{
				Kind: OwnerSubscriptionIntraProcess, Callback: r.at("SubscriptionIntraProcess.any_callback_"),
				TypeNames: []string{"N6rclcpp12experimental24SubscriptionIntraProcessI"},
			},
			{
				Kind: OwnerService, Callback: r.at("Service.any_callback_"),
				TypeNames: []string{"N6rclcpp7ServiceI", "N6rclcpp14GenericServiceE"},
			},
		},
	}
}
