// Package groundtruth reads what the stand-in programs of testdata write about themselves: every
// callback, publish, take and buffer operation with the thread it happened on and the clock readings
// just before and just after its tracepoints. Tests compare recordings with it.
//
// Addresses are those of the traced process. Times are CLOCK_MONOTONIC in nanoseconds, except source
// timestamps, which are DDS's own (Unix nanoseconds). A zero address, time or Bracket means that the
// thing does not apply or did not happen.
package groundtruth

// Bracket encloses one tracepoint's call: the instants just before and just after it.
type Bracket struct {
	Before, After uint64
}

// Happened reports whether the tracepoint was called at all.
func (b Bracket) Happened() bool { return b.Before != 0 }

// Contains reports whether a time lies within the bracket.
func (b Bracket) Contains(time uint64) bool { return b.Before <= time && time <= b.After }

// Header says which process wrote the file.
type Header struct {
	PID     int    `field:"pid"`
	Distro  string `field:"distro"` // humble or jazzy
	RMW     string `field:"rmw"`    // rmw_fastrtps_cpp or rmw_cyclonedds_cpp
	Version int    `field:"version"`
}

// Node is an rcl node.
type Node struct {
	Node      uint64 `field:"node"`
	RMWNode   uint64 `field:"rmw_node"`
	Name      string `field:"name"`
	Namespace string `field:"namespace"`
	Time      uint64 `field:"time"` // just after its initialization, as in all entities
}

// Publisher is an rcl publisher.
type Publisher struct {
	Publisher    uint64 `field:"publisher"`
	Node         uint64 `field:"node"`
	RMWPublisher uint64 `field:"rmw_publisher"`
	Topic        string `field:"topic"`
	Depth        uint64 `field:"depth"`
	Time         uint64 `field:"time"`
}

// Subscription is an rcl subscription with its rclcpp objects, the second one only with intra-process
// communication.
type Subscription struct {
	Subscription    uint64 `field:"subscription"`
	Node            uint64 `field:"node"`
	RMWSubscription uint64 `field:"rmw_subscription"`
	Topic           string `field:"topic"`
	Depth           uint64 `field:"depth"`
	Object          uint64 `field:"object"`
	Callback        uint64 `field:"callback"`
	IntraObject     uint64 `field:"intra_object"`
	IntraCallback   uint64 `field:"intra_callback"`
	Buffer          uint64 `field:"buffer"`
	Time            uint64 `field:"time"`
}

// Timer is an rcl timer. Period is in nanoseconds.
type Timer struct {
	Timer    uint64 `field:"timer"`
	Node     uint64 `field:"node"`
	Period   int64  `field:"period"`
	Callback uint64 `field:"callback"`
	Time     uint64 `field:"time"`
}

// Service is an rcl service.
type Service struct {
	Service  uint64 `field:"service"`
	Node     uint64 `field:"node"`
	Name     string `field:"name"`
	Callback uint64 `field:"callback"`
	Time     uint64 `field:"time"`
}

// Client is an rcl client.
type Client struct {
	Client uint64 `field:"client"`
	Node   uint64 `field:"node"`
	Name   string `field:"name"`
	Time   uint64 `field:"time"`
}

// CallbackGroup is a callback group of a node.
type CallbackGroup struct {
	Group     uint64    `field:"group"`
	Type      GroupType `field:"type"`
	Node      uint64    `field:"node"`
	Automatic bool      `field:"automatic"` // executors find it through its node
	Time      uint64    `field:"time"`
}

// GroupType is CARET's name of a callback group's type.
type GroupType string

// The types of callback groups.
const (
	GroupMutuallyExclusive GroupType = "mutually_exclusive"
	GroupReentrant         GroupType = "reentrant"
)

// ExecutorType is CARET's name of an executor's type.
type ExecutorType string

// The types of executors.
const (
	ExecutorSingleThreaded       ExecutorType = "single_threaded_executor"
	ExecutorMultiThreaded        ExecutorType = "multi_threaded_executor"
	ExecutorStaticSingleThreaded ExecutorType = "static_single_threaded_executor"
)

// ConstructExecutor is the construction of an executor, with its base class's within the bracket.
type ConstructExecutor struct {
	TID       int          `field:"tid"`
	Executor  uint64       `field:"executor"`
	Type      ExecutorType `field:"type"`
	Collector uint64       `field:"collector"` // its entities collector; Humble: of the static one only
	Bracket   Bracket      `field:"before,after"`
}

