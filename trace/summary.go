package trace

// Summary is what `caret-bpf info` shows of a dataset.
type Summary struct {
	// Session is nil when session.json is damaged or lost.
	Session *Session `json:"session"`
	// Live: a recorder is writing the dataset. Killed: its recorder is gone and did not end it.
	Live   bool `json:"live"`
	Killed bool `json:"killed"`
	// Span is the time from the first to the last event; null when there is none.
	Span      Optional[Span]   `json:"span"`
	Tables    []TableSummary   `json:"tables"`
	Processes []ProcessSummary `json:"processes"`
	// Callbacks are in descending order of their total time.
	Callbacks []CallbackSummary `json:"callbacks"`
	// Topics are in descending order of their publishes.
	Topics []TopicSummary `json:"topics"`
	Losses []LossTotal    `json:"losses"`
	// Incomplete counts the callback and publish rows of each status but complete.
	Incomplete []StatusCount `json:"incomplete"`
	Warnings   []string      `json:"warnings"`
}

// TableSummary is the extent of one table.
type TableSummary struct {
	Name string `json:"name"`
	// Rows and Bytes are those of readable segments.
	Rows     uint64 `json:"rows"`
	Bytes    int64  `json:"bytes"`
	Segments int    `json:"segments"`
	// Unfinished is the number of segments that are being written or were left behind by a killed recorder.
	Unfinished int `json:"unfinished"`
}

// ProcessSummary is the activity of one process.
type ProcessSummary struct {
	// Process has only its key where the process table does not have it.
	Process   Process `json:"process"`
	Callbacks uint64  `json:"callbacks"`
	Publishes uint64  `json:"publishes"`
	Takes     uint64  `json:"takes"`
	Enqueues  uint64  `json:"enqueues"`
}

// CallbackSummary is the activity of one callback.
type CallbackSummary struct {
	Process   ProcessKey      `json:"process"`
	Callback  Address         `json:"callback"`
	Kind      CallbackKind    `json:"kind"`
	NodeName  string          `json:"node_name"`
	TopicName string          `json:"topic_name"`
	Symbol    string          `json:"symbol"`
	Period    Optional[int64] `json:"period"`
	Count     uint64          `json:"count"`
	// TotalTime and MaxTime are of the executions that have a start and an end, in nanoseconds; Timed is their number.
	TotalTime int64  `json:"total_time"`
	MaxTime   int64  `json:"max_time"`
	Timed     uint64 `json:"timed"`
}

// TopicSummary is the traffic of one topic, of all publishers together.
type TopicSummary struct {
	// TopicName is empty for publishes of unknown topic.
	TopicName string `json:"topic_name"`
	Publishes uint64 `json:"publishes"`
	// Rate is in publishes per second, between the first and the last one; null for fewer than two.
	Rate Optional[float64] `json:"rate"`
	// Received is the number of callbacks and polled takes that got a message of the topic.
	Received uint64 `json:"received"`
}

// StatusCount is the number of a table's rows of one status.
type StatusCount struct {
	Table  string `json:"table"`
	Status string `json:"status"`
	Count  uint64 `json:"count"`
}
