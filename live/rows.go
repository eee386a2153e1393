package live

import "github.com/caret-bpf/caret-bpf/trace"

// Snapshot is what there was in a span of time. Times are in Unix nanoseconds on the dataset's clock.
type Snapshot struct {
	// BeginNs and EndNs are the span: executions that began in it, and messages that were published in it.
	BeginNs int64 `json:"begin_ns"`
	EndNs   int64 `json:"end_ns"`
	// Lost is the number of records that may have been lost in the span, and Unarmed that of files that were mapped and
	// not probed in a part of it. Beyond counts what was left out since it is watched, because there was too much.
	Lost    uint64 `json:"lost"`
	Unarmed int    `json:"unarmed"`
	Beyond  uint64 `json:"beyond"`

	Callbacks []Callback `json:"callbacks"`
	Topics    []Topic    `json:"topics"`
	Nodes     []Node     `json:"nodes"`
	Paths     []Path     `json:"paths"`
}

// Callback is what a callback did.
type Callback struct {
	Node string `json:"node_name" report:"node_name"`
	// Callback is its topic, else its function, else its kind.
	Callback string             `json:"callback" report:"callback"`
	Kind     trace.CallbackKind `json:"kind" report:"kind,drop=3"`
	PID      int32              `json:"pid" report:"pid,identifier,drop=2"`
	// Rate is how often it began, a second.
	Rate float64 `json:"rate" report:"rate"`
	Durations
	// Load is the part of a core, in percent, that its executions took. Those within another callback count there, too.
	Load float64 `json:"load_percent" report:"load,percent"`
	// LateP99 is how late a timer began, as `caret-bpf period` counts it; null for others. Where its init was not
	// recorded, that is after the most punctual start of the span, and null if starts differ by half a period and more.
	LateP99 trace.Optional[int64] `json:"late_p99_ns" report:"late_p99,duration,drop=5"`
	// Overhead is the part of the span, in percent, that recording is expected to have added to it.
	Overhead float64 `json:"overhead_percent" report:"overhead,percent,drop=1"`
}

// Durations describe times in nanoseconds, exactly. They are null where there is none.
type Durations struct {
	P50 trace.Optional[int64] `json:"p50_ns" report:"p50,duration,drop=6"`
	P99 trace.Optional[int64] `json:"p99_ns" report:"p99,duration"`
	Max trace.Optional[int64] `json:"max_ns" report:"max,duration,drop=7"`
}

// Topic is a topic and a subscription's callback; Node is "" where nobody subscribes who is recorded.
type Topic struct {
	Topic string `json:"topic_name" report:"topic_name"`
	Node  string `json:"subscription_node_name" report:"subscription_node_name"`
	PID   int32  `json:"subscription_pid" report:"subscription_pid,identifier,detail"`
	// Published is how many messages were published, a second, null where no publisher is known; Received is how often
	// the callback began, null where there is none.
	Published trace.Optional[float64] `json:"published_rate" report:"published,drop=4"`
	Received  trace.Optional[float64] `json:"received_rate" report:"received"`
	// Durations are from the publish to the start of the callback, of messages whose publish was recorded.
	Durations
	// Lost is the number of messages of which the callback got a later one of the same publisher. It is null where the
	// publishers of what it got are not known, where records may have been lost, and for messages through buffers.
	Lost trace.Optional[uint64] `json:"lost" report:"lost,drop=8"`
}

// Node is what a node did.
type Node struct {
	Node string `json:"node_name" report:"node_name"`
	PID  int32  `json:"pid" report:"pid,identifier,drop=2"`
	// Callbacks is how many callbacks began, a second, and Published how many messages were published.
	Callbacks float64 `json:"callback_rate" report:"callbacks"`
	Published float64 `json:"published_rate" report:"published,drop=4"`
	// Longest is the longest callback, and Load the part of a core, in percent, that callbacks took, without those that
	// ran within others.
	Longest  trace.Optional[int64] `json:"longest_ns" report:"longest,duration"`
	Load     float64               `json:"load_percent" report:"load,percent"`
	Overhead float64               `json:"overhead_percent" report:"overhead,percent,drop=1"`
}

// Path is a path, from the publish of a message to the start of the callback at its end.
type Path struct {
	From string `json:"from" report:"from"`
	To   string `json:"to" report:"to"`
	// Rate is how often a message arrived, a second.
	Rate float64 `json:"rate" report:"rate"`
	Durations
}
