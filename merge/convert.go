package merge

import (
	"cmp"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

var callbackStatuses = [...]trace.CallbackStatus{
	abi.CallbackComplete:     trace.CallbackComplete,
	abi.CallbackUnwound:      trace.CallbackUnwound,
	abi.CallbackStartMissing: trace.CallbackStartMissing,
	abi.CallbackRecordingEnd: trace.CallbackRecordingEnd,
	abi.CallbackThreadExit:   trace.CallbackThreadExit,
}

var publishStatuses = [...]trace.PublishStatus{
	abi.PublishComplete:     trace.PublishComplete,
	abi.PublishNoLastLayer:  trace.PublishNoLastLayer,
	abi.PublishRecordingEnd: trace.PublishRecordingEnd,
	abi.PublishThreadExit:   trace.PublishThreadExit,
}

func statusName[S ~string](names []S, status uint8) S {
	if int(status) < len(names) {
		return names[status]
	}
	return ""
}

// addCallback adds the row of a callback. off is what it was off the CPU for, nil if that is not known.
func (m *Merger) addCallback(record *abi.CallbackRecord, off *abi.Scheduling) {
	process := m.processOf(record.Header.PID)
	row, info := m.callbackOf(process, record)
	if record.StartNs != 0 {
		m.tellIntraProcess(process, row.IsIntraProcess.Value)
	}
	m.addFeed(process, record, &row, info)
	if off != nil {
		addScheduling(&row, off)
	}
	verdict := m.options.Filter.judge(row.NodeName, row.TopicName, row.Kind != trace.KindTimer)
	if verdict == drop {
		m.ignore(row.PID, record.Callback)
	}
	if m.keeps(verdict) {
		m.rows.Callbacks = append(m.rows.Callbacks, row)
	}
}

// callbackOf is the row of a callback without what fed it, and what is known of the callback, nil if nothing is.
func (m *Merger) callbackOf(process *Process, record *abi.CallbackRecord) (row trace.Callback, info *trace.CallbackInfo) {
	row = trace.Callback{
		ProcessKey:                   process.Key,
		TID:                          int32(record.Header.TID),
		CPU:                          int32(record.Header.CPU),
		Callback:                     trace.Address(record.Callback),
		CallbackStartTimestamp:       m.optionalUnix(record.StartNs),
		CallbackEndTimestamp:         m.optionalUnix(record.EndNs),
		Status:                       statusName(callbackStatuses[:], record.Header.Status),
		Depth:                        int32(record.Header.Depth),
		ParentCallback:               trace.Address(record.ParentCallback),
		ParentCallbackStartTimestamp: m.optionalUnix(record.ParentStartNs),
		Provenance:                   provenance(record.Header),
	}
	if record.EndNs != 0 {
		row.EndCPU = trace.Some(int32(record.Feed.CallbackEndCPU))
	}
	if record.StartNs != 0 && record.EndNs != 0 {
		row.Overhead = trace.Some(int64(record.OverheadNs))
	}
	at := m.unix(max(record.StartNs, record.EndNs))
	if record.StartNs != 0 {
		at = m.unix(record.StartNs)
		row.IsIntraProcess = trace.Some(record.Header.Flags&abi.FlagIntraProcess != 0)
	}
	info, known := process.Graph.Callback(row.Callback, at)
	if known {
		row.Kind, row.TopicName, row.NodeName, row.Period, row.Symbol = info.Kind, info.TopicName, info.NodeName, info.Period, info.Symbol
		if row.Kind == trace.KindSubscription || row.Kind == trace.KindIntraProcessSubscription {
			row.SubscriptionHandle = info.OwnerHandle
		}
	}
	if row.Kind == "" && row.IsIntraProcess.Value {
		row.Kind = trace.KindIntraProcessSubscription
	}
	if !known {
		info = nil
	}
	return row, info
}

// addScheduling splits the duration of a complete callback. Where clocks of two CPUs disagree so much that the parts
// are more than the whole, none of them is known.
func addScheduling(row *trace.Callback, off *abi.Scheduling) {
	preempted, blocked, wakeup := int64(off.PreemptedNs), int64(off.BlockedNs), int64(off.WakeupNs)
	cpu := row.CallbackEndTimestamp.Value - row.CallbackStartTimestamp.Value - preempted - blocked - wakeup
	if cpu < 0 {
		return
	}
	row.CPUTime, row.PreemptedTime, row.BlockedTime = trace.Some(cpu), trace.Some(preempted), trace.Some(blocked)
	row.WakeupLatency = trace.Some(wakeup)
	row.Preemptions, row.Migrations = trace.Some(int32(off.Preemptions)), trace.Some(int32(off.Migrations))
}

// slot is null where the kernel side is not certain of it.
func slot(index uint64) trace.Optional[uint64] {
	if index == abi.UnknownSlot {
		return trace.Optional[uint64]{}
	}
	return trace.Some(index)
}

// tellIntraProcess tells of the first callback that an intra-process message feeds if nothing else shows such a
// subscription.
func (m *Merger) tellIntraProcess(process *Process, isIntraProcess bool) {
	if isIntraProcess && !process.Graph.HasIntraProcess() {
		process.Graph.NoteIntraProcess()
		if m.options.OnIntraProcess != nil {
			m.options.OnIntraProcess(process.Key.PID, 0)
		}
	}
}

// addFeed fills in what fed a callback, of which info is what is known, nil if nothing is. The kernel joins a take with
// the next callback of its thread, but that may be another's: rclcpp drops messages that come through intra-process
// communication, too, and a message may be polled. So a callback takes only what is known to be of its own
// subscription; all else is a take by itself.
func (m *Merger) addFeed(process *Process, record *abi.CallbackRecord, row *trace.Callback, info *trace.CallbackInfo) {
	feed := &record.Feed
	flags := record.Header.Flags & (abi.FlagFedByTake | abi.FlagFedByDequeue)
	if flags == 0 {
		return
	}
	at := m.unix(feed.TimeNs)
	var use usage
	if flags == abi.FlagFedByDequeue {
		use = process.usageOfDequeue(trace.Address(feed.Source), m.unix(record.StartNs), row.Callback)
	} else {
		use = process.usageOfTake(trace.Address(feed.Source), at, row.Callback, info)
	}
	if use != usedByCallback {
		taken := flags
		if flags == abi.FlagFedByDequeue {
			taken |= record.Header.Flags & abi.FlagDerived
			row.Provenance = trace.FromTracepoint // what was derived is not in this row
		}
		m.addFreeTake(&abi.TakeRecord{
			Header: abi.RecordHeader{
				Kind: abi.KindTake, Flags: taken, Depth: record.Header.Depth,
				CPU: record.Header.CPU, PID: record.Header.PID, TID: record.Header.TID,
			},
			Feed: *feed, Callback: record.ParentCallback, CallbackStartNs: record.ParentStartNs,
		}, use)
		return
	}
	if flags == abi.FlagFedByDequeue {
		row.Buffer = trace.Address(feed.Source)
		row.DequeueIndex = slot(feed.Message)
		row.DequeueSize = trace.Some(uint64(feed.Stamp))
		row.DequeueTimestamp = m.optionalUnix(feed.TimeNs)
		row.Message = trace.Address(feed.GID[0])
		return
	}
	row.Kind = trace.KindSubscription
	row.SubscriptionHandle = info.OwnerHandle
	row.RMWSubscriptionHandle = trace.Address(feed.Source)
	row.Message = trace.Address(feed.Message)
	row.SourceTimestamp = trace.Some(feed.Stamp)
	row.RMWTakeTimestamp = trace.Some(at)
	row.PublisherGID, row.MessageTimestamp = publisherGID(feed, m.gids), messageTimestamp(feed)
}

func (m *Merger) addPublish(record *abi.PublishRecord) {
	process := m.processOf(record.Header.PID)
	row := trace.Publish{
		ProcessKey:             process.Key,
		TID:                    int32(record.Header.TID),
		CPU:                    int32(record.Header.CPU),
		PublishNumber:          record.Number,
		PublisherHandle:        trace.Address(record.Publisher),
		RMWPublisherHandle:     trace.Address(record.RMWPublisher),
		Message:                trace.Address(record.Message),
		IntraMessage:           trace.Address(record.IntraMessage),
		Status:                 statusName(publishStatuses[:], record.Header.Status),
		EnqueueCount:           record.Enqueues,
		Callback:               trace.Address(record.Callback),
		CallbackStartTimestamp: m.optionalUnix(record.CallbackStartNs),
		Depth:                  int32(record.Header.Depth),
		Provenance:             provenance(record.Header),
	}
	if record.Layers&abi.LayerRcl != 0 {
		row.Kind = publishKind(record.Details)
	}
	if record.Details&abi.DetailMessageStamp != 0 {
		row.MessageTimestamp = trace.Some(record.MessageStamp)
	}
	first := int64(0)
	for _, layer := range []struct {
		bit    uint16
		timeNs uint64
		column *trace.Optional[int64]
	}{
		{abi.LayerIntra, record.IntraNs, &row.RclcppIntraPublishTimestamp},
		{abi.LayerRclcpp, record.RclcppNs, &row.RclcppPublishTimestamp},
		{abi.LayerRcl, record.RclNs, &row.RclPublishTimestamp},
		{abi.LayerRMW, record.RMWNs, &row.RMWPublishTimestamp},
		{abi.LayerStamp, record.StampNs, &row.DDSBindAddrToStampTimestamp},
	} {
		if record.Layers&layer.bit == 0 {
			continue
		}
		*layer.column = trace.Some(m.unix(layer.timeNs))
		if first == 0 {
			first = layer.column.Value
		}
	}
	if record.Layers&abi.LayerStamp != 0 {
		row.SourceTimestamp = trace.Some(record.SourceTimestamp)
	}
	if record.Details&abi.DetailStackHandle != 0 {
		row.PublisherHandle = 0
	}
	publisher, known := m.publisher(process, row.PublisherHandle, row.RMWPublisherHandle, first)
	if known {
		row.TopicName, row.NodeName = publisher.TopicName, publisher.NodeName
		if row.PublisherHandle == 0 {
			row.PublisherHandle = publisher.PublisherHandle
		}
		if row.RMWPublisherHandle == 0 {
			row.RMWPublisherHandle = publisher.RMWPublisherHandle
		}
		if record.Layers&abi.LayerIntra != 0 {
			process.Graph.NoteIntraProcessPublish(row.PublisherHandle, first)
		}
	}
	verdict := m.options.Filter.judge(row.NodeName, row.TopicName, true)
	if verdict == drop && record.Details&abi.DetailStackHandle == 0 {
		m.ignore(row.PID, cmp.Or(record.Publisher, record.RMWPublisher))
	}
	if m.keeps(verdict) {
		m.rows.Publishes = append(m.rows.Publishes, row)
	}
}

func (m *Merger) publisher(process *Process, handle, rmwHandle trace.Address, at int64) (*trace.Publisher, bool) {
	if handle != 0 {
		return process.Graph.Publisher(handle, at)
	}
	return process.Graph.PublisherByRMW(rmwHandle, at)
}

// addTake adds what was taken and fed no callback.
func (m *Merger) addTake(record *abi.TakeRecord) { m.addFreeTake(record, usedByNoCallback) }

// addFreeTake adds what was taken and is not known to have fed a callback.
func (m *Merger) addFreeTake(record *abi.TakeRecord, use usage) {
	process := m.processOf(record.Header.PID)
	row := trace.Take{
		ProcessKey:             process.Key,
		TID:                    int32(record.Header.TID),
		CPU:                    int32(record.Header.CPU),
		Callback:               trace.Address(record.Callback),
		CallbackStartTimestamp: m.optionalUnix(record.CallbackStartNs),
		Provenance:             provenance(record.Header),
	}
	at := m.unix(record.Feed.TimeNs)
	if record.Header.Flags&abi.FlagFedByDequeue != 0 {
		row.Kind = trace.TakeDequeue
		if use == usedUnknown {
			row.Kind = trace.TakeUnattributed
		}
		row.Buffer = trace.Address(record.Feed.Source)
		row.DequeueIndex = slot(record.Feed.Message)
		row.DequeueSize = trace.Some(uint64(record.Feed.Stamp))
		row.DequeueTimestamp = trace.Some(at)
		row.Message = trace.Address(record.Feed.GID[0])
	} else {
		row.Kind = process.kindOfTake(&record.Feed, at, use)
		row.PublisherGID, row.MessageTimestamp = publisherGID(&record.Feed, m.gids), messageTimestamp(&record.Feed)
		row.RMWSubscriptionHandle = trace.Address(record.Feed.Source)
		row.Message = trace.Address(record.Feed.Message)
		row.SourceTimestamp = trace.Some(record.Feed.Stamp)
		row.RMWTakeTimestamp = trace.Some(at)
		if subscription, known := process.Graph.SubscriptionByRMW(row.RMWSubscriptionHandle, at); known {
			row.SubscriptionHandle, row.TopicName, row.NodeName = subscription.SubscriptionHandle, subscription.TopicName, subscription.NodeName
		}
	}
	verdict := m.options.Filter.judge(row.NodeName, row.TopicName, true)
	if verdict == drop {
		m.ignore(row.PID, record.Feed.Source)
	}
	if m.keeps(verdict) {
		m.rows.Takes = append(m.rows.Takes, row)
	}
}

func (m *Merger) addEnqueue(record *abi.EnqueueRecord) {
	process := m.processOf(record.Header.PID)
	row := trace.Enqueue{
		ProcessKey:             process.Key,
		TID:                    int32(record.Header.TID),
		CPU:                    int32(record.Header.CPU),
		Buffer:                 trace.Address(record.Buffer),
		Index:                  slot(record.Index),
		Size:                   record.Size,
		Overwritten:            trace.Some(record.Header.Flags&abi.FlagOverwritten != 0),
		EnqueueTimestamp:       m.unix(record.TimeNs),
		Callback:               trace.Address(record.Callback),
		CallbackStartTimestamp: m.optionalUnix(record.CallbackStartNs),
		Provenance:             trace.FromTracepoint,
	}
	switch {
	case record.Header.Flags&abi.FlagDerived != 0:
		row.Provenance = trace.Derived
		if record.Header.Flags&abi.FlagOverwrittenUnknown != 0 {
			row.Overwritten = trace.Optional[bool]{}
		}
	case row.Overwritten.Value:
		row.Size-- // the tracepoint counts the message that is about to be dropped
	}
	node := ""
	if record.Header.Flags&abi.FlagInPublish != 0 {
		row.PublishNumber = trace.Some(record.PublishNumber)
		row.PublisherHandle = trace.Address(record.Publisher)
		if publisher, known := process.Graph.Publisher(row.PublisherHandle, row.EnqueueTimestamp); known {
			row.TopicName, node = publisher.TopicName, publisher.NodeName
		}
	}
	if m.keeps(m.options.Filter.judge(node, row.TopicName, true)) {
		m.rows.Enqueues = append(m.rows.Enqueues, row)
	}
}
