// Package abi says what the kernel side (bpf/src) and the recorder share: the numbers of events, records, flags and
// sites, and the records of the ring buffer. A test walks all enumerations and structures of the compiled object's BTF.
package abi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"
)

// Kind is the kind of a kernel record.
type Kind uint8

// The kinds of records.
const (
	KindCallback Kind = 1
	KindPublish  Kind = 2
	KindTake     Kind = 3
	KindEnqueue  Kind = 4
	KindInit     Kind = 5
	KindRaw      Kind = 6
	KindProcess  Kind = 7
	KindService  Kind = 8
	KindSimTime  Kind = 9
	KindThread   Kind = 10
	KindWait     Kind = 11
	// KindScheduledCallback is a callback of which it is known what it was off the CPU for. Losses are KindCallback's.
	KindScheduledCallback Kind = 12
	KindSched             Kind = 13
	KindCount             Kind = 14
)

// kinds are the records by their kinds. A test compares each with the structure NAME_record of the kernel side.
var kinds = [KindCount]struct {
	name   string
	record any
}{
	KindCallback: {"callback", CallbackRecord{}},
	KindPublish:  {"publish", PublishRecord{}},
	KindTake:     {"take", TakeRecord{}},
	KindEnqueue:  {"enqueue", EnqueueRecord{}},
	KindInit:     {"init", InitRecord{}},
	KindRaw:      {"raw", RawRecord{}},
	KindProcess:  {"process", ProcessRecord{}},
	KindService:  {"service", ServiceRecord{}},
	KindSimTime:  {"sim_time", SimTimeRecord{}},
	KindThread:   {"thread", ThreadRecord{}},
	KindWait:     {"wait", WaitRecord{}},

	KindScheduledCallback: {"scheduled_callback", ScheduledCallbackRecord{}},
	KindSched:             {"sched", SchedRecord{}},
}

// String returns the kind's name in the dataset's loss table.
func (k Kind) String() string {
	if int(k) < len(kinds) && kinds[k].name != "" {
		return kinds[k].name
	}
	return fmt.Sprintf("kind_%d", uint8(k))
}

// Statuses of callback records.
const (
	CallbackComplete     = 0
	CallbackUnwound      = 1
	CallbackStartMissing = 2
	CallbackRecordingEnd = 3
	CallbackThreadExit   = 4
)

// Statuses of publish records.
const (
	PublishComplete     = 0
	PublishNoLastLayer  = 1
	PublishRecordingEnd = 2
	PublishThreadExit   = 3
)

// Statuses of service records.
const (
	ServiceRequestSent   = 0
	ServiceRequestTaken  = 1
	ServiceResponseSent  = 2
	ServiceResponseTaken = 3
)

// Statuses of wait records.
const (
	WaitComplete     = 0
	WaitStartMissing = 1
	WaitEndMissing   = 2
	WaitRecordingEnd = 3
	WaitThreadExit   = 4
)

// Statuses of records of the kind KindSched: the thread could run, or could not.
const (
	SchedPreempted = 0
	SchedBlocked   = 1
)

// Statuses of process records.
const (
	ProcessFork = 1
	ProcessExec = 2
	ProcessExit = 3
	// ProcessLoad: it begins or ends to map libraries, or to unmap them.
	ProcessLoad = 4
)

// Flags of a record header.
const (
	FlagIntraProcess       = 1
	FlagFedByTake          = 2
	FlagFedByDequeue       = 4
	FlagParentUnknown      = 8
	FlagOverwritten        = 16
	FlagTaken              = 16 // of services: rcl itself says that something was taken, for the one that took it
	FlagInPublish          = 32
	FlagFedByRequest       = 64  // of callbacks
	FlagOverwrittenUnknown = 64  // of derived enqueues: whether one was overwritten is not known
	FlagFedCallback        = 64  // of services
	FlagDerived            = 128 // of enqueues, publishes, callbacks and takes
	FlagStringFault        = 64  // of init records
	FlagStringCut          = 128 // of init records
)

// Details of a message: which optional values are there, and its form.
const (
	DetailGID          = 1
	DetailMessageStamp = 2
	DetailSerialized   = 4
	DetailLoaned       = 8
	DetailStackHandle  = 16
	DetailFormUnknown  = 32
)

