package trace

// Provenance says how an entity became known.
type Provenance string

const (
	// FromTracepoint: its init event was recorded.
	FromTracepoint Provenance = "tracepoint"
	// FromMemory: it was found in the memory of the process when the recorder attached.
	FromMemory Provenance = "memory"
	// FromObservation: it was concluded from what ran.
	FromObservation Provenance = "observation"
	// FromSymbol: another function of a stock library shows it.
	FromSymbol Provenance = "symbol"
	// Derived: it was concluded from other events of the same thread.
	Derived Provenance = "derived"
)

// Telling says whose row one is and which of an entity's rows counts. A recorder writes a row as soon as an entity is
// known, and another one when it becomes better known or ends: a dataset whose recorder was killed, or still runs, has
// them all. Scan passes on the one that counts.
type Telling struct {
	// Entity numbers the entities of a recording: all rows of one have its number. 0 in datasets of recorders that gave
	// none.
	Entity uint64 `column:"entity,null" json:"-"`
	// Revision numbers the rows: of an entity's rows the one with the greatest counts. 0 as for Entity.
	Revision uint64 `column:"revision,null" json:"-"`
}

// IsNumbered reports whether the recorder gave numbers: then Scan passes on one row of each entity.
func (t *Telling) IsNumbered() bool { return t.Entity != 0 }

// Stamp gives the row its numbers.
func (t *Telling) Stamp(entity, revision uint64) { t.Entity, t.Revision = entity, revision }

// Node is a ROS 2 node (rcl_node_init).
type Node struct {
	ProcessKey
	NodeHandle Address `column:"node_handle"`
	RMWHandle  Address `column:"rmw_handle,null"`
	// NodeName is the base name, Namespace begins with a slash.
	NodeName  string `column:"node_name,null"`
	Namespace string `column:"namespace,null"`
	// InitTimestamp is null unless the provenance is tracepoint. The same holds for every entity.
	InitTimestamp Optional[int64] `column:"init_timestamp,hit=rcl_node_init"`
	Provenance    Provenance      `column:"provenance"`
	// EndTimestamp is when the entity was destroyed, or its address given to another one; null while it lives. The same
	// holds for every entity.
	EndTimestamp Optional[int64] `column:"end_timestamp"`
	Telling
}

// Publisher is an rcl publisher (rcl_publisher_init).
type Publisher struct {
	ProcessKey
	PublisherHandle    Address          `column:"publisher_handle"`
	NodeHandle         Address          `column:"node_handle,null"`
	RMWPublisherHandle Address          `column:"rmw_publisher_handle,null"`
	TopicName          string           `column:"topic_name,null"`
	QueueDepth         Optional[uint64] `column:"queue_depth"`
	NodeName           string           `column:"node_name,null"`
	InitTimestamp      Optional[int64]  `column:"init_timestamp,hit=rcl_publisher_init"`
	Provenance         Provenance       `column:"provenance"`
	// MessageType is the ROS name of the type ("std_msgs/msg/String").
	MessageType string `column:"message_type,null"`
	// GID is the publisher's gid, in hexadecimal; takes name it as publisher_gid.
	GID          string          `column:"gid,null"`
	EndTimestamp Optional[int64] `column:"end_timestamp"`
	Telling
}

// Subscription is one pair of an rcl subscription and an rclcpp object that serves it (rcl_subscription_init,
// rclcpp_subscription_init, rclcpp_subscription_callback_added). With intra-process communication an rcl subscription
// has two such objects, hence two rows.
type Subscription struct {
	ProcessKey
	// SubscriptionHandle is the rcl subscription.
	SubscriptionHandle    Address          `column:"subscription_handle,null"`
	NodeHandle            Address          `column:"node_handle,null"`
	RMWSubscriptionHandle Address          `column:"rmw_subscription_handle,null"`
	TopicName             string           `column:"topic_name,null"`
	QueueDepth            Optional[uint64] `column:"queue_depth"`
	// Subscription is the rclcpp object (rclcpp::Subscription or rclcpp::experimental::SubscriptionIntraProcess).
	Subscription Address `column:"subscription,null"`
	// Callback is the address that callback_start passes for it.
	Callback Address `column:"callback,null"`
	// IsIntraProcess is true for the intra-process object; null where unknown.
	IsIntraProcess Optional[bool] `column:"is_intra_process"`
	// Buffer is the intra-process object's ring buffer.
	Buffer        Address         `column:"buffer,null"`
	NodeName      string          `column:"node_name,null"`
	InitTimestamp Optional[int64] `column:"init_timestamp,hit=rclcpp_subscription_init"`
	Provenance    Provenance      `column:"provenance"`
	// MessageType is the ROS name of the type ("std_msgs/msg/String").
	MessageType string `column:"message_type,null"`
	// IPB is the intra-process object's buffer object, which holds the ring buffer (rclcpp_ipb_to_subscription,
	// rclcpp_buffer_to_ipb); Capacity is the ring buffer's (rclcpp_construct_ring_buffer).
	IPB      Address          `column:"ipb,null"`
	Capacity Optional[uint64] `column:"capacity"`
	// CallbackGroup is the rclcpp::CallbackGroup that the subscription is in (callback_group_add_subscription).
	CallbackGroup Address         `column:"callback_group,null"`
	EndTimestamp  Optional[int64] `column:"end_timestamp"`
	Telling
}

