package trace

// ProcessKey identifies a process. A PID alone does not: it is reused.
type ProcessKey struct {
	// BootID is /proc/sys/kernel/random/boot_id of the machine.
	BootID string `column:"boot_id" json:"boot_id"`
	// PID is the process (thread group) ID in the recorder's PID namespace.
	PID int32 `column:"pid" json:"pid"`
	// ProcessStart is the start of the process in nanoseconds since boot (/proc/PID/stat field 22, to the clock tick).
	ProcessStart int64 `column:"process_start,dict" json:"process_start"`
}

// Process returns the key. Rows embed it, so each tells by this whose it is.
func (k *ProcessKey) Process() *ProcessKey { return k }

// CallbackStatus says how the execution of a callback was closed.
type CallbackStatus string

const (
	// CallbackComplete has both callback_start and callback_end.
	CallbackComplete CallbackStatus = "complete"
	// CallbackUnwound was left by an exception: no callback_end, found by the stack pointer of a later event.
	CallbackUnwound CallbackStatus = "unwound"
	// CallbackStartMissing began before the recording did (or its start was lost): only callback_end is known.
	CallbackStartMissing CallbackStatus = "start_missing"
	// CallbackRecordingEnd was still running when the recording ended.
	CallbackRecordingEnd CallbackStatus = "recording_end"
	// CallbackThreadExit was still open when its thread exited.
	CallbackThreadExit CallbackStatus = "thread_exit"
)

// CallbackKind says what started a callback.
type CallbackKind string

const (
	// KindSubscription is a subscription's callback, fed through the middleware.
	KindSubscription CallbackKind = "subscription"
	// KindIntraProcessSubscription is a subscription's callback, fed through an intra-process buffer.
	KindIntraProcessSubscription CallbackKind = "intra_process_subscription"
	// KindTimer is a timer's callback.
	KindTimer CallbackKind = "timer"
	// KindService is a service's callback.
	KindService CallbackKind = "service"
)