// DestroyExecutor is the destruction of an executor. Bracket is around the entry of the base class's
// destructor.
type DestroyExecutor struct {
	TID      int     `field:"tid"`
	Executor uint64  `field:"executor"`
	Bracket  Bracket `field:"before,after"`
}

// AddCallbackGroup is a callback group that came to an executor. Humble:
// Executor::add_callback_group_to_map or, with a Collector instead of an Executor,
// StaticExecutorEntitiesCollector::add_callback_group. Jazzy:
// ExecutorEntitiesCollector::add_callback_group_to_collection, with a Collector.
type AddCallbackGroup struct {
	TID       int       `field:"tid"`
	Executor  uint64    `field:"executor"`
	Collector uint64    `field:"collector"`
	Group     uint64    `field:"group"`
	Type      GroupType `field:"type"`
	Bracket   Bracket   `field:"before,after"`
}

// CallbackGroupAdd is an entity that came to a callback group.
type CallbackGroupAdd struct {
	TID     int     `field:"tid"`
	What    string  `field:"what"` // CallbackGroup's function: add_timer, add_subscription, add_service, add_client
	Group   uint64  `field:"group"`
	Handle  uint64  `field:"handle"` // of rcl
	Bracket Bracket `field:"before,after"`
}

// EntityKind says what an EntityInit or EntityFini is about.
type EntityKind string

// The kinds of rcl's entities.
const (
	EntityNode         EntityKind = "node"
	EntityPublisher    EntityKind = "publisher"
	EntitySubscription EntityKind = "subscription"
	EntityTimer        EntityKind = "timer"
	EntityService      EntityKind = "service"
	EntityClient       EntityKind = "client"
)

// EntityInit is the call of rcl_<kind>_init. The entity itself has a record of its own.
type EntityInit struct {
	TID     int        `field:"tid"`
	Kind    EntityKind `field:"kind"`
	Handle  uint64     `field:"handle"`
	Node    uint64     `field:"node"` // not of nodes and timers
	Bracket Bracket    `field:"before,after"`
}

// EntityFini is the call of rcl_<kind>_fini. The address may be another entity's afterwards.
type EntityFini struct {
	TID     int        `field:"tid"`
	Kind    EntityKind `field:"kind"`
	Handle  uint64     `field:"handle"`
	Bracket Bracket    `field:"before,after"`
}

// RMWEntityInit is a publisher or subscription of the rmw and its GID, as its tracepoint shows them. GIDs are
// 16 bytes in hexadecimal; the other 8 of Humble's are zero.
type RMWEntityInit struct {
	TID     int     `field:"tid"`
	Handle  uint64  `field:"handle"`
	GID     string  `field:"gid"`
	Bracket Bracket `field:"before,after"`
}

// Kind says what a callback belongs to.
type Kind string

// The kinds of callbacks.
const (
	KindTimer             Kind = "timer"
	KindSubscription      Kind = "subscription"
	KindIntraSubscription Kind = "intra_subscription"
	KindService           Kind = "service"
)

// Outcome says how a callback ended.
type Outcome string

// The ways a callback ends. Only Returned ones call the callback_end tracepoint.
const (
	OutcomeReturned Outcome = "returned"
	OutcomeThrew    Outcome = "threw"  // an exception left it
	OutcomeExited   Outcome = "exited" // its thread called pthread_exit
	// OutcomeDeferred: it returned, but the service's response follows later. rclcpp then skips callback_end.
	OutcomeDeferred Outcome = "deferred"
)

// Callback is one execution of a callback. Message, SourceTimestamp, RMWSubscription and Take tell which
// take fed a subscription callback; Message, Buffer, Index, Size and Dequeue which dequeue fed an
// intra-process one; ClientGID and SequenceNumber which request a service callback serves.
type Callback struct {
	TID      int     `field:"tid"`
	Sequence uint64  `field:"seq"` // order of callbacks, publishes and polled takes of a thread, by start
	Callback uint64  `field:"callback"`
	Kind     Kind    `field:"kind"`
	Start    Bracket `field:"before_start,after_start"`
	End      Bracket `field:"before_end,after_end"`
	Left     uint64  `field:"left"`  // when it was over, whatever the outcome
	Depth    int     `field:"depth"` // 0: outermost
	Outcome  Outcome `field:"outcome"`

	// CPU and EndCPU are the only CPU that its thread could run on when it started and when it was over; -1: any.
	CPU    int32 `field:"cpu"`
	EndCPU int32 `field:"end_cpu"`

	// The enclosing callback and its Start.Before.
	Parent      uint64 `field:"parent"`
	ParentStart uint64 `field:"parent_start"`

	Message         uint64  `field:"message"`
	SourceTimestamp int64   `field:"source_timestamp"`
	HeaderStamp     int64   `field:"header_stamp"`  // header.stamp in nanoseconds; 0: the message has none
	PublisherGID    string  `field:"publisher_gid"` // of the DDS writer, as in RMWEntityInit; all zero if it was gone
	InfoGID         string  `field:"info_gid"`      // in the message info: the same with Fast DDS, an instance handle with Cyclone DDS
	RMWSubscription uint64  `field:"subscription"`
	Take            Bracket `field:"take_before,take_after"`
	Buffer          uint64  `field:"buffer"`
	Index           uint64  `field:"index"`
	Size            uint64  `field:"size"`
	Dequeue         Bracket `field:"dequeue_before,dequeue_after"`
	ClientGID       string  `field:"client_gid"`
	SequenceNumber  int64   `field:"sequence_number"`
}

