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
)

// Node is a ROS 2 node (rcl_node_init).
type Node struct {
	ProcessKey
	NodeHandle Address `column:"node_handle"`
	RMWHandle  Address `column:"rmw_handle,null"`
	// NodeName is the base name, Namespace begins with a slash.
	NodeName  string `column:"node_name,null"`
	Namespace string `column:"namespace,null"`
	// InitTimestamp is null unless the provenance is tracepoint. The same holds for every entity.
	InitTimestamp Optional[int64] `column:"init_timestamp"`
	Provenance    Provenance      `column:"provenance"`
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
	InitTimestamp      Optional[int64]  `column:"init_timestamp"`
	Provenance         Provenance       `column:"provenance"`
}

// Subscription is one pair of an rcl subscription and an rclcpp object that serves it (rcl_subscription_init,
// rclcpp_subscription_init, rclcpp_subscription_callback_added). With intra-process communication an rcl subscription has
// two such objects, hence two rows.
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
	InitTimestamp Optional[int64] `column:"init_timestamp"`
	Provenance    Provenance      `column:"provenance"`
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
	InitTimestamp Optional[int64] `column:"init_timestamp"`
	Provenance    Provenance      `column:"provenance"`
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
}
