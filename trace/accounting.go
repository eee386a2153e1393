package trace

// LossKind says what was lost.
type LossKind string

// The kinds of lost data.
const (
	LostCallback LossKind = "callback"
	LostPublish  LossKind = "publish"
	LostTake     LossKind = "take"
	LostEnqueue  LossKind = "enqueue"
	LostInit     LossKind = "init"
	LostRaw      LossKind = "raw"
	LostProcess  LossKind = "process"
	LostService  LossKind = "service"
	LostSimTime  LossKind = "sim_time"
	LostWait     LossKind = "wait"
	LostSched    LossKind = "sched"
	// LostThread: what the recording cost a thread that has ended; the total lacks it.
	LostThread LossKind = "thread"
	// LostEvent: calls of which it is not known which rows they would have led to.
	LostEvent LossKind = "event"
)

// LossKinds are all kinds of records that can be lost.
func LossKinds() []LossKind {
	return []LossKind{
		LostCallback, LostPublish, LostTake, LostEnqueue, LostInit, LostRaw, LostProcess, LostService, LostSimTime, LostWait, LostSched, LostThread, LostEvent,
	}
}

// LossReason says why.
type LossReason string

const (
	// LossRingFull: the ring buffer had no room.
	LossRingFull LossReason = "ring_full"
	// LossNoThreadState: the kernel had no memory for the thread's state.
	LossNoThreadState LossReason = "no_thread_state"
	// LossDepthExceeded: callbacks were nested deeper than the thread's stack of frames.
	LossDepthExceeded LossReason = "depth_exceeded"
	// LossMapFull: a BPF map had no room.
	LossMapFull LossReason = "map_full"
	// LossFault: memory of the process that an event's values are in could not be read.
	LossFault LossReason = "fault"
	// LossMissed: the kernel's own count tells of more of them.
	LossMissed LossReason = "missed"
	// LossRecursion: the kernel skipped the probe's program because it was running already.
	LossRecursion LossReason = "recursion"
	// LossUnarmed: a process had mapped a file in which probes were not attached yet, or not any more.
	LossUnarmed LossReason = "unarmed"
)

// LossReasons are all reasons for which records are lost; of LossUnarmed it is not known how many were.
func LossReasons() []LossReason {
	return []LossReason{LossRingFull, LossNoThreadState, LossDepthExceeded, LossMapFull, LossFault, LossMissed, LossRecursion}
}

// Loss counts rows that are missing from the dataset. Rows and losses together are what happened.
type Loss struct {
	Kind   LossKind   `column:"kind"`
	Reason LossReason `column:"reason"`
	// Count is the number lost between FromTimestamp and ToTimestamp; it does not include that of earlier Loss rows. 0,
	// with LossUnarmed, says that it is not known.
	Count         uint64 `column:"count,null"`
	FromTimestamp int64  `column:"from_timestamp"`
	ToTimestamp   int64  `column:"to_timestamp"`
	// PID and ProcessStart name the process, File is the file's path in it, and Events are the tracepoints that were not
	// seen there, with commas between them: with LossUnarmed, of which it is one row a process and file. A File of "" is
	// every file.
	PID          int32  `column:"pid,null"`
	ProcessStart int64  `column:"process_start,null"`
	File         string `column:"file,null"`
	Events       string `column:"events,null"`
}

// Clock is one measurement of the offset of real time to CLOCK_MONOTONIC. All timestamps of the dataset use the offset
// that Session.Clock has, which was measured at the start; the others show how real time was adjusted meanwhile.
type Clock struct {
	// MonotonicTimestamp is CLOCK_MONOTONIC in nanoseconds since boot.
	MonotonicTimestamp int64 `column:"monotonic_timestamp" json:"monotonic_timestamp"`
	// RealtimeTimestamp is CLOCK_REALTIME at that moment.
	RealtimeTimestamp int64 `column:"realtime_timestamp" json:"realtime_timestamp"`
	// RealtimeOffset is RealtimeTimestamp − MonotonicTimestamp, in nanoseconds.
	RealtimeOffset int64 `column:"realtime_offset" json:"realtime_offset"`
	// Uncertainty is half the time that the measurement took, in nanoseconds.
	Uncertainty int64 `column:"uncertainty" json:"uncertainty"`

	// The rest is what the kernel knew of the synchronization of real time then (adjtimex(2)); null where it was not read.

	// Synchronized: whoever sets the clock has said that it is synchronized, and has renewed that in time.
	Synchronized Optional[bool] `column:"synchronized" json:"synchronized,omitzero"`
	// SyncStatus are the bits STA_….
	SyncStatus Optional[int32] `column:"sync_status" json:"sync_status,omitzero"`
	// MaxError bounds how far real time is off, in nanoseconds, by what whoever sets the clock has told the kernel, which
	// adds 500 µs each second. Who tells nothing of the way to the source of time sets it to 0 and leaves it.
	MaxError Optional[int64] `column:"max_error" json:"max_error,omitzero"`
	// EstimatedError is how far real time seems to be off, likewise.
	EstimatedError Optional[int64] `column:"estimated_error" json:"estimated_error,omitzero"`
	// RemainingAdjustment is how far real time is still to be slewed, in nanoseconds.
	RemainingAdjustment Optional[int64] `column:"remaining_adjustment" json:"remaining_adjustment,omitzero"`
	// Frequency is by how much the clock is made faster, in 2⁻¹⁶ parts per million; Tick is how many microseconds a tick
	// of it has, 10,000 if it is not made faster by that, too.
	Frequency Optional[int64] `column:"frequency" json:"frequency,omitzero"`
	Tick      Optional[int64] `column:"tick" json:"tick,omitzero"`
	// TAIOffset is how many seconds TAI is ahead of UTC; 0 if nobody has told the kernel.
	TAIOffset Optional[int32] `column:"tai_offset" json:"tai_offset,omitzero"`
}

// MaxErrorStep is by how much the kernel lets MaxError grow each second (500 ppm), in nanoseconds.
const MaxErrorStep = 500_000

// HasToldError is false where MaxError is nothing but what the kernel has added to 0 itself.
func (c *Clock) HasToldError() bool { return c.MaxError.Valid && c.MaxError.Value%MaxErrorStep != 0 }
