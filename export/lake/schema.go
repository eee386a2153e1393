package lake

import (
	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// FormatVersion is the version of the lake's tables. It grows when a reader of the former version would misread them;
// new tables and new nullable columns do not change it.
const FormatVersion = 1

// The tables' names, which are their folders'.
const (
	TableCallbackFact       = "callback_fact"
	TableMessageFact        = "message_fact"
	TableHopFact            = "hop_fact"
	TablePathFact           = "path_fact"
	TableResponseFact       = "response_fact"
	TableNodeFact           = "node_fact"
	TableServiceFact        = "service_fact"
	TableLoss               = "loss"
	TableRecordingAttribute = "recording_attribute"
	TableCallbackInfo       = "callback_info"
	TableRecording          = "recording"
)

// The types below are the tables' rows. A tag names the column, as those of package trace do, and says what it means.
// In front of these columns each table has recording_id and the partition keys.

// CallbackFact is one execution of a callback.
type CallbackFact struct {
	Host         string `column:"host,null" doc:"name of the machine"`
	PID          int32  `column:"pid" doc:"process ID in the recorder's PID namespace"`
	ProcessStart int64  `column:"process_start,dict" doc:"start of the process, nanoseconds since boot"`
	TID          int32  `column:"tid" doc:"thread ID in the recorder's PID namespace"`

	CallbackID int32                 `column:"callback_id" doc:"the callback, within the recording; joins callback_info"`
	Node       string                `column:"node_name,null" doc:"node, namespace included"`
	Kind       trace.CallbackKind    `column:"kind,null" doc:"subscription, timer or service"`
	Topic      string                `column:"topic_name,null" doc:"topic of a subscription, name of a service"`
	Period     trace.Optional[int64] `column:"period,dict" doc:"period of a timer"`
	Symbol     string                `column:"symbol,null" doc:"function of the callback, demangled"`

	Status  trace.CallbackStatus  `column:"status" doc:"how it ended, as in the dataset's callback"`
	Depth   int32                 `column:"depth" doc:"callbacks that were running on the thread; 0 is outermost"`
	Begin   trace.Optional[int64] `column:"callback_start_timestamp" doc:"null with status start_missing"`
	End     trace.Optional[int64] `column:"callback_end_timestamp" doc:"null unless it ended while it was recorded"`
	Latency trace.Optional[int64] `column:"latency,smaller" doc:"from start to end"`

	CPUTime       trace.Optional[int64] `column:"cpu_time,smaller" doc:"of latency: its thread ran; with record --sched"`
	PreemptedTime trace.Optional[int64] `column:"preempted_time,smaller" doc:"of latency: its thread could have run"`
	BlockedTime   trace.Optional[int64] `column:"blocked_time,smaller" doc:"of latency: its thread waited"`
	WakeupLatency trace.Optional[int64] `column:"wakeup_latency,smaller" doc:"of latency: its thread was awake again"`
	Preemptions   trace.Optional[int32] `column:"preemptions" doc:"how often it lost its CPU while it could run"`
	Migrations    trace.Optional[int32] `column:"migrations" doc:"how often it came back on another CPU"`
	Overhead      trace.Optional[int64] `column:"overhead,smaller" doc:"of latency: what the recording is expected to have added"`
}

// MessageFact is one message on its way to one subscription.
type MessageFact struct {
	Host             string `column:"host,null" doc:"machine of the subscription"`
	Topic            string `column:"topic_name,null" doc:"topic"`
	PublisherHost    string `column:"publisher_host,null" doc:"machine of the publisher"`
	PublisherNode    string `column:"publisher_node,null" doc:"node of the publisher"`
	PublisherPID     int32  `column:"publisher_pid" doc:"its process"`
	PublisherID      int32  `column:"publisher_id" doc:"the publisher, within the recording"`
	SubscriptionNode string `column:"subscription_node,null" doc:"node of the subscription"`
	SubscriptionPID  int32  `column:"subscription_pid" doc:"its process"`
	SubscriptionID   int32  `column:"subscription_id" doc:"the subscription, within the recording"`

	CallbackID     trace.Optional[int32] `column:"callback_id" doc:"the callback that the message started, or in which it was polled"`
	IsIntraProcess bool                  `column:"is_intra_process" doc:"through a buffer of rclcpp, not the middleware"`
	Polled         trace.Optional[bool]  `column:"polled" doc:"it was taken without starting a callback; null unless it was received"`
	JoinedBy       analyze.JoinedBy      `column:"joined_by,null" doc:"what shows that publish and take are of one message: gid, topic, buffer"`
	Fate           analyze.Fate          `column:"fate" doc:"received, lost, open or unknown"`

	Publish            int64                 `column:"publish_timestamp" doc:"when it was published: latency counts from here"`
	RclcppIntraPublish trace.Optional[int64] `column:"rclcpp_intra_publish_timestamp" doc:"time of rclcpp_intra_publish; each layer is null if it was not passed or seen"`
	RclcppPublish      trace.Optional[int64] `column:"rclcpp_publish_timestamp" doc:"time of rclcpp_publish"`
	RclPublish         trace.Optional[int64] `column:"rcl_publish_timestamp" doc:"time of rcl_publish"`
	RMWPublish         trace.Optional[int64] `column:"rmw_publish_timestamp" doc:"time of rmw_publish"`
	DDSBindAddrToStamp trace.Optional[int64] `column:"dds_bind_addr_to_stamp_timestamp" doc:"when the source timestamp was bound to the message"`
	Source             trace.Optional[int64] `column:"source_timestamp" doc:"what the middleware wrote into the message, on the publisher's clock"`
	Enqueue            trace.Optional[int64] `column:"rclcpp_ring_buffer_enqueue_timestamp" doc:"when it was put into the buffer"`
	Take               trace.Optional[int64] `column:"take_timestamp" doc:"when it was taken, from the middleware or the buffer"`
	CallbackStart      trace.Optional[int64] `column:"callback_start_timestamp" doc:"null if it was polled"`
	CallbackEnd        trace.Optional[int64] `column:"callback_end_timestamp" doc:"end of the callback that it started"`
	Latency            trace.Optional[int64] `column:"latency,smaller" doc:"from publish to the callback's start, or to the take of a polled message"`
	Uncertainty        trace.Optional[int64] `column:"uncertainty" doc:"bound of the error of latency between the clocks of two hosts; null within one clock"`
}

// HopFact is one hop of a message that went all the way along a path, or of one that was dropped on the hop.
type HopFact struct {
	Path      string                `column:"path" doc:"name of the path"`
	Instance  trace.Optional[int64] `column:"instance" doc:"number of the way, from 1; joins path_fact; null of a dropped message"`
	Hop       int32                 `column:"hop" doc:"counts from 1"`
	Kind      analyze.HopKind       `column:"kind" doc:"communication or node"`
	Name      string                `column:"name" doc:"topic or node"`
	Fate      analyze.Fate          `column:"fate" doc:"received; lost or unused of a dropped message"`
	PathBegin trace.Optional[int64] `column:"path_begin_timestamp" doc:"when the path began for the message; null if it came from no begin"`
	Begin     int64                 `column:"begin_timestamp" doc:"when the hop began"`
	End       trace.Optional[int64] `column:"end_timestamp" doc:"when it ended; null of a dropped message"`
	Latency   trace.Optional[int64] `column:"latency,smaller" doc:"from begin to end"`
}

// PathFact is one message that went all the way along a path.
type PathFact struct {
	Path     string                `column:"path" doc:"name of the path"`
	Instance trace.Optional[int64] `column:"instance" doc:"number of the way, from 1"`
	Fate     analyze.Fate          `column:"fate" doc:"received: those that were dropped are in hop_fact"`
	Begin    int64                 `column:"begin_timestamp" doc:"when the path began"`
	End      trace.Optional[int64] `column:"end_timestamp" doc:"when it ended"`
	Latency  trace.Optional[int64] `column:"latency,smaller" doc:"from begin to end"`
}

// ResponseFact is one response time of a path.
type ResponseFact struct {
	Path    string                   `column:"path" doc:"name of the path"`
	Kind    analyze.ResponseTimeCase `column:"kind" doc:"best, worst or worst_with_external_latency, each once a flow; all: once an input"`
	Begin   int64                    `column:"begin_timestamp" doc:"from when on it counts"`
	End     int64                    `column:"end_timestamp" doc:"the output"`
	Latency int64                    `column:"latency" doc:"from begin to end"`
}

// NodeFact is one output of a node with the input that it was made of, an input that led to none, or an output of a
// chain of several callbacks that came from none.
type NodeFact struct {
	Host              string                `column:"host,null" doc:"name of the machine"`
	PID               int32                 `column:"pid" doc:"process ID in the recorder's PID namespace"`
	Node              string                `column:"node_name,null" doc:"node, namespace included"`
	SubscriptionTopic string                `column:"subscription_topic_name,null" doc:"topic of the input"`
	PublisherTopic    string                `column:"publisher_topic_name,null" doc:"topic of the output"`
	Context           system.ContextType    `column:"context,null" doc:"how outputs were found to belong to inputs"`
	Input             trace.Optional[int64] `column:"callback_start_timestamp" doc:"start of the callback that got the input, or take of a polled one; null without an input"`
	InputEnd          trace.Optional[int64] `column:"callback_end_timestamp" doc:"end of that callback"`
	OutputStart       trace.Optional[int64] `column:"publish_callback_start_timestamp" doc:"start of the callback that published"`
	Publish           trace.Optional[int64] `column:"publish_timestamp" doc:"when the output was published; null without an output"`
	Latency           trace.Optional[int64] `column:"latency,smaller" doc:"from input to publish"`
}

// ServiceFact is one call of a service or an action. A side that was not recorded is null.
type ServiceFact struct {
	Host           string                `column:"host,null" doc:"name of the machine"`
	Service        string                `column:"service_name,null" doc:"service"`
	ClientNode     string                `column:"client_node,null" doc:"node of the client"`
	ClientPID      trace.Optional[int32] `column:"client_pid" doc:"its process"`
	ServerNode     string                `column:"server_node,null" doc:"node of the service"`
	ServerPID      trace.Optional[int32] `column:"server_pid" doc:"its process"`
	ClientGID      string                `column:"client_gid,null" doc:"what the middleware knows the client by"`
	SequenceNumber int64                 `column:"sequence_number" doc:"number of the client's request"`
	RequestSent    trace.Optional[int64] `column:"request_sent_timestamp" doc:"each step is null if it was not seen"`
	RequestTaken   trace.Optional[int64] `column:"request_taken_timestamp" doc:"when the service took it"`
	ResponseSent   trace.Optional[int64] `column:"response_sent_timestamp" doc:"when the service answered"`
	ResponseTaken  trace.Optional[int64] `column:"response_taken_timestamp" doc:"when the client took the answer"`
	Latency        trace.Optional[int64] `column:"latency,smaller" doc:"from request_sent to response_taken"`
}

// Loss is a row of the dataset's table of that name.
type Loss struct {
	trace.Loss
}

// RecordingAttribute is something that the user has noted of the recording.
type RecordingAttribute struct {
	Key   string `column:"key" doc:"its name"`
	Value string `column:"value" doc:"what was noted"`
}

// CallbackInfo names a callback.
type CallbackInfo struct {
	CallbackID   int32                 `column:"callback_id" doc:"the callback, within the recording"`
	Host         string                `column:"host,null" doc:"name of the machine"`
	PID          int32                 `column:"pid" doc:"process ID in the recorder's PID namespace"`
	ProcessStart int64                 `column:"process_start,dict" doc:"start of the process, nanoseconds since boot"`
	Node         string                `column:"node_name,null" doc:"node, namespace included"`
	Callback     string                `column:"callback_name,null" doc:"name that the commands show it by"`
	Kind         trace.CallbackKind    `column:"kind,null" doc:"subscription, timer or service"`
	Topic        string                `column:"topic_name,null" doc:"topic of a subscription, name of a service"`
	Period       trace.Optional[int64] `column:"period,dict" doc:"period of a timer"`
	Symbol       string                `column:"symbol,null" doc:"function of the callback, demangled"`
}

// RecordingRow is the row that makes a recording visible.
type RecordingRow struct {
	Host            string `column:"host,null" doc:"name of the machine"`
	BootID          string `column:"boot_id,null" doc:"boot of the machine"`
	Kernel          string `column:"kernel,null" doc:"release of its kernel"`
	Architecture    string `column:"architecture,null" doc:"as uname -m says"`
	RecorderVersion string `column:"recorder_version,null" doc:"version of caret-bpf that recorded"`
	Format          int32  `column:"format" doc:"version of the lake's tables"`
	Distribution    string `column:"distribution,null" doc:"distributions of ROS 2, with commas between them"`
	RMW             string `column:"rmw,null" doc:"middlewares, with commas between them"`

	Begin  trace.Optional[int64] `column:"begin_timestamp" doc:"first event; null if there is none"`
	End    trace.Optional[int64] `column:"end_timestamp" doc:"last event"`
	Ending trace.Ending          `column:"ending,null" doc:"why the recording ended, as in session.json; running: its recorder was killed"`

	Processes int64                 `column:"processes" doc:"processes that were recorded"`
	Nodes     int64                 `column:"nodes" doc:"nodes"`
	Callbacks int64                 `column:"callbacks" doc:"rows of callback_fact"`
	Messages  int64                 `column:"messages" doc:"rows of message_fact"`
	NodeRows  trace.Optional[int64] `column:"node_rows" doc:"rows of node_fact; null if it was published before there was this table, and service_fact and response_fact"`
	Lost      int64                 `column:"lost" doc:"records that were lost while recording"`
	Unarmed   int64                 `column:"unarmed" doc:"rows of loss that say that a file was mapped while it was not probed"`
	Damaged   int64                 `column:"damaged_segments" doc:"segments that could not be read: what they held is missing"`
	Missing   trace.Optional[int64] `column:"missing_rows" doc:"rows that its recorder had stored and that are gone or cannot be read; null if that is not known, as when its recorder was killed"`

	Paths string `column:"paths,null" doc:"how the paths of path_fact and hop_fact were asked for; null if none were"`

	Files int64 `column:"files" doc:"files of the other tables"`
	Rows  int64 `column:"rows" doc:"rows in them"`
	Bytes int64 `column:"bytes" doc:"bytes of them"`

	ClockOffsetBound trace.Optional[int64] `column:"clock_offset_bound" doc:"half the time that measuring the offset of the clock to real time took, at most"`
}
