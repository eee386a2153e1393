package trace

// Overhead is what the recording is expected to have cost the traced threads: hits of probes times what each costs on
// this machine.
type Overhead struct {
	// InstructionCosts are the costs of a hit by the kind of the probed instruction, ProgramCost what the program adds; in
	// nanoseconds.
	InstructionCosts map[string]int64 `json:"instruction_costs_ns"`
	ProgramCost      int64            `json:"program_cost_ns"`
	// Measured says that `caret-bpf check --calibrate` measured them on the machine; others are defaults.
	Measured bool `json:"measured"`
	// Duration is how long the recording was open, in nanoseconds.
	Duration int64  `json:"duration_ns"`
	Hits     uint64 `json:"hits"`
	// Cost is the processor time of all threads, in nanoseconds.
	Cost int64 `json:"cost_ns"`
	// Events are where it went, the dearest first.
	Events []EventOverhead `json:"events"`
	// Threads are those with the highest cost, in its order; ThreadCount is how many were hit.
	Threads     []ThreadOverhead `json:"threads"`
	ThreadCount int              `json:"thread_count"`
	// Detached is what was probed no more from some time on, to keep a thread's overhead within the limit that the user
	// gave.
	Detached []DetachedEvent `json:"detached,omitempty"`
}

// DetachedEvent is an event, or a function that completes one, that a recording ceased to probe.
type DetachedEvent struct {
	Event string `json:"event"`
	// Timestamp is in Unix nanoseconds, on the clock of the tables.
	Timestamp int64 `json:"timestamp"`
	// PID and TID are the thread that was over the limit, Share the part of its time that the recording cost, OwnShare
	// that of this event.
	PID      int     `json:"pid"`
	TID      int     `json:"tid"`
	Share    float64 `json:"share"`
	OwnShare float64 `json:"own_share"`
}

// EventOverhead is what the probes of an event, or of a function that completes it, have cost.
type EventOverhead struct {
	Event string `json:"event"`
	Hits  uint64 `json:"hits"`
	Cost  int64  `json:"cost_ns"`
}

// ThreadOverhead is what the recording has cost a thread.
type ThreadOverhead struct {
	PID  int    `json:"pid"`
	TID  int    `json:"tid"`
	Hits uint64 `json:"hits"`
	Cost int64  `json:"cost_ns"`
	// Share is the cost as a part of the recording's duration, PeakShare the highest in about a second (0 for threads that
	// were shorter).
	Share     float64 `json:"share"`
	PeakShare float64 `json:"peak_share"`
}