// Publish is one publish through all layers it reached. Callback and CallbackStart (its Start.Before)
// name the callback it happened in.
type Publish struct {
	TID          int    `field:"tid"`
	Sequence     uint64 `field:"seq"`
	Number       uint64 `field:"publish_number"` // of the thread, from 0
	Publisher    uint64 `field:"publisher"`
	RMWPublisher uint64 `field:"rmw_publisher"`
	Topic        string `field:"topic"`
	Message      uint64 `field:"message"`       // of the layers rclcpp, rcl and rmw
	IntraMessage uint64 `field:"intra_message"` // of the layer intra
	Layers       string `field:"layers"`        // those that happened, comma-separated, outermost first

	Intra  Bracket `field:"before_intra,after_intra"`
	RCLCPP Bracket `field:"before_rclcpp,after_rclcpp"`
	RCL    Bracket `field:"before_rcl,after_rcl"`
	RMW    Bracket `field:"before_rmw,after_rmw"`
	Stamp  Bracket `field:"before_stamp,after_stamp"` // the whole write call of DDS

	SourceTimestamp int64  `field:"source_timestamp"`
	HeaderStamp     int64  `field:"header_stamp"` // header.stamp in nanoseconds; 0: the message has none
	Enqueues        uint64 `field:"enqueues"`
	Depth           int    `field:"depth"` // how many callbacks were open on the thread
	Callback        uint64 `field:"callback"`
	CallbackStart   uint64 `field:"callback_start"`
}

// Take is one take that fed no traced callback: polled by the user's code or, not polled, dropped by rclcpp
// because the message had already come the intra-process way, or fed to a generic subscription's callback on Humble.
type Take struct {
	TID             int     `field:"tid"`
	Sequence        uint64  `field:"seq"`
	RMWSubscription uint64  `field:"rmw_subscription"`
	Message         uint64  `field:"message"`
	SourceTimestamp int64   `field:"source_timestamp"`
	HeaderStamp     int64   `field:"header_stamp"`  // header.stamp in nanoseconds; 0: the message has none
	PublisherGID    string  `field:"publisher_gid"` // of the DDS writer, as in RMWEntityInit; all zero if it was gone
	InfoGID         string  `field:"info_gid"`      // in the message info: the same with Fast DDS, an instance handle with Cyclone DDS
	Bracket         Bracket `field:"before,after"`
	Polled          bool    `field:"polled"`
	Callback        uint64  `field:"callback"`
	CallbackStart   uint64  `field:"callback_start"`
}

// Enqueue is one message put into one ring buffer by the publish with this number on the same thread.
// Humble has no tracepoint there.
type Enqueue struct {
	TID           int     `field:"tid"`
	Buffer        uint64  `field:"buffer"`
	Index         uint64  `field:"index"`
	Size          uint64  `field:"size"`
	Overwritten   bool    `field:"overwritten"`
	Bracket       Bracket `field:"before,after"`
	PublishNumber uint64  `field:"publish_number"`
	Message       uint64  `field:"message"`
	HeaderStamp   int64   `field:"header_stamp"`
}

// Dequeue is one message got out of a ring buffer, whether a callback followed or not.
type Dequeue struct {
	TID         int     `field:"tid"`
	Buffer      uint64  `field:"buffer"`
	Index       uint64  `field:"index"`
	Size        uint64  `field:"size"`
	Bracket     Bracket `field:"before,after"`
	Message     uint64  `field:"message"`
	HeaderStamp int64   `field:"header_stamp"`
}

