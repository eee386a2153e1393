package perfetto

import "google.golang.org/protobuf/encoding/protowire"

// Numbers of fields, by their messages in protos/perfetto of Perfetto.

const tracePacket protowire.Number = 1 // of Trace

// Of TracePacket.
const (
	packetClockSnapshot    protowire.Number = 6
	packetTimestamp        protowire.Number = 8
	packetSequenceID       protowire.Number = 10 // trusted_packet_sequence_id
	packetTrackEvent       protowire.Number = 11
	packetInternedData     protowire.Number = 12
	packetSequenceFlags    protowire.Number = 13
	packetDeflated         protowire.Number = 50 // compressed_packets
	packetTimestampClockID protowire.Number = 58
	packetDefaults         protowire.Number = 59
	packetTrackDescriptor  protowire.Number = 60
	packetTaskState        protowire.Number = 117 // generic_kernel_task_state_event
	packetZstdCompressed   protowire.Number = 133
)

// Of TracePacketDefaults.
const defaultsTimestampClockID = packetTimestampClockID

// TracePacket.SequenceFlags.
const (
	sequenceCleared    = 1 // SEQ_INCREMENTAL_STATE_CLEARED
	sequenceNeedsState = 2 // SEQ_NEEDS_INCREMENTAL_STATE
)

// Of ClockSnapshot and ClockSnapshot.Clock.
const (
	snapshotClocks       protowire.Number = 1
	snapshotPrimaryClock protowire.Number = 2

	clockID        protowire.Number = 1
	clockTimestamp protowire.Number = 2
)

// BuiltinClock.
const (
	clockRealtime  = 1
	clockMonotonic = 3
)

// Of TrackDescriptor.
const (
	trackUUID    protowire.Number = 1
	trackName    protowire.Number = 2
	trackProcess protowire.Number = 3
	trackThread  protowire.Number = 4
	trackParent  protowire.Number = 5
	trackCounter protowire.Number = 8
)

// Of ProcessDescriptor.
const (
	processPID         protowire.Number = 1
	processCommandLine protowire.Number = 2
	processName        protowire.Number = 6
)

// Of ThreadDescriptor.
const (
	threadPID protowire.Number = 1
	threadTID protowire.Number = 2
)

// Of CounterDescriptor.
const counterUnitName protowire.Number = 6

// Of TrackEvent.
const (
	eventCategoryIIDs     protowire.Number = 3
	eventAnnotations      protowire.Number = 4
	eventType             protowire.Number = 9
	eventNameIID          protowire.Number = 10
	eventTrackUUID        protowire.Number = 11
	eventName             protowire.Number = 23
	eventCounterValue     protowire.Number = 30
	eventFlowIDs          protowire.Number = 47
	eventTerminatingFlows protowire.Number = 48
	eventCorrelationID    protowire.Number = 52
)

// TrackEvent.Type.
const (
	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3
	counter    = 4
)

// Of GenericKernelTaskStateEvent.
const (
	taskCPU      protowire.Number = 1
	taskCommand  protowire.Number = 2
	taskTID      protowire.Number = 3
	taskState    protowire.Number = 4
	taskPriority protowire.Number = 5
)

// GenericKernelTaskStateEvent.TaskStateEnum.
const (
	taskRunnable           = 2
	taskRunning            = 3
	taskInterruptibleSleep = 4
)

// Of DebugAnnotation.
const (
	annotationNameIID   protowire.Number = 1
	annotationInt       protowire.Number = 4
	annotationString    protowire.Number = 6
	annotationStringIID protowire.Number = 17
)

// Of InternedData, and of EventCategory, EventName, DebugAnnotationName and InternedString in it.
const (
	internedCategories        protowire.Number = 1
	internedNames             protowire.Number = 2
	internedAnnotationNames   protowire.Number = 3
	internedAnnotationStrings protowire.Number = 29

	internedID   protowire.Number = 1
	internedText protowire.Number = 2
)