// Callback is one execution of a callback: callback_start and callback_end of a thread merged, with the take or the
// intra-process dequeue that fed it.
type Callback struct {
	ProcessKey
	// TID is the thread in the recorder's PID namespace.
	TID int32 `column:"tid"`
	// CPU on which callback_start was hit, or callback_end where there is no start.
	CPU int32 `column:"cpu"`
	// Callback is the address that the tracepoints pass.
	Callback Address `column:"callback"`
	// CallbackStartTimestamp is null for status start_missing.
	CallbackStartTimestamp Optional[int64] `column:"callback_start_timestamp,hit=callback_start"`
	// CallbackEndTimestamp is null unless the status is complete or start_missing.
	CallbackEndTimestamp Optional[int64] `column:"callback_end_timestamp,hit=callback_end"`
	Status               CallbackStatus  `column:"status"`
	// Depth is the number of callbacks that were running on the thread when this one started: 0 is outermost.
	Depth int32 `column:"depth"`
	// IsIntraProcess is callback_start's argument; null for status start_missing.
	IsIntraProcess Optional[bool] `column:"is_intra_process"`
	// Kind is null where nothing told it.
	Kind CallbackKind `column:"kind,null"`
	// ParentCallback and ParentCallbackStartTimestamp are the callback in which this one ran; null at depth 0.
	ParentCallback               Address         `column:"parent_callback,null"`
	ParentCallbackStartTimestamp Optional[int64] `column:"parent_callback_start_timestamp"`
	// Message is the message of the rmw_take that fed the callback; null where none did.
	Message Address `column:"message,null"`
	// SourceTimestamp is rmw_take's source_timestamp, raw.
	SourceTimestamp Optional[int64] `column:"source_timestamp"`
	// RMWSubscriptionHandle is rmw_take's rmw_subscription_handle.
	RMWSubscriptionHandle Address         `column:"rmw_subscription_handle,null"`
	RMWTakeTimestamp      Optional[int64] `column:"rmw_take_timestamp,after=callback_start_timestamp,hit=rmw_take"`
	// Buffer, DequeueIndex and DequeueSize are the arguments of the rclcpp_ring_buffer_dequeue that fed the callback.
	// DequeueIndex is null if it is not certain that the last enqueue into that slot was of this message.
	Buffer           Address          `column:"buffer,null"`
	DequeueIndex     Optional[uint64] `column:"dequeue_index"`
	DequeueSize      Optional[uint64] `column:"dequeue_size"`
	DequeueTimestamp Optional[int64]  `column:"dequeue_timestamp,after=callback_start_timestamp,hit=rclcpp_ring_buffer_dequeue"`
	// SubscriptionHandle is the rcl subscription that owns the callback; null for other kinds and where unknown.
	SubscriptionHandle Address `column:"subscription_handle,null"`
	TopicName          string  `column:"topic_name,null"`
	// NodeName is fully qualified (namespace included).
	NodeName string `column:"node_name,null"`
	// Period is the timer's, in nanoseconds; null for other kinds.
	Period Optional[int64] `column:"period,dict"`
	// Symbol is the demangled name of the callback's function.
	Symbol string `column:"symbol,null"`
	// PublisherGID is the gid of the publisher of the message, in hexadecimal (rmw_message_info_t.publisher_gid).
	PublisherGID string `column:"publisher_gid,null"`
	// MessageTimestamp is the message's header.stamp, raw; null where its type has no std_msgs/Header or the message was
	// not seen.
	MessageTimestamp Optional[int64] `column:"message_timestamp"`
	// Provenance is derived where the intra-process part was concluded from functions of rclcpp, as on Humble.
	Provenance Provenance `column:"provenance"`
	// Overhead is what the recording's probes are expected to have added between start and end, in nanoseconds; null
	// unless the status is complete.
	Overhead Optional[int64] `column:"overhead,dict"`
	// EndCPU is the CPU at CallbackEndTimestamp, and null where that is. It differs from CPU if the callback was moved and
	// not moved back. For status start_missing the two are the same hit's.
	EndCPU Optional[int32] `column:"end_cpu"`
	// CPUTime, PreemptedTime, BlockedTime and WakeupLatency are the parts of a complete callback's duration, in
	// nanoseconds: its thread ran; it could have run, and did not; it waited for something; it was awake again, and did
	// not run yet. They add up to the duration. Tracepoints: sched_switch and sched_waking. They are null unless they were
	// recorded and no switch or waking of the thread was missed.
	CPUTime       Optional[int64] `column:"cpu_time"`
	PreemptedTime Optional[int64] `column:"preempted_time"`
	BlockedTime   Optional[int64] `column:"blocked_time"`
	WakeupLatency Optional[int64] `column:"wakeup_latency"`
	// Preemptions counts how often the thread lost its CPU while it could run, Migrations how often it came back on
	// another one; null where the times are.
	Preemptions Optional[int32] `column:"preemptions"`
	Migrations  Optional[int32] `column:"migrations"`
}

// Label is what a callback is called where there is room for one word: its topic, else its function, else its kind.
func (c *Callback) Label() string {
	switch {
	case c.TopicName != "":
		return c.TopicName
	case c.Symbol != "":
		return c.Symbol
	}
	return string(c.Kind)
}

// OpenCallback is a callback that had started and not ended when somebody asked that all be written. The row of
// Callback with the same process, thread and start completes it, when it has ended.
type OpenCallback struct {
	ProcessKey
	TID int32 `column:"tid"`
	// CPU on which callback_start was hit.
	CPU                    int32   `column:"cpu"`
	Callback               Address `column:"callback"`
	CallbackStartTimestamp int64   `column:"callback_start_timestamp"`
	// SeenTimestamp is when it was seen to be open.
	SeenTimestamp int64 `column:"seen_timestamp"`
	// The others are those of the row of Callback, as far as they were known then.
	Depth              int32        `column:"depth"`
	Kind               CallbackKind `column:"kind,null"`
	SubscriptionHandle Address      `column:"subscription_handle,null"`
	TopicName          string       `column:"topic_name,null"`
	NodeName           string       `column:"node_name,null"`
	Symbol             string       `column:"symbol,null"`
}

// PublishStatus says how a publish was closed.
type PublishStatus string