// ConstructRingBuffer is a ring buffer of an intra-process subscription. Humble has no tracepoint there, nor for
// the next two, which follow in this order: the bracket then holds the instant itself.
type ConstructRingBuffer struct {
	TID      int     `field:"tid"`
	Buffer   uint64  `field:"buffer"`
	Capacity uint64  `field:"capacity"`
	Bracket  Bracket `field:"before,after"`
}

// BufferToIPB is the intra-process buffer in front of a ring buffer.
type BufferToIPB struct {
	TID     int     `field:"tid"`
	Buffer  uint64  `field:"buffer"`
	IPB     uint64  `field:"ipb"`
	Bracket Bracket `field:"before,after"`
}

// IPBToSubscription is the intra-process subscription that has an intra-process buffer: IntraObject in
// Subscription.
type IPBToSubscription struct {
	TID          int     `field:"tid"`
	IPB          uint64  `field:"ipb"`
	Subscription uint64  `field:"subscription"`
	Bracket      Bracket `field:"before,after"`
}

// IntraPublish is the intra-process half of the publish with this number on the same thread. Bracket goes
// from before PublisherBase::get_subscription_count until the message is in all buffers; the Enqueues lie
// within it, and after each of them GuardCondition::trigger. Message is what the user published: buffers get
// it or copies, DDS gets it or a copy.
type IntraPublish struct {
	TID           int     `field:"tid"`
	PublishNumber uint64  `field:"publish_number"`
	Publisher     uint64  `field:"publisher"`
	Message       uint64  `field:"message"`
	Bracket       Bracket `field:"before,after"`
}

// LifecycleStateMachineInit is a node that got a life cycle.
type LifecycleStateMachineInit struct {
	TID          int     `field:"tid"`
	Node         uint64  `field:"node"`
	StateMachine uint64  `field:"state_machine"`
	Bracket      Bracket `field:"before,after"`
}

// LifecycleTransition is a step of a life cycle from one state to the next, by their labels.
type LifecycleTransition struct {
	TID          int     `field:"tid"`
	StateMachine uint64  `field:"state_machine"`
	Start        string  `field:"start"`
	Goal         string  `field:"goal"`
	Bracket      Bracket `field:"before,after"`
}

// SimTime is a call of rcl_set_ros_time_override: simulated time for one clock.
type SimTime struct {
	TID     int     `field:"tid"`
	Clock   uint64  `field:"clock"` // rcl_clock_t
	Stamp   int64   `field:"stamp"` // nanoseconds
	Bracket Bracket `field:"before,after"`
}

// Wait is a call of Executor::wait_for_work. Start and End enclose its entry and its return.
type Wait struct {
	TID      int     `field:"tid"`
	Executor uint64  `field:"executor"`
	Timeout  int64   `field:"timeout"` // nanoseconds; negative: for ever
	Start    Bracket `field:"before_start,after_start"`
	End      Bracket `field:"before_end,after_end"`
}

// RawKind says how a message was handed over that is not the user's own.
type RawKind string

// The kinds of raw messages.
const (
	RawSerialized RawKind = "serialized"
	RawLoaned     RawKind = "loaned"
)

// RawPublish is the call of rcl_publish_serialized_message or rcl_publish_loaned_message by the publish with
// this number on the same thread. Jazzy traces the layers of such a publish like others; Humble none, so that
// its record has the layer stamp only. One that failed in rcl has no layer below rclcpp at all.
type RawPublish struct {
	TID           int     `field:"tid"`
	Kind          RawKind `field:"kind"`
	PublishNumber uint64  `field:"publish_number"`
	Publisher     uint64  `field:"publisher"`
	Message       uint64  `field:"message"` // rcl_serialized_message_t, or the loaned message
	Bracket       Bracket `field:"before,after"`
}

// RawTake is a call of rcl_take_serialized_message or rcl_take_loaned_message. What it took is also in a Take or
// in the Callback that it fed. The former is traced on Jazzy only, as are the callbacks of generic subscriptions;
// the latter with Cyclone DDS only. The bracket of a take that is not traced is from just before the rmw function
// returns until the rcl function has.
type RawTake struct {
	TID             int     `field:"tid"`
	Kind            RawKind `field:"kind"`
	Subscription    uint64  `field:"subscription"`
	RMWSubscription uint64  `field:"rmw_subscription"`
	Message         uint64  `field:"message"` // rcl_serialized_message_t, or the loaned message
	Taken           bool    `field:"taken"`
	SourceTimestamp int64   `field:"source_timestamp"` // this and the following: as in Take, if something was taken
	PublisherGID    string  `field:"publisher_gid"`
	InfoGID         string  `field:"info_gid"`
	Bracket         Bracket `field:"before,after"`
}