// Layers of a publish record.
const (
	LayerIntra  = 1
	LayerRclcpp = 2
	LayerRcl    = 4
	LayerRMW    = 8
	LayerStamp  = 16
)

// UnknownSlot stands for a slot of a ring buffer that is not certain.
const UnknownSlot = ^uint64(0)

// Overwritten says whether an enqueue has dropped a message.
type Overwritten uint32

const (
	OverwrittenNo      Overwritten = 0
	OverwrittenYes     Overwritten = 1
	OverwrittenUnknown Overwritten = 2
	// NoEnqueue: there was none, because it has been seen already.
	NoEnqueue Overwritten = 3
)

// Limits of the kernel side.
const (
	// MaxDepth is the number of callbacks that may be open on a thread.
	MaxDepth = 16
	// LargestStack is that of a thread: what is caught further up is on another one.
	LargestStack = 8 << 20
	// LargestDoubt is the number of uncertain operations of a ring buffer in a row after which what is read counts again.
	LargestDoubt = 64
)

// What rcl_client_init tells in place of a second string, by its size, which is the last argument.
const (
	ClientGUIDsSize  = 32 // with Fast DDS, the GUIDs of the client's writer and reader
	ClientHandleSize = 8  // with Cyclone DDS, its instance handle
)

// Positions of the gate: what is recorded.
const (
	GateClosed   uint32 = 0
	GateEntities uint32 = 1
	GateOpen     uint32 = 2
)

// What the links of a set do with a hit.
const (
	LinksFilter uint32 = 1  // record only listed processes
	LinksEarly  uint32 = 2  // do not record yet
	LinksTake   uint32 = 4  // record in place of the other set's, and note that
	LinksYield  uint32 = 8  // record what the other set's have not taken
	LinksChange uint32 = 16 // the rest is the number of the change that the last two are of
)

// ListedForEntities stands, on the list of processes to record, in place of when a process began: only what it creates
// and destroys is recorded.
const ListedForEntities uint64 = 1

// HeaderAdapted comes with the offset of a header: intra-process messages of the publisher may be of another type.
const HeaderAdapted uint32 = 1 << 31

// The types below are those of bpf/src/records.h and bpf/src/thread_state.h, field by field. Times are CLOCK_MONOTONIC
// nanoseconds.

// RecordHeader begins every record.
type RecordHeader struct {
	Kind   Kind
	Status uint8
	Depth  uint8
	Flags  uint8
	CPU    uint32
	PID    uint32
	TID    uint32
}

// Feed is a take or dequeue that may feed a callback.
type Feed struct {
	// Source is the rmw subscription handle or the ring buffer.
	Source uint64
	// Message is the message's address or the buffer's index.
	Message uint64
	// Stamp is the source timestamp or the buffer's size after the dequeue.
	Stamp  int64
	TimeNs uint64
	// GID is the publisher's; of a dequeue, its first word is the message's address, 0 if unknown.
	GID [2]uint64
	// MessageStamp is the message's header.stamp.
	MessageStamp int64
	Details      uint32
	// CallbackEndCPU is the CPU at EndNs of a callback's record, which has no other room for it; 0 in takes.
	CallbackEndCPU uint32
}

// CallbackRecord is merged_callback_timing.
type CallbackRecord struct {
	Header         RecordHeader
	Callback       uint64
	StartNs        uint64
	EndNs          uint64
	ParentCallback uint64
	ParentStartNs  uint64
	// OverheadNs is what hits between start and end cost, the one at the end included.
	OverheadNs uint64
	Feed       Feed
}

// Scheduling is what a thread was off the CPU for, in a while.
type Scheduling struct {
	// PreemptedNs is how long it could run, BlockedNs how long it could not, WakeupNs how long it was awake again and did
	// not run yet.
	PreemptedNs, BlockedNs, WakeupNs uint64
	Preemptions, Migrations          uint32
}

// ScheduledCallbackRecord is a complete callback of which it is known what it was off the CPU for.
type ScheduledCallbackRecord struct {
	Callback   CallbackRecord
	Scheduling Scheduling
}