const (
	// PublishComplete reached the last layer that the recording observes in its process.
	PublishComplete PublishStatus = "complete"
	// PublishNoLastLayer did not: it failed on the way, or another event of the thread came first.
	PublishNoLastLayer PublishStatus = "no_last_layer"
	// PublishRecordingEnd was under way when the recording ended.
	PublishRecordingEnd PublishStatus = "recording_end"
	// PublishThreadExit was under way when its thread exited.
	PublishThreadExit PublishStatus = "thread_exit"
)

// PublishKind says in which form the message was handed to rcl.
type PublishKind string

const (
	// PublishMessage is a message of its type (rcl_publish).
	PublishMessage PublishKind = "message"
	// PublishSerialized is a serialized one (rcl_publish_serialized_message), as of generic publishers; Message is then
	// the address of the rcl_serialized_message_t.
	PublishSerialized PublishKind = "serialized"
	// PublishLoaned is one that the middleware lent (rcl_publish_loaned_message).
	PublishLoaned PublishKind = "loaned"
)

// Publish is one publish of a message: the layers it passed on its thread, merged.
type Publish struct {
	ProcessKey
	TID int32 `column:"tid"`
	// CPU on which the first layer was hit.
	CPU int32 `column:"cpu"`
	// PublishNumber counts the publishes of the thread in this recording; it joins enqueue.publish_number.
	PublishNumber uint64 `column:"publish_number,delta"`
	// PublisherHandle is the rcl publisher; null where only rmw_publish or the DDS write was seen.
	PublisherHandle Address `column:"publisher_handle,null"`
	// RMWPublisherHandle is rmw_publish's argument (Jazzy and later), else the rcl publisher's as far as known.
	RMWPublisherHandle Address `column:"rmw_publisher_handle,null"`
	// Message is the message that the inter-process layers pass on.
	Message Address `column:"message,null"`
	// RclcppIntraPublishTimestamp is null where the message did not go intra-process.
	RclcppIntraPublishTimestamp Optional[int64] `column:"rclcpp_intra_publish_timestamp,hit=rclcpp_intra_publish"`
	RclcppPublishTimestamp      Optional[int64] `column:"rclcpp_publish_timestamp,hit=rclcpp_publish"`
	RclPublishTimestamp         Optional[int64] `column:"rcl_publish_timestamp,after=rclcpp_publish_timestamp,hit=rcl_publish"`
	// RMWPublishTimestamp is rmw_publish (CARET's dds_write).
	RMWPublishTimestamp Optional[int64] `column:"rmw_publish_timestamp,after=rclcpp_publish_timestamp,hit=dds_write"`
	// SourceTimestamp is the one that the middleware gave the message, raw; a subscription's take has the same.
	SourceTimestamp Optional[int64] `column:"source_timestamp"`
	// DDSBindAddrToStampTimestamp is when the DDS library bound the source timestamp to the message.
	DDSBindAddrToStampTimestamp Optional[int64] `column:"dds_bind_addr_to_stamp_timestamp,after=rclcpp_publish_timestamp,hit=dds_bind_addr_to_stamp"`
	Status                      PublishStatus   `column:"status"`
	// EnqueueCount is the number of enqueues that this publish made; each is a row of enqueue, or counted as lost.
	EnqueueCount uint32 `column:"enqueue_count"`
	// Callback and CallbackStartTimestamp are the innermost callback that the publish happened in; null outside of
	// callbacks.
	Callback               Address         `column:"callback,null"`
	CallbackStartTimestamp Optional[int64] `column:"callback_start_timestamp"`
	// Depth is the number of callbacks that were running on the thread: 0 is outside of callbacks.
	Depth     int32  `column:"depth"`
	TopicName string `column:"topic_name,null"`
	NodeName  string `column:"node_name,null"`
	// IntraMessage is rclcpp_intra_publish's message, which may differ from Message (a copy).
	IntraMessage Address `column:"intra_message,null"`
	// Kind is null where the layers that tell it were not seen.
	Kind PublishKind `column:"kind,null"`
	// MessageTimestamp is the message's header.stamp, raw; null where its type has no std_msgs/Header.
	MessageTimestamp Optional[int64] `column:"message_timestamp"`
	// Provenance is derived where the intra-process part was concluded from functions of rclcpp, as on Humble.
	Provenance Provenance `column:"provenance"`
}

