package layouts

// The members of rclcpp's classes. Where a member is a shared_ptr, a unique_ptr or a weak_ptr, its offset is that of
// the pointer.

// Context holds members of rclcpp::Context.
type Context struct {
	RCLContext uint64 // rcl_context_, to an rcl_context_t
}

// NodeBase holds members of rclcpp::node_interfaces::NodeBase.
type NodeBase struct {
	NodeHandle           uint64 // node_handle_, to an rcl_node_t
	DefaultCallbackGroup uint64 // default_callback_group_
	CallbackGroups       uint64 // callback_groups_, a vector of weak_ptr
}

// CallbackGroup holds members of rclcpp::CallbackGroup, which has no virtual functions, hence no run-time type
// information.
type CallbackGroup struct {
	Type          uint64 // type_, an int32: 0 is mutually exclusive, 1 reentrant
	Subscriptions uint64 // subscription_ptrs_, like the following a vector of weak_ptr
	Timers        uint64 // timer_ptrs_
	Services      uint64 // service_ptrs_
	Clients       uint64 // client_ptrs_
	Waitables     uint64 // waitable_ptrs_
}

// PublisherBase holds members of rclcpp::PublisherBase.
type PublisherBase struct {
	NodeHandle      uint64 // rcl_node_handle_, to an rcl_node_t
	PublisherHandle uint64 // publisher_handle_, to an rcl_publisher_t
	TypeSupport     uint64 // type_support_, a rosidl_message_type_support_t
}

// SubscriptionBase holds members of rclcpp::SubscriptionBase.
type SubscriptionBase struct {
	NodeHandle         uint64 // node_handle_, to an rcl_node_t
	SubscriptionHandle uint64 // subscription_handle_, to an rcl_subscription_t
	IntraProcess       uint64 // subscription_intra_process_, null without intra-process communication
	TypeSupport        uint64 // type_support_, a rosidl_message_type_support_t
}

// SubscriptionIntraProcess holds members of the bases of rclcpp::experimental::SubscriptionIntraProcess and leads to
// its ring buffer.
type SubscriptionIntraProcess struct {
	GuardCondition uint64 // SubscriptionIntraProcessBase.gc_, a GuardCondition
	TopicName      uint64 // SubscriptionIntraProcessBase.topic_name_, a std::string
	Buffer         uint64 // SubscriptionIntraProcessBuffer.buffer_, to a TypedIntraProcessBuffer
	Ring           uint64 // TypedIntraProcessBuffer.buffer_, to a RingBufferImplementation
	Capacity       uint64 // RingBufferImplementation.capacity_, a size_t
}

// AnyExecutable holds members of rclcpp::AnyExecutable, which an executor is given to execute.
type AnyExecutable struct {
	Waitable uint64 // waitable
	Data     uint64 // data, what was taken
}

// RingBufferTypeName is the beginning of the mangled class name of every intra-process ring buffer.
const RingBufferTypeName = "N6rclcpp12experimental7buffers24RingBufferImplementationI"

// TimerBase holds members of rclcpp::TimerBase.
type TimerBase struct {
	TimerHandle uint64 // timer_handle_, to an rcl_timer_t
	// End is the end of its last member: that of a derived class begins there or, as its alignment demands, later. sizeof
	// counts more.
	End uint64
}

// ServiceBase holds members of rclcpp::ServiceBase.
type ServiceBase struct {
	NodeHandle    uint64 // node_handle_, to an rcl_node_t
	ServiceHandle uint64 // service_handle_, to an rcl_service_t
}

// ClientBase holds members of rclcpp::ClientBase.
type ClientBase struct {
	NodeHandle   uint64 // node_handle_, to an rcl_node_t
	ClientHandle uint64 // client_handle_, to an rcl_client_t
}

// Executor leads from an rclcpp::Executor to its callback groups. Up to Iron it keeps them itself; later ones, and
// Iron's EventsExecutor, have a collector for that. A member that the distribution does not have is 0.
type Executor struct {
	Context uint64 // context_, to the rclcpp::Context
	Groups  uint64 // weak_groups_to_nodes_, a map from weak_ptr
	// Collector is collector_, an ExecutorEntitiesCollector inside the executor.
	Collector uint64
	Threads   uint64 // MultiThreadedExecutor.number_of_threads_, a size_t
	// StaticCollector is StaticSingleThreadedExecutor.entities_collector_, to a StaticExecutorEntitiesCollector, whose
	// StaticCollectorGroups are maps from weak_ptr.
	StaticCollector       uint64
	StaticCollectorGroups [2]uint64
	// EventsCollector is EventsExecutor.entities_collector_, to an ExecutorEntitiesCollector.
	EventsCollector uint64
	// CollectorGroups are the sets of weak_ptr of an ExecutorEntitiesCollector: groups added by hand, groups added with
	// their node, and groups that will be added when the executor spins next.
	CollectorGroups [3]uint64
}

// GID leads to the gids by which others know publishers and clients. Each implementation of rmw keeps them elsewhere.
type GID struct {
	PublisherData    uint64 // rmw_publisher_t.data, to a CustomPublisherInfo (Fast DDS) or a CddsPublisher (Cyclone DDS)
	ClientData       uint64 // rmw_client_t.data, to a CustomClientInfo (Fast DDS) or a CddsClient (Cyclone DDS)
	FastDDSPublisher uint64 // CustomPublisherInfo.publisher_gid, an rmw_gid_t
	FastDDSClient    uint64 // CustomClientInfo.writer_guid_, 16 bytes, followed by reader_guid_
	CyclonePublisher uint64 // CddsPublisher.gid, an rmw_gid_t
	// CycloneClient is CddsClient.client.pub, to the CddsPublisher of its requests, and CycloneHandle
	// CddsPublisher.pubiid, by whose 8 bytes servers know the client.
	CycloneClient    uint64
	CycloneHandle    uint64
	AnyPublisherBase uint64 // PublisherBase.rmw_gid_, an rmw_gid_t, for any other implementation
}

// StateMachine holds members of the communication interface of an rcl_lifecycle_state_machine_t.
type StateMachine struct {
	TransitionEvent uint64 // pub_transition_event, an rcl_publisher_t
	ChangeState     uint64 // srv_change_state, an rcl_service_t of which the node's rclcpp::Service has a copy
}

// RosoutEntry holds the members of the values of rcl's map of loggers.
type RosoutEntry struct {
	Node      uint64 // a pointer to an rcl_node_t
	Publisher uint64 // an rcl_publisher_t, not a pointer to one
}