// PublishRecord is merged_publish_timing.
type PublishRecord struct {
	Header          RecordHeader
	Number          uint64
	Publisher       uint64
	RMWPublisher    uint64
	Message         uint64
	IntraMessage    uint64
	IntraNs         uint64
	RclcppNs        uint64
	RclNs           uint64
	RMWNs           uint64
	StampNs         uint64
	SourceTimestamp int64
	Callback        uint64
	CallbackStartNs uint64
	MessageStamp    int64
	Enqueues        uint32
	Layers          uint16
	Details         uint16
}

// TakeRecord is a take or dequeue that fed no callback.
type TakeRecord struct {
	Header          RecordHeader
	Feed            Feed
	Callback        uint64
	CallbackStartNs uint64
}

// EnqueueRecord is rclcpp_ring_buffer_enqueue.
type EnqueueRecord struct {
	Header          RecordHeader
	Buffer          uint64
	Index           uint64
	Size            uint64
	TimeNs          uint64
	PublishNumber   uint64
	Publisher       uint64
	Callback        uint64
	CallbackStartNs uint64
}

// ServiceRecord is one step of a service call; the header's status is the step.
type ServiceRecord struct {
	Header          RecordHeader
	TimeNs          uint64
	Handle          uint64
	Message         uint64
	GID             [2]uint64
	Sequence        int64
	Stamp           int64
	Callback        uint64
	CallbackStartNs uint64
}

// SimTimeRecord is rcl_set_ros_time_override.
type SimTimeRecord struct {
	Header    RecordHeader
	TimeNs    uint64
	Clock     uint64
	SimTimeNs int64
}

// WaitRecord is a call of rclcpp::Executor::wait_for_work. The start is 0 if it was before the recording, the end if it
// was not seen.
type WaitRecord struct {
	Header    RecordHeader
	StartNs   uint64
	EndNs     uint64
	Executor  uint64
	TimeoutNs int64
}

// OtherThread is who had to do with a thread that was off the CPU.
type OtherThread struct {
	PID      uint32
	TID      uint32 // 0: nobody, or the idle thread
	Priority int32
	Reserved uint32
	Command  [16]byte
}

// SchedRecord is a time off the CPU of a thread. The header's CPU is where it came back.
type SchedRecord struct {
	Header RecordHeader
	OutNs  uint64
	InNs   uint64
	// WakingNs is of one that blocked; 0: no waking was seen.
	WakingNs uint64
	// Callback is the innermost that was open.
	Callback        uint64
	CallbackStartNs uint64
	OutCPU          uint32
	Priority        int32
	// Other has got the CPU or, where the thread blocked, ran where it was woken.
	Other OtherThread
}

// HitUnits is the number of units by which hits are counted.
const HitUnits = 32

// HitCount counts the hits of a unit on a thread, and what they are expected to have cost.
type HitCount struct{ Hits, CostNs uint64 }

// ThreadRecord is what recording has cost a thread.
type ThreadRecord struct {
	Header RecordHeader
	// TimeNs is the thread's end, 0 while it runs.
	TimeNs uint64
	// CostNs is that of all units.
	CostNs uint64
	Units  [HitUnits]HitCount
}

// InitStringSize is the room of each of an init record's two strings; a single long one may use both.
const InitStringSize = 256

// Arguments of an event that records hold.
const (
	InitArguments = 5
	RawArguments  = 5
)

// InitRecord is an initialization event; the header's status is its event id.
type InitRecord struct {
	Header    RecordHeader
	TimeNs    uint64
	Arguments [InitArguments]uint64
	Strings   [2 * InitStringSize]byte
}

// RawRecord is one unmerged tracepoint hit; the header's status is its event id.
type RawRecord struct {
	Header       RecordHeader
	TimeNs       uint64
	StackPointer uint64
	Arguments    [RawArguments]uint64
}

// ProcessRecord is a fork, exec or exit.
type ProcessRecord struct {
	Header          RecordHeader
	TimeNs          uint64
	StartBoottimeNs uint64
	ParentPID       uint32
	Reserved        uint32
	Command         [16]byte
}

// startResolution is the resolution of a process's start time in /proc, in nanoseconds: the kernel's USER_HZ is 100
// everywhere.
const startResolution = 10_000_000

// Start returns when the process started, in nanoseconds since boot, as /proc tells it.
func (r ProcessRecord) Start() int64 {
	return StartOf(r.StartBoottimeNs)
}