// TakeKind says where a Take took its message from.
type TakeKind string

const (
	// TakeRMW is rmw_take.
	TakeRMW TakeKind = "take"
	// TakeSerialized takes the serialized form (rmw_take_serialized_message_with_info), as generic subscriptions do.
	TakeSerialized TakeKind = "serialized_take"
	// TakeLoaned takes a message that the middleware lends (rmw_take_loaned_message_with_info).
	TakeLoaned TakeKind = "loaned_take"
	// TakeDequeue is rclcpp_ring_buffer_dequeue.
	TakeDequeue TakeKind = "dequeue"
	// TakeIgnored is a take that rclcpp dropped: the subscription gets the message through its intra-process buffer, too.
	// It is not received.
	TakeIgnored TakeKind = "ignored"
	// TakeUnattributed is a take or a dequeue of which it is not known whether a callback got it, a poll, or nobody.
	TakeUnattributed TakeKind = "unattributed"
)

// Take is a message taken that is not known to have fed a callback: polled with Subscription::take() or from an
// intra-process buffer, dropped, or followed by a callback whose owner is unknown.
type Take struct {
	ProcessKey
	TID  int32    `column:"tid"`
	CPU  int32    `column:"cpu"`
	Kind TakeKind `column:"kind"`
	// RMWSubscriptionHandle, Message, SourceTimestamp (raw) and RMWTakeTimestamp are rmw_take's; null for dequeues.
	RMWSubscriptionHandle Address         `column:"rmw_subscription_handle,null"`
	Message               Address         `column:"message,null"`
	SourceTimestamp       Optional[int64] `column:"source_timestamp"`
	RMWTakeTimestamp      Optional[int64] `column:"rmw_take_timestamp,hit=rmw_take"`
	// Buffer, DequeueIndex, DequeueSize and DequeueTimestamp are rclcpp_ring_buffer_dequeue's; null for takes.
	Buffer           Address          `column:"buffer,null"`
	DequeueIndex     Optional[uint64] `column:"dequeue_index"`
	DequeueSize      Optional[uint64] `column:"dequeue_size"`
	DequeueTimestamp Optional[int64]  `column:"dequeue_timestamp,hit=rclcpp_ring_buffer_dequeue"`
	// Callback and CallbackStartTimestamp are the innermost callback that the take happened in; null outside of callbacks.
	Callback               Address         `column:"callback,null"`
	CallbackStartTimestamp Optional[int64] `column:"callback_start_timestamp"`
	SubscriptionHandle     Address         `column:"subscription_handle,null"`
	TopicName              string          `column:"topic_name,null"`
	NodeName               string          `column:"node_name,null"`
	// PublisherGID and MessageTimestamp are as in Callback.
	PublisherGID     string          `column:"publisher_gid,null"`
	MessageTimestamp Optional[int64] `column:"message_timestamp"`
	// Provenance is derived where the intra-process part was concluded from functions of rclcpp, as on Humble.
	Provenance Provenance `column:"provenance"`
}

// Enqueue is one message put into one intra-process buffer (rclcpp_ring_buffer_enqueue).
type Enqueue struct {
	ProcessKey
	TID    int32   `column:"tid"`
	CPU    int32   `column:"cpu"`
	Buffer Address `column:"buffer"`
	// Index is the slot, Size the number of messages in the buffer afterwards. On Humble, Index is null where another
	// thread may have used the buffer meanwhile.
	Index Optional[uint64] `column:"index"`
	Size  uint64           `column:"size"`
	// Overwritten says that the buffer was full and its oldest message was dropped. It may be null on Humble.
	Overwritten      Optional[bool] `column:"overwritten"`
	EnqueueTimestamp int64          `column:"enqueue_timestamp,hit=rclcpp_ring_buffer_enqueue"`
	// PublishNumber is the thread's publish that enqueued; null where none was under way.
	PublishNumber          Optional[uint64] `column:"publish_number,delta"`
	Callback               Address          `column:"callback,null"`
	CallbackStartTimestamp Optional[int64]  `column:"callback_start_timestamp"`
	PublisherHandle        Address          `column:"publisher_handle,null"`
	TopicName              string           `column:"topic_name,null"`
	// Provenance is derived on Humble, which has no tracepoint for it.
	Provenance Provenance `column:"provenance"`
}