// ServiceStepKind says which function of rcl was called.
type ServiceStepKind string

// The steps of a service call, in their order.
const (
	StepSendRequest  ServiceStepKind = "send_request"  // rcl_send_request
	StepTakeRequest  ServiceStepKind = "take_request"  // rcl_take_request
	StepSendResponse ServiceStepKind = "send_response" // rcl_send_response
	StepTakeResponse ServiceStepKind = "take_response" // rcl_take_response
)

// ServiceStep is one call of an rcl function about a request or a response. Bracket encloses the whole
// call. ClientGID, SequenceNumber and SourceTimestamp are absent if a take found nothing.
//
// ClientGID is the client as the server sees it, in all four steps: 16 bytes in hexadecimal. The client
// itself does not see all of it. With Fast DDS it is the GUID of its response reader, which a taken
// response does not name. With Cyclone DDS its first 8 bytes are the client's own, the others mean
// something to the server only.
type ServiceStep struct {
	TID             int             `field:"tid"`
	Step            ServiceStepKind `field:"step"`
	Service         uint64          `field:"service"` // rcl_service_t, at the server
	Client          uint64          `field:"client"`  // rcl_client_t, at the client
	Message         uint64          `field:"message"` // the request or the response
	Taken           bool            `field:"taken"`   // of the two takes
	ClientGID       string          `field:"client_gid"`
	SequenceNumber  int64           `field:"sequence_number"`
	SourceTimestamp int64           `field:"source_timestamp"` // of the request or the response
	Bracket         Bracket         `field:"before,after"`
	Callback        uint64          `field:"callback"` // the callback it happened in, as in Publish
	CallbackStart   uint64          `field:"callback_start"`
}

// ThreadExit is the end of a thread that had events and ended before the process.
type ThreadExit struct {
	TID  int    `field:"tid"`
	Time uint64 `field:"time"`
}

// Truth is everything that one process wrote. The events of a thread are in the order in which they
// ended.
type Truth struct {
	Header        Header         `line:"header"`
	Nodes         []Node         `line:"node"`
	Publishers    []Publisher    `line:"publisher"`
	Subscriptions []Subscription `line:"subscription"`
	Timers        []Timer        `line:"timer"`
	Services      []Service      `line:"service"`
	Clients       []Client       `line:"client"`

	EntityInits          []EntityInit          `line:"entity_init"`
	EntityFinis          []EntityFini          `line:"entity_fini"`
	ConstructRingBuffers []ConstructRingBuffer `line:"construct_ring_buffer"`
	BufferToIPBs         []BufferToIPB         `line:"buffer_to_ipb"`
	IPBToSubscriptions   []IPBToSubscription   `line:"ipb_to_subscription"`
	RMWPublisherInits    []RMWEntityInit       `line:"rmw_publisher_init"`
	RMWSubscriptionInits []RMWEntityInit       `line:"rmw_subscription_init"`

	CallbackGroups     []CallbackGroup     `line:"callback_group"`
	ConstructExecutors []ConstructExecutor `line:"construct_executor"`
	DestroyExecutors   []DestroyExecutor   `line:"destroy_executor"`
	AddCallbackGroups  []AddCallbackGroup  `line:"add_callback_group"`
	CallbackGroupAdds  []CallbackGroupAdd  `line:"callback_group_add"`

	Callbacks                  []Callback                  `line:"callback"`
	Publishes                  []Publish                   `line:"publish"`
	Takes                      []Take                      `line:"take"`
	Enqueues                   []Enqueue                   `line:"enqueue"`
	Dequeues                   []Dequeue                   `line:"dequeue"`
	IntraPublishes             []IntraPublish              `line:"intra_publish"`
	LifecycleStateMachineInits []LifecycleStateMachineInit `line:"lifecycle_state_machine_init"`
	LifecycleTransitions       []LifecycleTransition       `line:"lifecycle_transition"`
	SimTimes                   []SimTime                   `line:"sim_time"`
	Waits                      []Wait                      `line:"wait"`
	RawPublishes               []RawPublish                `line:"raw_publish"`
	RawTakes                   []RawTake                   `line:"raw_take"`
	ServiceSteps               []ServiceStep               `line:"service_step"`
	ThreadExits                []ThreadExit                `line:"thread_exit"`
}