// Timer is an rcl timer (rcl_timer_init, rclcpp_timer_callback_added, rclcpp_timer_link_node).
type Timer struct {
	ProcessKey
	TimerHandle Address `column:"timer_handle"`
	// Period is in nanoseconds.
	Period        Optional[int64] `column:"period,dict"`
	NodeHandle    Address         `column:"node_handle,null"`
	NodeName      string          `column:"node_name,null"`
	Callback      Address         `column:"callback,null"`
	InitTimestamp Optional[int64] `column:"init_timestamp,hit=rcl_timer_init"`
	Provenance    Provenance      `column:"provenance"`
	// CallbackGroup is the rclcpp::CallbackGroup that the timer is in (callback_group_add_timer).
	CallbackGroup Address         `column:"callback_group,null"`
	EndTimestamp  Optional[int64] `column:"end_timestamp"`
	Telling
}

// ServiceServer is an rcl service (rcl_service_init, rclcpp_service_callback_added).
type ServiceServer struct {
	ProcessKey
	ServiceHandle    Address `column:"service_handle"`
	NodeHandle       Address `column:"node_handle,null"`
	RMWServiceHandle Address `column:"rmw_service_handle,null"`
	ServiceName      string  `column:"service_name,null"`
	// ServiceType is the ROS name of the type ("std_srvs/srv/Trigger").
	ServiceType string  `column:"service_type,null"`
	Callback    Address `column:"callback,null"`
	// CallbackGroup is the rclcpp::CallbackGroup that the service is in (callback_group_add_service).
	CallbackGroup Address         `column:"callback_group,null"`
	NodeName      string          `column:"node_name,null"`
	InitTimestamp Optional[int64] `column:"init_timestamp,hit=rcl_service_init"`
	Provenance    Provenance      `column:"provenance"`
	EndTimestamp  Optional[int64] `column:"end_timestamp"`
	Telling
}

// Client is an rcl client (rcl_client_init).
type Client struct {
	ProcessKey
	ClientHandle    Address `column:"client_handle"`
	NodeHandle      Address `column:"node_handle,null"`
	RMWClientHandle Address `column:"rmw_client_handle,null"`
	ServiceName     string  `column:"service_name,null"`
	// ServiceType is the ROS name of the type ("std_srvs/srv/Trigger").
	ServiceType string `column:"service_type,null"`
	// GID is what servers know the client by, in hexadecimal (service.client_gid).
	GID string `column:"gid,null"`
	// CallbackGroup is the rclcpp::CallbackGroup that the client is in (callback_group_add_client).
	CallbackGroup Address         `column:"callback_group,null"`
	NodeName      string          `column:"node_name,null"`
	InitTimestamp Optional[int64] `column:"init_timestamp,hit=rcl_client_init"`
	Provenance    Provenance      `column:"provenance"`
	EndTimestamp  Optional[int64] `column:"end_timestamp"`
	Telling
}

// CallbackGroupType says whether callbacks of a group may run at the same time.
type CallbackGroupType string

// The types of callback groups, as CARET writes them.
const (
	MutuallyExclusive CallbackGroupType = "mutually_exclusive"
	Reentrant         CallbackGroupType = "reentrant"
)