// ServiceStep is one of the steps of a service call that a process takes part in.
type ServiceStep string

const (
	// RequestSent is the client's rcl_send_request.
	RequestSent ServiceStep = "request_sent"
	// RequestTaken is the server's rcl_take_request.
	RequestTaken ServiceStep = "request_taken"
	// ResponseSent is the server's rcl_send_response.
	ResponseSent ServiceStep = "response_sent"
	// ResponseTaken is the client's rcl_take_response.
	ResponseTaken ServiceStep = "response_taken"
)

// Service is one step of a service call. (client_gid, sequence_number) joins the steps of a call, also those of other
// processes. Calls of actions are service calls, too: their names end in _action/send_goal, _action/cancel_goal and
// _action/get_result.
type Service struct {
	ProcessKey
	TID  int32       `column:"tid"`
	CPU  int32       `column:"cpu"`
	Step ServiceStep `column:"step"`
	// StepTimestamp is when what is sent was handed to rcl, or what is taken had been taken.
	StepTimestamp int64 `column:"step_timestamp"`
	// ServiceHandle is the rcl service of the server's steps, ClientHandle the rcl client of the client's.
	ServiceHandle Address `column:"service_handle,null"`
	ClientHandle  Address `column:"client_handle,null"`
	// Message is the request's or the response's address.
	Message Address `column:"message,null"`
	// ClientGID identifies the client, in hexadecimal, as the middleware tells it to the server; null where it could not
	// be read.
	ClientGID string `column:"client_gid,null"`
	// SequenceNumber counts the requests of the client.
	SequenceNumber int64 `column:"sequence_number,delta"`
	// SourceTimestamp is when the middleware says that what was taken had been sent, raw; null for the steps that send.
	SourceTimestamp Optional[int64] `column:"source_timestamp"`
	// Callback and CallbackStartTimestamp are the callback that a taken request fed, else the innermost one that the step
	// happened in.
	Callback               Address         `column:"callback,null"`
	CallbackStartTimestamp Optional[int64] `column:"callback_start_timestamp"`
	ServiceName            string          `column:"service_name,null"`
	NodeName               string          `column:"node_name,null"`
	Provenance             Provenance      `column:"provenance"`
}

// Lifecycle is one transition of a managed node (rcl_lifecycle_transition).
type Lifecycle struct {
	ProcessKey
	TID                 int32   `column:"tid"`
	CPU                 int32   `column:"cpu"`
	StateMachine        Address `column:"state_machine"`
	TransitionTimestamp int64   `column:"transition_timestamp,hit=rcl_lifecycle_transition"`
	// StartLabel and GoalLabel are names of states.
	StartLabel string `column:"start_label,null"`
	GoalLabel  string `column:"goal_label,null"`
	NodeName   string `column:"node_name,null"`
}

// SimTime is one update of a clock by simulated time: rclcpp's time source has received a message on /clock.
type SimTime struct {
	ProcessKey
	TID int32 `column:"tid"`
	CPU int32 `column:"cpu"`
	// Clock is the rcl_clock_t.
	Clock           Address `column:"clock"`
	UpdateTimestamp int64   `column:"update_timestamp,hit=sim_time"`
	// SimTime is the simulated time, in nanoseconds.
	SimTime int64 `column:"sim_time,delta"`
}

// WaitStatus says how a wait was closed.
type WaitStatus string

const (
	// WaitComplete has a start and an end.
	WaitComplete WaitStatus = "complete"
	// WaitStartMissing began before its process was probed: only its end is known.
	WaitStartMissing WaitStatus = "start_missing"
	// WaitEndMissing has no end, and its thread waits again: an exception has left it, or it was not called by librclcpp.
	WaitEndMissing WaitStatus = "end_missing"
	// WaitRecordingEnd had not been seen to end when the recording ended.
	WaitRecordingEnd WaitStatus = "recording_end"
	// WaitThreadExit had not been seen to end when its thread exited.
	WaitThreadExit WaitStatus = "thread_exit"
)

