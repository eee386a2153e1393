// Package model is an executable statement of the kernel's per-thread state machine (bpf/src/callback.h, publish.h,
// take.h, wait.h).
//
// It is written for reading, not for speed. Tests feed the same random events to it and to the compiled BPF programs
// and require the same records.
package model

import (
	"cmp"
	"math"
	"slices"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// Event is one tracepoint hit.
type Event struct {
	TimeNs       uint64
	StackPointer uint64
	PID, TID     uint32
	CPU          uint32
	ID           abi.Event
	// LastLayer: the plan has no later layer of a publish.
	LastLayer bool
	// HasStamp: an rmw_publish whose third argument is the source timestamp.
	HasStamp bool
	// HasMessage: a dds_bind_addr_to_stamp whose first argument is the message.
	HasMessage bool
	Arguments  [5]uint64
	// GID is that of the message's publisher, or of a service's client.
	GID [2]uint64
	// MessageStamp is the message's header.stamp, if Details says so.
	MessageStamp int64
	// Details are those of a message (abi.DetailGID, ...).
	Details uint32
	// Derived: the event was concluded from others.
	Derived bool
	Role    abi.Role
	// CostNs is what the hit costs the thread.
	CostNs uint16
}

// Machine is the state of all threads.
type Machine struct {
	threads map[uint32]*thread
	// Records are *abi.CallbackRecord, *abi.PublishRecord, *abi.TakeRecord, *abi.EnqueueRecord, *abi.ServiceRecord,
	// *abi.WaitRecord and *abi.ThreadRecord in the order in which they complete.
	Records []any
	// DepthExceeded counts callbacks that were nested too deep to be recorded.
	DepthExceeded uint64
}

// NewMachine returns a machine that has seen nothing.
func NewMachine() *Machine {
	return &Machine{threads: map[uint32]*thread{}}
}

type frame struct {
	record       abi.CallbackRecord
	stackPointer uint64
	costNs       uint64 // the thread's account when it began
}

type thread struct {
	account      abi.ThreadRecord
	frames       []frame
	tooDeep      int
	tooDeepStack uint64
	publish      *abi.PublishRecord
	publishCount uint64
	take         *abi.TakeRecord
	dequeue      *abi.TakeRecord
	request      *abi.ServiceRecord
	wait         *abi.WaitRecord
	waitStack    uint64 // the stack pointer at the entry of the function that waits
	hits         uint64
	// sight is the last event that was seen at a caller, or in a body by its link for every process.
	sight *Event
}

// Handle applies one event, unless it is the second sight of a call. All but a thread's exit are hits, seen at some
// place.
func (m *Machine) Handle(e Event) {
	if e.ID != abi.EventThreadExit && m.countHit(e) {
		return
	}
	m.handle(e)
}

// countHit reports whether it was the second sight of a call.
func (m *Machine) countHit(e Event) (repeated bool) {
	t := m.thread(e)
	t.hits++
	unit := &t.account.Units[int(e.ID)%abi.HitUnits]
	unit.Hits++
	unit.CostNs += uint64(e.CostNs)
	t.account.CostNs += uint64(e.CostNs)
	if e.Role == abi.RoleBody || e.Role == abi.RoleOwnBody {
		repeated = t.wasSeenBefore(e)
	}
	if e.Role == abi.RoleCaller || e.Role == abi.RoleBody {
		t.sight = &e
	}
	return repeated
}

// wasSeenBefore reports whether the event's call was the last that its thread was seen to make: at the caller or, for
// the link of one process to the body, by the other link. Seeing a body is enough to forget it.
func (t *thread) wasSeenBefore(e Event) bool {
	if t.sight == nil {
		return false
	}
	last := *t.sight
	t.sight = nil
	return last.ID == e.ID && last.StackPointer == e.StackPointer && last.Arguments == e.Arguments &&
		(last.Role == abi.RoleCaller || e.Role == abi.RoleOwnBody)
}

func (m *Machine) handle(e Event) {
	switch e.ID {
	case abi.EventCallbackStart:
		m.callbackStart(e)
	case abi.EventCallbackEnd:
		m.callbackEnd(e)
	case abi.EventRclcppPublish:
		m.rclcppPublish(e)
	case abi.EventRclPublish:
		m.rclPublish(e)
	case abi.EventRMWPublish:
		m.rmwPublish(e)
	case abi.EventDDSBindAddrToStamp:
		m.bindAddrToStamp(e)
	case abi.EventRclcppIntraPublish:
		m.intraPublish(e)
	case abi.EventRclcppRingBufferEnqueue:
		m.enqueue(e)
	case abi.EventRclcppRingBufferDequeue:
		t := m.thread(e)
		m.unwind(t, e.StackPointer)
		m.flush(&t.dequeue)
		t.dequeue = t.hold(e, abi.FlagFedByDequeue|e.derived())
	case abi.EventRMWTake:
		if e.Arguments[3]&0xff == 0 {
			return
		}
		t := m.thread(e)
		m.unwind(t, e.StackPointer)
		m.flush(&t.take)
		m.flushRequest(t)
		t.take = t.hold(e, abi.FlagFedByTake)
	case abi.EventExecutorExecute:
		if t := m.threads[e.TID]; t != nil {
			m.endPublish(t, abi.PublishNoLastLayer)
			m.unwind(t, e.StackPointer)
			m.flush(&t.take)
			m.flushRequest(t)
		}
	case abi.EventServiceExecuted:
		m.serviceExecuted(e)
	case abi.EventExceptionCaught:
		if t := m.threads[e.TID]; t != nil && t.innermostFrame() < e.StackPointer && e.StackPointer-t.innermostFrame() <= abi.LargestStack {
			m.flush(&t.take)
			m.flush(&t.dequeue)
			m.flushRequest(t)
			m.unwindBelow(t, e.StackPointer)
		}
	case abi.EventServiceCall:
		if t := m.threads[e.TID]; t != nil {
			m.endPublish(t, abi.PublishNoLastLayer)
		}
	case abi.EventRequestTaken:
		t := m.thread(e)
		m.unwind(t, e.StackPointer)
		m.flush(&t.take)
		m.flushRequest(t)
		t.request = t.service(e, abi.ServiceRequestTaken)
	case abi.EventRequestSent:
		m.serviceStep(e, abi.ServiceRequestSent)
	case abi.EventResponseSent:
		m.serviceStep(e, abi.ServiceResponseSent)
	case abi.EventResponseTaken:
		m.serviceStep(e, abi.ServiceResponseTaken)
	case abi.EventWait:
		if e.Role == abi.RoleReturn {
			m.waitEnds(m.thread(e), e)
		} else {
			m.waitBegins(m.thread(e), e)
		}
	case abi.EventThreadExit:
		if t := m.threads[e.TID]; t != nil {
			m.endPublish(t, abi.PublishThreadExit)
			m.flush(&t.take)
			m.flush(&t.dequeue)
			m.flushRequest(t)
			for len(t.frames) > 0 {
				m.pop(t, 0, 0, abi.CallbackThreadExit)
			}
			m.closeWait(t, 0, abi.WaitThreadExit)
			t.account.Header, t.account.TimeNs = header(e, abi.KindThread, 0, 0, 0), e.TimeNs
			m.Records = append(m.Records, &t.account)
			delete(m.threads, e.TID)
		}
	}
}

func (m *Machine) thread(e Event) *thread {
	t := m.threads[e.TID]
	if t == nil {
		t = &thread{}
		m.threads[e.TID] = t
	}
	return t
}

func header(e Event, kind abi.Kind, status, depth, flags uint8) abi.RecordHeader {
	return abi.RecordHeader{Kind: kind, Status: status, Depth: depth, Flags: flags, CPU: e.CPU, PID: e.PID, TID: e.TID}
}

// enclosing returns the innermost callback (address and start) and the flag that says when it is too deep to be known.
func (t *thread) enclosing() (callback, startNs uint64, flag uint8) {
	if t.tooDeep > 0 {
		return 0, 0, abi.FlagParentUnknown
	}
	if len(t.frames) == 0 {
		return 0, 0, 0
	}
	top := &t.frames[len(t.frames)-1].record
	return top.Callback, top.StartNs, 0
}

func (t *thread) hold(e Event, flag uint8) *abi.TakeRecord {
	callback, start, unknown := t.enclosing()
	return &abi.TakeRecord{
		Header: header(e, abi.KindTake, 0, uint8(len(t.frames)), flag|unknown),
		Feed: abi.Feed{
			Source: e.Arguments[0], Message: e.Arguments[1], Stamp: int64(e.Arguments[2]), TimeNs: e.TimeNs,
			GID: e.GID, MessageStamp: e.MessageStamp, Details: e.Details,
		},
		Callback:        callback,
		CallbackStartNs: start,
	}
}

func (m *Machine) flush(pending **abi.TakeRecord) {
	if *pending != nil {
		m.Records = append(m.Records, *pending)
		*pending = nil
	}
}

func (e Event) derived() uint8 {
	if e.Derived {
		return abi.FlagDerived
	}
	return 0
}

func (t *thread) service(e Event, step uint8) *abi.ServiceRecord {
	callback, start, unknown := t.enclosing()
	return &abi.ServiceRecord{
		Header: header(e, abi.KindService, step, uint8(len(t.frames)), unknown),
		TimeNs: e.TimeNs, Handle: e.Arguments[0], Message: e.Arguments[1], GID: e.GID,
		Sequence: int64(e.Arguments[2]), Stamp: int64(e.Arguments[3]), Callback: callback, CallbackStartNs: start,
	}
}

func (m *Machine) serviceStep(e Event, step uint8) {
	t := m.thread(e)
	m.unwindBelow(t, e.StackPointer)
	m.flushRequest(t)
	m.Records = append(m.Records, t.service(e, step))
}

func (m *Machine) flushRequest(t *thread) {
	if t.request != nil {
		m.Records = append(m.Records, t.request)
		t.request = nil
	}
}

// innermostFrame returns the stack pointer of the innermost callback, of the outermost one of those that are too deep,
// the largest one outside of callbacks.
func (t *thread) innermostFrame() uint64 {
	switch {
	case t.tooDeep > 0:
		return t.tooDeepStack
	case len(t.frames) > 0:
		return t.frames[len(t.frames)-1].stackPointer
	}
	return math.MaxUint64
}

// unwind closes the callbacks whose frames an event finds free.
func (m *Machine) unwind(t *thread, stackPointer uint64) { m.unwindBelow(t, stackPointer+1) }

// unwindBelow is unwind for events that can share the frame of a callback.
func (m *Machine) unwindBelow(t *thread, stackPointer uint64) {
	if t.tooDeep > 0 && t.tooDeepStack < stackPointer {
		t.tooDeep = 0
	}
	for len(t.frames) > 0 && t.frames[len(t.frames)-1].stackPointer < stackPointer {
		m.pop(t, 0, 0, abi.CallbackUnwound)
	}
}

func (m *Machine) serviceExecuted(e Event) {
	t := m.threads[e.TID]
	if t == nil {
		return
	}
	m.endPublish(t, abi.PublishNoLastLayer)
	m.flush(&t.take)
	m.flush(&t.dequeue)
	m.flushRequest(t)
	if t.tooDeep > 0 && t.tooDeepStack < e.StackPointer {
		t.tooDeep = 0
	}
	for len(t.frames) > 0 && t.frames[len(t.frames)-1].stackPointer < e.StackPointer {
		last := len(t.frames) - 1
		if last > 0 && t.frames[last-1].stackPointer < e.StackPointer {
			m.pop(t, 0, 0, abi.CallbackUnwound)
			continue
		}
		t.frames[last].record.Header.Flags |= abi.FlagDerived
		m.pop(t, e.TimeNs, e.CPU, abi.CallbackComplete)
	}
}

func (m *Machine) pop(t *thread, endNs uint64, endCPU uint32, status uint8) {
	last := len(t.frames) - 1
	record, costNs := t.frames[last].record, t.frames[last].costNs
	t.frames = t.frames[:last]
	record.Header.Status = status
	record.Header.Depth = uint8(last)
	record.EndNs, record.Feed.CallbackEndCPU = endNs, endCPU
	if endNs != 0 {
		record.OverheadNs = t.account.CostNs - costNs
	}
	if last > 0 {
		parent := t.frames[last-1].record
		record.ParentCallback, record.ParentStartNs = parent.Callback, parent.StartNs
	}
	m.Records = append(m.Records, &record)
}

// wasLeft: a header tells of a callback that is over, because an exception has left it.
func (t *thread) wasLeft(h abi.RecordHeader) bool {
	return int(h.Depth) > len(t.frames) || h.Flags&abi.FlagParentUnknown != 0 && t.tooDeep == 0
}

func (m *Machine) callbackStart(e Event) {
	t := m.thread(e)
	m.endPublish(t, abi.PublishNoLastLayer)
	m.unwind(t, e.StackPointer)
	record := abi.CallbackRecord{Callback: e.Arguments[0], StartNs: e.TimeNs}
	flags := e.derived()
	intraProcess := e.Arguments[1]&1 != 0
	if intraProcess {
		flags |= abi.FlagIntraProcess
	}
	// What is of the other kind, or was taken in a callback that was left, feeds none.
	if t.take != nil && (intraProcess || t.wasLeft(t.take.Header)) {
		m.flush(&t.take)
	}
	if t.dequeue != nil && (!intraProcess || t.wasLeft(t.dequeue.Header)) {
		m.flush(&t.dequeue)
	}
	if t.request != nil {
		if !intraProcess && !t.wasLeft(t.request.Header) {
			flags |= abi.FlagFedByRequest
			t.request.Header.Flags = abi.FlagFedCallback
			t.request.Callback, t.request.CallbackStartNs = e.Arguments[0], e.TimeNs
		}
		m.flushRequest(t)
	}
	if t.dequeue != nil {
		flags |= abi.FlagFedByDequeue | t.dequeue.Header.Flags&abi.FlagDerived
		record.Feed = t.dequeue.Feed
		t.dequeue = nil
	}
	if t.take != nil {
		flags |= abi.FlagFedByTake
		record.Feed = t.take.Feed
		t.take = nil
	}
	if t.tooDeep > 0 || len(t.frames) == abi.MaxDepth {
		if t.tooDeep == 0 {
			t.tooDeepStack = e.StackPointer
		}
		t.tooDeep++
		m.DepthExceeded++
		return
	}
	record.Header = header(e, abi.KindCallback, 0, 0, flags)
	t.frames = append(t.frames, frame{record: record, stackPointer: e.StackPointer, costNs: t.account.CostNs})
}

func (m *Machine) callbackEnd(e Event) {
	orphan := func(depth int) {
		if e.Derived {
			return // it also follows when nothing was there to be taken
		}
		m.Records = append(m.Records, &abi.CallbackRecord{
			Header:   header(e, abi.KindCallback, abi.CallbackStartMissing, uint8(depth), 0),
			Callback: e.Arguments[0],
			EndNs:    e.TimeNs,
			Feed:     abi.Feed{CallbackEndCPU: e.CPU},
		})
	}
	t := m.threads[e.TID]
	if t == nil {
		orphan(0)
		return
	}
	m.endPublish(t, abi.PublishNoLastLayer)
	m.flush(&t.take)
	m.flush(&t.dequeue)
	m.flushRequest(t)
	if t.tooDeep > 0 {
		if e.StackPointer < t.frames[len(t.frames)-1].stackPointer {
			t.tooDeep--
			return
		}
		t.tooDeep = 0
	}
	match := t.ending(e)
	if match < 0 {
		m.unwind(t, e.StackPointer)
		orphan(len(t.frames))
		return
	}
	for len(t.frames) > match+1 {
		m.pop(t, 0, 0, abi.CallbackUnwound)
	}
	m.pop(t, e.TimeNs, e.CPU, abi.CallbackComplete)
}

// ending returns the frame of the callback that ends, or -1. Of several frames of one callback, all at or below the
// stack pointer are over; the outermost of those ends here.
func (t *thread) ending(e Event) int {
	innermost, over := -1, -1
	for i, frame := range slices.Backward(t.frames) {
		if frame.record.Callback != e.Arguments[0] {
			continue
		}
		if innermost < 0 {
			innermost = i
		}
		if frame.stackPointer <= e.StackPointer {
			over = i
		}
	}
	if over >= 0 {
		return over
	}
	return innermost
}

func (m *Machine) waitBegins(t *thread, e Event) {
	m.closeWait(t, 0, abi.WaitEndMissing)
	t.wait = &abi.WaitRecord{
		Header: header(e, abi.KindWait, 0, 0, 0), StartNs: e.TimeNs, Executor: e.Arguments[0], TimeoutNs: int64(e.Arguments[1]),
	}
	t.waitStack = e.StackPointer
}

// waitEnds closes the wait that was called from this frame, at most a return address below. A thread that has shown
// nothing has waited since before the recording.
func (m *Machine) waitEnds(t *thread, e Event) {
	const returnAddress = 8
	switch {
	case t.hits == 1:
		t.wait = &abi.WaitRecord{Header: header(e, abi.KindWait, 0, 0, 0)}
		m.closeWait(t, e.TimeNs, abi.WaitStartMissing)
	case t.waitStack <= e.StackPointer && e.StackPointer <= t.waitStack+returnAddress:
		m.closeWait(t, e.TimeNs, abi.WaitComplete)
	}
}

func (m *Machine) closeWait(t *thread, endNs uint64, status uint8) {
	if t.wait != nil {
		t.wait.EndNs, t.wait.Header.Status = endNs, status
		m.Records = append(m.Records, t.wait)
		t.wait = nil
	}
}

func (m *Machine) closePublish(t *thread, status uint8) {
	t.publish.Header.Status = status
	m.Records = append(m.Records, t.publish)
	t.publish = nil
}

func (m *Machine) endPublish(t *thread, status uint8) {
	if t.publish == nil {
		return
	}
	if t.publish.Layers == abi.LayerIntra|abi.LayerRclcpp && t.publish.Message != t.publish.IntraMessage {
		m.splitOffIntra(t)
	}
	if status == abi.PublishNoLastLayer && t.publish.Layers == abi.LayerIntra {
		status = abi.PublishComplete
	}
	m.closePublish(t, status)
}

func (m *Machine) splitOffIntra(t *thread) {
	inter := *t.publish
	t.publish.RclcppNs, t.publish.Message, t.publish.Layers = 0, 0, abi.LayerIntra
	m.closePublish(t, abi.PublishComplete)
	inter.Number = t.publishCount
	t.publishCount++
	inter.Publisher, inter.IntraMessage, inter.IntraNs, inter.Enqueues = 0, 0, 0, 0
	inter.Header.Flags &^= abi.FlagDerived
	inter.Layers, inter.MessageStamp, inter.Details = abi.LayerRclcpp, 0, 0
	t.publish = &inter
}

func (m *Machine) openPublish(t *thread, e Event, layer uint16) {
	m.endPublish(t, abi.PublishNoLastLayer)
	callback, start, unknown := t.enclosing()
	t.publish = &abi.PublishRecord{
		Header: header(e, abi.KindPublish, 0, uint8(len(t.frames)), unknown|e.derived()), Number: t.publishCount,
		Callback: callback, CallbackStartNs: start, Layers: layer,
	}
	t.publishCount++
}

func (m *Machine) closeIfLast(t *thread, e Event) {
	if e.LastLayer {
		m.closePublish(t, abi.PublishComplete)
	}
}

func (m *Machine) intraPublish(e Event) {
	t := m.thread(e)
	m.unwindBelow(t, e.StackPointer)
	m.openPublish(t, e, abi.LayerIntra)
	t.publish.Publisher, t.publish.IntraMessage, t.publish.IntraNs = e.Arguments[0], e.Arguments[1], e.TimeNs
	t.addDetails(e)
}

// addDetails notes what the probe knows of the message.
func (t *thread) addDetails(e Event) {
	if e.Details&abi.DetailMessageStamp != 0 {
		t.publish.MessageStamp = e.MessageStamp
	}
	t.publish.Details |= uint16(e.Details)
}

func (m *Machine) rclcppPublish(e Event) {
	t := m.thread(e)
	m.unwindBelow(t, e.StackPointer)
	if t.publish != nil && t.publish.Layers == abi.LayerIntra {
		t.publish.Layers |= abi.LayerRclcpp
	} else {
		m.openPublish(t, e, abi.LayerRclcpp)
	}
	t.publish.Message, t.publish.RclcppNs = e.Arguments[1], e.TimeNs
	m.closeIfLast(t, e)
}

func (m *Machine) rclPublish(e Event) {
	t := m.thread(e)
	m.unwindBelow(t, e.StackPointer)
	publisher, message := e.Arguments[0], e.Arguments[1]
	continues := false
	if p := t.publish; p != nil {
		switch p.Layers {
		case abi.LayerRclcpp:
			continues = p.Message == message
		case abi.LayerIntra:
			continues = p.Publisher == publisher
		case abi.LayerIntra | abi.LayerRclcpp:
			continues = p.Message == message
			if continues && p.Publisher != 0 && p.Publisher != publisher {
				m.splitOffIntra(t)
			}
		}
		const special = abi.DetailSerialized | abi.DetailLoaned
		if p.Details&special != 0 && e.Details&special == 0 && p.Layers&abi.LayerRcl != 0 &&
			p.Layers&(abi.LayerRMW|abi.LayerStamp) == 0 && p.Publisher == publisher && p.Message == message {
			continues = true // the tracepoint of its publish follows the function
		}
	}
	if !continues {
		m.openPublish(t, e, 0)
	}
	t.publish.Layers |= abi.LayerRcl
	t.publish.Publisher, t.publish.Message, t.publish.RclNs = publisher, message, e.TimeNs
	if e.Details&abi.DetailStackHandle != 0 {
		t.publish.RMWPublisher = e.Arguments[2]
	}
	t.addDetails(e)
	m.closeIfLast(t, e)
}

func (m *Machine) rmwPublish(e Event) {
	t := m.thread(e)
	m.unwindBelow(t, e.StackPointer)
	message := e.Arguments[1]
	p := t.publish
	if p == nil || p.Layers&(abi.LayerRMW|abi.LayerStamp) != 0 || p.Layers&(abi.LayerRclcpp|abi.LayerRcl) == 0 || p.Message != message {
		m.openPublish(t, e, 0)
	}
	p = t.publish
	p.Layers |= abi.LayerRMW
	p.RMWPublisher, p.Message, p.RMWNs = cmp.Or(e.Arguments[0], p.RMWPublisher), message, e.TimeNs
	if e.HasStamp {
		p.Layers |= abi.LayerStamp
		p.SourceTimestamp, p.StampNs = int64(e.Arguments[2]), e.TimeNs
	}
	m.closeIfLast(t, e)
}

func (m *Machine) bindAddrToStamp(e Event) {
	t := m.threads[e.TID]
	if t == nil || t.publish == nil {
		return
	}
	p := t.publish
	if p.Layers&abi.LayerStamp != 0 || p.Layers&(abi.LayerRcl|abi.LayerRMW) == 0 {
		return
	}
	if e.HasMessage && e.Arguments[0] != p.Message {
		return
	}
	p.Layers |= abi.LayerStamp
	p.SourceTimestamp, p.StampNs = int64(e.Arguments[1]), e.TimeNs
	m.closeIfLast(t, e)
}

func (m *Machine) enqueue(e Event) {
	t := m.thread(e)
	m.unwindBelow(t, e.StackPointer)
	callback, start, flags := t.enclosing()
	flags |= e.derived()
	record := &abi.EnqueueRecord{
		Buffer: e.Arguments[0], Index: e.Arguments[1], Size: e.Arguments[2], TimeNs: e.TimeNs,
		Callback: callback, CallbackStartNs: start,
	}
	if e.Arguments[3]&0xff != 0 {
		flags |= abi.FlagOverwritten
	}
	if t.publish != nil && t.publish.Layers == abi.LayerIntra {
		flags |= abi.FlagInPublish
		t.publish.Enqueues++
		record.PublishNumber, record.Publisher = t.publish.Number, t.publish.Publisher
	}
	record.Header = header(e, abi.KindEnqueue, 0, uint8(len(t.frames)), flags)
	m.Records = append(m.Records, record)
}