// CallbackGroup is an rclcpp::CallbackGroup (add_callback_group, callback_group_to_executor_entity_collector).
type CallbackGroup struct {
	ProcessKey
	CallbackGroup Address `column:"callback_group"`
	// GroupTypeName is null where it could not be read.
	GroupTypeName CallbackGroupType `column:"group_type_name,null"`
	NodeHandle    Address           `column:"node_handle,null"`
	NodeName      string            `column:"node_name,null"`
	// Executor is the executor that runs the group; null while none does.
	Executor Address `column:"executor,null"`
	// InitTimestamp is when the group was seen to be added to its executor.
	InitTimestamp Optional[int64] `column:"init_timestamp,hit=add_callback_group"`
	Provenance    Provenance      `column:"provenance"`
	EndTimestamp  Optional[int64] `column:"end_timestamp"`
	Telling
}

// Executor is an rclcpp::Executor (construct_executor, construct_static_executor).
type Executor struct {
	ProcessKey
	Executor Address `column:"executor"`
	// ExecutorType is CARET's name of the type (single_threaded_executor, multi_threaded_executor,
	// static_single_threaded_executor, events_executor), the demangled class name for any other.
	ExecutorType string `column:"executor_type,null"`
	// EntitiesCollector is the object that collects the executor's entities, where it has one.
	EntitiesCollector Address `column:"entities_collector,null"`
	// ThreadCount is the number of threads that a multi-threaded executor was made with.
	ThreadCount   Optional[uint64] `column:"thread_count"`
	InitTimestamp Optional[int64]  `column:"init_timestamp,hit=construct_executor"`
	Provenance    Provenance       `column:"provenance"`
	EndTimestamp  Optional[int64]  `column:"end_timestamp"`
	Telling
}

// Context is an rcl context (rcl_init).
type Context struct {
	ProcessKey
	ContextHandle Address         `column:"context_handle"`
	InitTimestamp Optional[int64] `column:"init_timestamp"`
	Provenance    Provenance      `column:"provenance"`
	EndTimestamp  Optional[int64] `column:"end_timestamp"`
	Telling
}

// LifecycleStateMachine is that of a managed node (rcl_lifecycle_state_machine_init).
type LifecycleStateMachine struct {
	ProcessKey
	StateMachine  Address         `column:"state_machine"`
	NodeHandle    Address         `column:"node_handle,null"`
	NodeName      string          `column:"node_name,null"`
	InitTimestamp Optional[int64] `column:"init_timestamp"`
	Provenance    Provenance      `column:"provenance"`
	EndTimestamp  Optional[int64] `column:"end_timestamp"`
	Telling
}

// CallbackInfo is what is known of a callback address: what it belongs to and which function it runs
// (rclcpp_callback_register).
type CallbackInfo struct {
	ProcessKey
	Callback Address      `column:"callback"`
	Kind     CallbackKind `column:"kind,null"`
	// Symbol is the demangled name of the function.
	Symbol string `column:"symbol,null"`
	// OwnerHandle is the rcl subscription, timer or service.
	OwnerHandle Address `column:"owner_handle,null"`
	// TopicName is the subscription's topic or the service's name.
	TopicName string `column:"topic_name,null"`
	NodeName  string `column:"node_name,null"`
	// Period is the timer's, in nanoseconds.
	Period        Optional[int64] `column:"period,dict"`
	InitTimestamp Optional[int64] `column:"init_timestamp"`
	Provenance    Provenance      `column:"provenance"`
	// CallbackGroup is its owner's.
	CallbackGroup Address         `column:"callback_group,null"`
	EndTimestamp  Optional[int64] `column:"end_timestamp"`
	Telling
}

// Process is one traced process.
type Process struct {
	ProcessKey
	// NamespacePID is the PID in the innermost PID namespace of the process.
	NamespacePID Optional[int32] `column:"namespace_pid" json:"namespace_pid"`
	// Command is /proc/PID/comm, CommandLine its arguments joined by spaces.
	Command     string `column:"command,null" json:"command"`
	Executable  string `column:"executable,null" json:"executable"`
	CommandLine string `column:"command_line,null" json:"command_line"`
	// Distro is the ROS 2 distribution, in lower case ("humble").
	Distro            string `column:"distro,null" json:"distro"`
	RMWImplementation string `column:"rmw_implementation,null" json:"rmw_implementation"`
	// RecordingStartTimestamp and RecordingEndTimestamp bound the time in which the process was observed.
	RecordingStartTimestamp Optional[int64] `column:"recording_start_timestamp" json:"recording_start_timestamp"`
	RecordingEndTimestamp   Optional[int64] `column:"recording_end_timestamp" json:"recording_end_timestamp"`
	// Exited says that the process ended during the recording.
	Exited bool `column:"exited" json:"exited"`
	// Revision is as in Telling. What tells processes apart is their key.
	Revision uint64 `column:"revision,null" json:"-"`
}