// Wait is one wait of a thread for work of an executor (rclcpp::Executor::wait_for_work). Only record --profile full
// has them.
type Wait struct {
	ProcessKey
	TID int32 `column:"tid"`
	// CPU on which it began, or ended where there is no start.
	CPU int32 `column:"cpu"`
	// WaitStartTimestamp is null for status start_missing.
	WaitStartTimestamp Optional[int64] `column:"wait_start_timestamp,hit=wait"`
	// WaitEndTimestamp is null unless the status is complete or start_missing.
	WaitEndTimestamp Optional[int64] `column:"wait_end_timestamp"`
	Status           WaitStatus      `column:"status"`
	// Executor is the executor's address; null for status start_missing.
	Executor Address `column:"executor,null"`
	// Timeout is how long it was to wait at most, in nanoseconds, a negative one for ever; null for status start_missing.
	Timeout    Optional[int64] `column:"timeout,dict"`
	Provenance Provenance      `column:"provenance"`
}

// SchedKind says why a thread was off the CPU.
type SchedKind string

const (
	// SchedPreempted: it could run, and another thread had its CPU, or its group had used up its quota.
	SchedPreempted SchedKind = "preempted"
	// SchedBlocked: it waited for something.
	SchedBlocked SchedKind = "blocked"
)

// Sched is one time off the CPU of a thread that has run a callback, a step of an executor or a take (sched_switch,
// sched_waking). Only record --sched=full has them.
type Sched struct {
	ProcessKey
	TID  int32     `column:"tid"`
	Kind SchedKind `column:"kind"`
	// SchedOutTimestamp and SchedInTimestamp are when it left a CPU and when it came back.
	SchedOutTimestamp int64 `column:"sched_out_timestamp,hit=sched_switch"`
	SchedInTimestamp  int64 `column:"sched_in_timestamp"`
	// WakingTimestamp is when one that blocked was woken, which may be before it was off the CPU; null for others, and
	// where no waking was seen.
	WakingTimestamp Optional[int64] `column:"waking_timestamp"`
	// OutCPU is the CPU that it left, InCPU that on which it came back.
	OutCPU int32 `column:"out_cpu"`
	InCPU  int32 `column:"in_cpu"`
	// Callback and CallbackStartTimestamp are the innermost callback that was open; null outside of callbacks, and where
	// they were nested too deep.
	Callback               Address         `column:"callback,null"`
	CallbackStartTimestamp Optional[int64] `column:"callback_start_timestamp"`
	// Priority is the kernel's: 0 to 99 are real-time, 100 to 139 others, -1 is SCHED_DEADLINE. A lower one is more
	// urgent.
	Priority int32 `column:"priority"`
	// OtherPID to OtherPriority are the thread that had to do with it, null if it is the idle thread, or none was seen. Of
	// one that was preempted it is the next one on the CPU. Of one that blocked it is who ran on the CPU on which it was
	// woken: it has woken it, or an interrupt has that came meanwhile.
	OtherPID      Optional[int32] `column:"other_pid"`
	OtherTID      Optional[int32] `column:"other_tid"`
	OtherCommand  string          `column:"other_command,null"`
	OtherPriority Optional[int32] `column:"other_priority"`
}

// Event is one unmerged tracepoint hit (record --raw).
type Event struct {
	ProcessKey
	TID int32 `column:"tid"`
	CPU int32 `column:"cpu"`
	// Event is CARET's name of the tracepoint.
	Event          string `column:"event"`
	EventTimestamp int64  `column:"event_timestamp"`
	// Argument1 to Argument5 are the arguments in the tracepoint's order, as the registers held them; null where it has
	// fewer.
	Argument1 Optional[uint64] `column:"argument1"`
	Argument2 Optional[uint64] `column:"argument2"`
	Argument3 Optional[uint64] `column:"argument3"`
	Argument4 Optional[uint64] `column:"argument4"`
	Argument5 Optional[uint64] `column:"argument5"`
}
