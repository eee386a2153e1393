package summary

import (
	"github.com/caret-bpf/caret-bpf/trace"
)

// Summary is what `caret-bpf info` shows of a dataset.
type Summary struct {
	// Session is nil when session.json is damaged or lost.
	Session *trace.Session `json:"session"`
	// Live: a recorder is writing the dataset. Killed: its recorder is gone and did not end it.
	Live   bool `json:"live"`
	Killed bool `json:"killed"`
	// Damaged lists the segments that could not be read, or not to their end: the numbers lack what they held.
	Damaged []string `json:"damaged"`
	// Span is the time from the first to the last event; null when there is none.
	Span trace.Optional[trace.Span] `json:"span"`
	// Within is the time that was asked for; null for all. What happened is counted if it began in it; Tables, the
	// session, damages and what is said of the whole recording are not restricted.
	Within trace.Optional[trace.Span] `json:"within"`
	Tables []Table                    `json:"tables"`
	// Tracepoints are in the order of the tables that hold them. Those that were probed and never hit have the count 0.
	Tracepoints []Tracepoint `json:"tracepoints"`
	Processes   []Process    `json:"processes"`
	// Nodes are in the order of their names.
	Nodes []Node `json:"nodes"`
	// Callbacks are in descending order of their total time.
	Callbacks []Callback `json:"callbacks"`
	// Topics are in descending order of their publishes.
	Topics []Topic `json:"topics"`
	Losses []Loss  `json:"losses"`
	// Unarmed are files that processes had mapped and that were not probed, in order of time.
	Unarmed []Unarmed `json:"unarmed"`
	// Incomplete counts the callback and publish rows of each status but complete.
	Incomplete []Status `json:"incomplete"`
	// ClockSteps are the times at which real time was set while recording, or the machine slept: the clock of a
	// recording's times stands still then.
	ClockSteps []ClockStep `json:"clock_steps"`
	// RealTime is how well real time was synchronized.
	RealTime RealTime `json:"real_time"`
	// Warnings say in words what a reader of the numbers must know.
	Warnings []string `json:"warnings"`
}

// Table is the extent of one table.
type Table struct {
	Name string `json:"name" report:"table"`
	// Rows and Bytes are those of readable segments.
	Rows     uint64 `json:"rows" report:"rows"`
	Bytes    int64  `json:"bytes" report:"bytes"`
	Segments int    `json:"segments" report:"segments"`
	// Unfinished is the number of segments that are being written or were left behind by a killed recorder.
	Unfinished int `json:"unfinished" report:"unfinished"`
}

// Tracepoint is the number of a tracepoint's hits that are part of rows, by CARET's name of the tracepoint.
type Tracepoint struct {
	Tracepoint string `json:"tracepoint" report:"tracepoint"`
	Table      string `json:"table" report:"table"`
	Count      uint64 `json:"count" report:"count"`
}

// Process is the activity of one process.
type Process struct {
	trace.ProcessKey
	Command           string `json:"command" report:"command"`
	Distro            string `json:"distro" report:"distro"`
	RMWImplementation string `json:"rmw_implementation" report:"rmw"`
	Number            int32  `json:"-" report:"pid,identifier,detail"`
	Callbacks         uint64 `json:"callbacks" report:"callbacks"`
	Publishes         uint64 `json:"publishes" report:"publishes"`
	Takes             uint64 `json:"takes" report:"takes"`
	Enqueues          uint64 `json:"enqueues" report:"enqueues"`
}

// Node is the activity of one node.
type Node struct {
	PID int32 `json:"pid" report:"pid,identifier"`
	// NodeName is empty for what belongs to no known node.
	NodeName string `json:"node_name" report:"node_name"`
	// Callbacks, Publishes and Takes are numbers of executions, publishes and polled takes; the rates are a second of the
	// recording's span, null for a recording without one.
	Callbacks    uint64                  `json:"callbacks" report:"callbacks"`
	CallbackRate trace.Optional[float64] `json:"callback_rate" report:"callback_rate,rate"`
	// TotalTime is the sum of the callbacks' execution times in nanoseconds.
	TotalTime   int64                   `json:"total_time" report:"total_time,duration"`
	Publishes   uint64                  `json:"publishes" report:"publishes"`
	PublishRate trace.Optional[float64] `json:"publish_rate" report:"publish_rate,rate"`
	Takes       uint64                  `json:"takes" report:"takes"`
	// IgnoredTakes is the number of messages that rclcpp took and dropped, because they came through intra-process
	// communication, too.
	IgnoredTakes uint64 `json:"ignored_takes" report:"ignored_takes"`
	// UnattributedTakes is the number of takes of which it is not known whether a callback, a poll or nobody got them.
	UnattributedTakes uint64 `json:"unattributed_takes" report:"unattributed_takes"`
}