// StartOf is when a process began, as /proc tells it: nanoseconds since boot to the clock tick, of the kernel's time.
func StartOf(boottime uint64) int64 { return int64(boottime / startResolution * startResolution) }

// CommandName returns the name of the program, as /proc/PID/comm has it.
func (r ProcessRecord) CommandName() string {
	name, _, _ := bytes.Cut(r.Command[:], []byte{0})
	return string(name)
}

// ProcessAddress is the key of maps: an address of a process.
type ProcessAddress struct {
	Address  uint64
	PID      uint32
	Reserved uint32
}

// CallbackFrame is an open callback of a thread.
type CallbackFrame struct {
	Callback     uint64
	StartNs      uint64
	StackPointer uint64
	CostNs       uint64
	Feed         Feed
	CPU          uint32
	Flags        uint8
	Steps        uint8
	Reserved     [2]uint8
}

// TakeCall, ServiceCall and IntraPublisher belong to the probes: what calls of rcl that are under way have been given.
type (
	TakeCall struct {
		Subscription, Message, Info uint64
		Details, Open               uint32
	}
	ServiceCall struct {
		Handle, Message, Values, TimeNs uint64
		GID                             [2]uint64
		Sequence                        int64
		Open                            uint64
	}
	IntraPublisher struct {
		Handle, TimeNs, Opened uint64
	}
)

// Sight is the last event that may be seen once more: one call is seen at several places.
type Sight struct {
	StackPointer uint64
	Arguments    [RawArguments]uint64
	Event        uint32
	Role         uint32
}

// ThreadState is what the kernel remembers of a thread between its events.
type ThreadState struct {
	PID                  uint32
	TID                  uint32
	PublishCount         uint64
	Depth                uint32
	Overflow             uint32
	OverflowStackPointer uint64
	PublishOpen          uint32
	TakePending          uint32
	DequeuePending       uint32
	RequestPending       uint32
	Steps                uint8
	IsWatched            uint8
	Reserved             [2]uint8
	WaitOpen             uint32
	WaitStackPointer     uint64
	LinksTaken           [HitUnits]uint32
	Account              ThreadRecord
	Take                 TakeRecord
	Dequeue              TakeRecord
	Publish              PublishRecord
	Request              ServiceRecord
	Wait                 WaitRecord
	TakeCall             TakeCall
	ServiceCall          ServiceCall
	IntraPublisher       IntraPublisher
	Sight                Sight
	Scheduling           Scheduling
	IsSchedulingKnown    uint64
	Frames               [MaxDepth]CallbackFrame
}

// ErrRecord is returned for bytes that are no record of this version.
var ErrRecord = errors.New("not a record of this version's kernel side")

// ThreadRecord returns the account of the thread so far.
func (s *ThreadState) ThreadRecord() ThreadRecord {
	account := s.Account
	account.Header.PID, account.Header.TID = s.PID, s.TID
	return account
}

// KindOf returns the kind of an encoded record.
func KindOf(record []byte) (Kind, error) {
	if len(record) < int(unsafe.Sizeof(RecordHeader{})) {
		return 0, fmt.Errorf("%w: %d bytes", ErrRecord, len(record))
	}
	return Kind(record[0]), nil
}

// PIDOf returns the PID in an encoded record of which KindOf tells the kind.
func PIDOf(record []byte) int32 {
	return int32(binary.NativeEndian.Uint32(record[unsafe.Offsetof(RecordHeader{}.PID):]))
}

// Decode copies an encoded record or thread state into its type. The ring buffer may append up to 7 bytes of alignment.
func Decode[T CallbackRecord | ScheduledCallbackRecord | SchedRecord | ThreadRecord | PublishRecord | TakeRecord | EnqueueRecord | ServiceRecord | SimTimeRecord | WaitRecord | InitRecord | RawRecord | ProcessRecord | ThreadState](encoded []byte, into *T) error {
	size := int(unsafe.Sizeof(*into))
	if len(encoded) < size || len(encoded) >= size+8 {
		return fmt.Errorf("%w: %d bytes, want %d", ErrRecord, len(encoded), size)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(into)), size), encoded)
	return nil
}