// Callback is the activity of one callback; an address that was used again counts for each callback that had it.
type Callback struct {
	PID      int32                 `json:"pid" report:"pid,identifier,detail"`
	NodeName string                `json:"node_name" report:"node_name"`
	Kind     trace.CallbackKind    `json:"kind" report:"kind,drop=2"`
	Topic    string                `json:"topic_name" report:"topic_name"`
	Period   trace.Optional[int64] `json:"period" report:"period,duration,drop=4"`
	Count    uint64                `json:"count" report:"count"`
	// Rate is in executions a second, between the first and the last start; null for fewer than two.
	Rate trace.Optional[float64] `json:"rate" report:"rate,rate,drop=3"`
	// TotalTime, MeanTime and MaxTime are of the executions that have a start and an end, in nanoseconds; Timed is their
	// number.
	TotalTime int64                 `json:"total_time" report:"total_time,duration"`
	MeanTime  trace.Optional[int64] `json:"mean_time" report:"mean_time,duration"`
	MaxTime   int64                 `json:"max_time" report:"max_time,duration"`
	Timed     uint64                `json:"timed" report:"timed,detail"`
	Callback  trace.Address         `json:"callback" report:"callback,detail"`
	Symbol    string                `json:"symbol" report:"symbol,drop=1"`
	// Standard: every node has such a callback, as names tell (system.Standard).
	Standard bool `json:"-"`
}

// Topic is the traffic of one topic, of all publishers together.
type Topic struct {
	// TopicName is empty for publishes of unknown topic.
	TopicName string `json:"topic_name" report:"topic_name"`
	Publishes uint64 `json:"publishes" report:"publishes"`
	// Rate is in publishes a second, between the first and the last one; null for fewer than two.
	Rate trace.Optional[float64] `json:"rate" report:"rate,rate"`
	// Received is the number of callback executions and polled takes that got a message of the topic: of each message as
	// many as subscriptions got it.
	Received uint64 `json:"received" report:"received"`
	// Standard: it has no publishers and subscriptions but those that every node has.
	Standard bool `json:"-"`
}

// Loss is what was lost of a kind for a reason, and when.
type Loss struct {
	Kind   trace.LossKind   `json:"kind" report:"lost"`
	Reason trace.LossReason `json:"reason" report:"reason"`
	Count  uint64           `json:"count" report:"count"`
	// FromTimestamp and ToTimestamp enclose all of them.
	FromTimestamp int64 `json:"from_timestamp" report:"from,time"`
	ToTimestamp   int64 `json:"to_timestamp" report:"to,time"`
}

// Unarmed is a file that a process had mapped and that was not probed: what it did in the file in that time is not
// recorded. How often it did something is not known.
type Unarmed struct {
	PID          int   `json:"pid" report:"pid,identifier"`
	ProcessStart int64 `json:"process_start" report:"process_start,detail"`
	// Command is the process's name, "" if it is not known.
	Command string `json:"command" report:"command"`
	// File is the path in the process, "" for all its files.
	File string `json:"file" report:"file"`
	// Duration is the time between FromTimestamp and ToTimestamp, in nanoseconds.
	Duration      int64 `json:"duration" report:"duration,duration"`
	FromTimestamp int64 `json:"from_timestamp" report:"from,time"`
	ToTimestamp   int64 `json:"to_timestamp" report:"to,time"`
	// Events are the tracepoints that the file can hit, with commas between them.
	Events string `json:"events" report:"events"`
}

// Status is the number of a table's rows of one status.
type Status struct {
	Table  string `json:"table" report:"table"`
	Status string `json:"status" report:"status"`
	Count  uint64 `json:"count" report:"count"`
}

// ClockStep is a change of real time against CLOCK_MONOTONIC by more than it drifts.
type ClockStep struct {
	// Timestamp is when it was seen, on the recording's clock; Nanoseconds is its size, positive forwards.
	Timestamp   int64 `json:"timestamp" report:"time,time"`
	Nanoseconds int64 `json:"nanoseconds" report:"step,duration"`
}
