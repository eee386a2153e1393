// Package merge turns the kernel's records into rows of the dataset.
//
// The kernel already merges the tracepoints of a thread (see bpf/); this package converts the clock of its records
// (bpf/abi), and joins them with the entities known so far. Rows leave in the order in which records completed, so
// memory is bounded whatever a long callback does.
package merge

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Process is a traced process: its identity in the dataset and its entities.
type Process struct {
	Key   trace.ProcessKey
	Graph *entities.Graph
	// RMWImplementation is the name of the process's implementation of rmw, "" while it is not known.
	RMWImplementation string
	// Unwanted says that nothing of it is to be told, until it runs another program.
	Unwanted bool
	// Memory is what Graph reads, closed when the process is replaced; nil if it reads none.
	Memory io.Closer

	recorded bool // a record of it has come
}

// CloseMemory ends the graph's reading of the process's memory.
func (p *Process) CloseMemory() error {
	p.Graph.SetMemory(nil, nil)
	if p.Memory == nil {
		return nil
	}
	memory := p.Memory
	p.Memory = nil
	return memory.Close()
}

// Options configure a Merger.
type Options struct {
	// RealtimeOffset is CLOCK_REALTIME − CLOCK_MONOTONIC at the start of the recording, in nanoseconds.
	RealtimeOffset int64
	// Filter drops rows by node and topic; nil keeps all.
	Filter *Filter
	// Identify is called for the first record of a process that was not added. It must always return a process.
	Identify func(pid int32) *Process
	// OnRecorded is told, once for each process, that there is a record of it. nil if nobody wants to know.
	OnRecorded func(process trace.ProcessKey)
	// OnProcess is told of forks, execs, exits and changes of libraries.
	OnProcess func(abi.ProcessRecord)
	// OnIgnored is told when the filter has decided about an address (a callback, or a handle): the kernel need not record
	// it. ignored is false when a new entity took the address. It returns whether there is room: if not, it is asked no
	// more for this process, whose records are dropped here.
	OnIgnored func(pid int32, address uint64, ignored bool) bool
	// OnIntraProcess is told of a process that creates a subscription with intra-process communication, with the time of
	// the event on CLOCK_MONOTONIC in nanoseconds, and once of a process that is seen to have had one: at is 0. nil if
	// nobody wants to know.
	OnIntraProcess func(pid int32, at int64)
	// OnMessageType is told the type of the messages of a publisher (its rcl handle) or a subscription (its rmw handle)
	// when it becomes known. nil if nobody wants to know.
	OnMessageType func(process trace.ProcessKey, known entities.KnownType)
	// OnThread is told what the recording has cost a thread that has ended, or that still ran when the recording ended.
	// nil if nobody wants to know.
	OnThread func(abi.ThreadRecord)
	// EventName gives the name and the number of arguments of a raw record's event.
	EventName func(id uint8) (name string, arguments int)
}

// Merger turns kernel records into rows. It is safe for concurrent use.
type Merger struct {
	mu        sync.Mutex
	options   Options
	processes map[int32]*Process
	ignored   map[int32]*ignoredAddresses // by PID
	rows      trace.Batch
	numbers   entities.Numbers // of entities and their rows
	gids      gidTexts
	// unresolved are the lines that Unresolved has of processes that are forgotten.
	unresolved []string
	unlisted   uint64 // how many more there were
	merged     atomic.Uint64
	lost       lostSpan
	withheld   uint64 // rows that were dropped because nothing tells whether they are of what was selected

	callback  abi.CallbackRecord
	scheduled abi.ScheduledCallbackRecord
	sched     abi.SchedRecord
	publish   abi.PublishRecord
	take      abi.TakeRecord
	enqueue   abi.EnqueueRecord
	init      abi.InitRecord
	raw       abi.RawRecord
	process   abi.ProcessRecord
	service   abi.ServiceRecord
	simTime   abi.SimTimeRecord
	wait      abi.WaitRecord
	thread    abi.ThreadRecord
}

// New returns a Merger without processes.
func New(options Options) *Merger {
	if options.Filter == nil {
		options.Filter = &Filter{}
	}
	return &Merger{options: options, processes: map[int32]*Process{}, ignored: map[int32]*ignoredAddresses{}, gids: gidTexts{}}
}

// AddIfAbsent adds the process that make returns, unless one with its PID is known already, of which records may have
// come. make is called while nothing else uses the Merger.
func (m *Merger) AddIfAbsent(pid int32, make func() *Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.processes[pid]
	if known != nil && !known.Unwanted {
		return
	}
	if known != nil {
		_ = m.discard(known) // its memory was only read
	}
	m.put(pid, make())
}

// put makes a process known. One that ran when initialization events were lost may have lost some.
func (m *Merger) put(pid int32, process *Process) {
	m.processes[pid] = process
	if m.lost.until != 0 && process.Key.ProcessStart <= m.lost.untilBoottime {
		m.doubt(process)
	}
}

// Forget ends a process, unless another one has its PID now. What remains to be told of its entities comes with the
// next Take.
func (m *Merger) Forget(key trace.ProcessKey) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if process := m.processes[key.PID]; process != nil && process.Key == key {
		return m.forget(process)
	}
	return nil
}

func (m *Merger) forget(process *Process) error {
	m.emitEntities(process, true)
	m.noteUnresolved(process)
	return m.discard(process)
}

// discard lets go of a process of which nothing more is to be told.
func (m *Merger) discard(process *Process) error {
	m.unignoreAll(process.Key.PID)
	delete(m.processes, process.Key.PID)
	process.Graph.Release()
	return process.CloseMemory()
}

// Update calls change with a process, if it is known and no other one has its PID now, while nothing else uses it.
func (m *Merger) Update(key trace.ProcessKey, change func(*Process) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	process := m.processes[key.PID]
	if process == nil || process.Key != key {
		return nil
	}
	return change(process)
}

// Doubt says that records of initialization events, of whatever process, were lost between two instants on
// CLOCK_MONOTONIC, in nanoseconds.
func (m *Merger) Doubt(from, until int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	suspended := -clock(unix.CLOCK_MONOTONIC)
	suspended += clock(unix.CLOCK_BOOTTIME) // read later, so that it is no less than the difference
	if until > m.lost.until {
		m.lost = lostSpan{from, until, until + suspended}
	}
	for _, process := range m.processes {
		process.Graph.Doubt(m.unix(uint64(from)), m.unix(uint64(until)))
	}
}

// lostSpan is when initialization events were lost last, in nanoseconds; all 0 if none were.
type lostSpan struct {
	from, until   int64 // CLOCK_MONOTONIC
	untilBoottime int64 // CLOCK_BOOTTIME, by which processes begin
}

// doubt tells a process that has become known of what was lost last.
func (m *Merger) doubt(process *Process) {
	process.Graph.Doubt(m.unix(uint64(m.lost.from)), m.unix(uint64(m.lost.until)))
}

// Record merges one record of the ring buffer. An error means that the record is not of this version's kernel side.
func (m *Merger) Record(encoded []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.merged.Add(1)
	kind, err := abi.KindOf(encoded)
	if err != nil || kind != abi.KindProcess && m.isUnwanted(abi.PIDOf(encoded), kind != abi.KindThread) {
		return err
	}
	switch kind {
	case abi.KindCallback:
		if err = abi.Decode(encoded, &m.callback); err == nil {
			m.addCallback(&m.callback, nil)
		}
	case abi.KindScheduledCallback:
		if err = abi.Decode(encoded, &m.scheduled); err == nil {
			m.addCallback(&m.scheduled.Callback, &m.scheduled.Scheduling)
		}
	case abi.KindPublish:
		if err = abi.Decode(encoded, &m.publish); err == nil {
			m.addPublish(&m.publish)
		}
	case abi.KindTake:
		if err = abi.Decode(encoded, &m.take); err == nil {
			m.addTake(&m.take)
		}
	case abi.KindEnqueue:
		if err = abi.Decode(encoded, &m.enqueue); err == nil {
			m.addEnqueue(&m.enqueue)
		}
	case abi.KindInit:
		if err = abi.Decode(encoded, &m.init); err == nil {
			m.addInit(&m.init)
		}
	case abi.KindRaw:
		if err = abi.Decode(encoded, &m.raw); err == nil {
			m.addRaw(&m.raw)
		}
	case abi.KindService:
		if err = abi.Decode(encoded, &m.service); err == nil {
			m.addService(&m.service)
		}
	case abi.KindSimTime:
		if err = abi.Decode(encoded, &m.simTime); err == nil {
			m.addSimTime(&m.simTime)
		}
	case abi.KindWait:
		if err = abi.Decode(encoded, &m.wait); err == nil {
			m.addWait(&m.wait)
		}
	case abi.KindSched:
		if err = abi.Decode(encoded, &m.sched); err == nil {
			m.addSched(&m.sched)
		}
	case abi.KindThread:
		if err = abi.Decode(encoded, &m.thread); err == nil {
			m.tellThread(m.thread)
		}
	case abi.KindProcess:
		if err = abi.Decode(encoded, &m.process); err == nil {
			err = m.changeProcess(&m.process)
		}
	default:
		err = fmt.Errorf("%w: kind %d", abi.ErrRecord, kind)
	}
	return err
}

// Merged is how many records Record was called with; the one that is being merged is among them.
func (m *Merger) Merged() uint64 { return m.merged.Load() }

// isUnwanted reports whether nothing is to be told of a process. Where rows are to be, one that is not known is
// identified.
func (m *Merger) isUnwanted(pid int32, rows bool) bool {
	if rows {
		return m.identified(pid).Unwanted
	}
	process := m.processes[pid]
	return process != nil && process.Unwanted
}

// ForgetUnwanted forgets the processes of which nothing was to be told. Of those whose records still come it is asked
// again.
func (m *Merger) ForgetUnwanted() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, process := range m.processes {
		if process.Unwanted {
			_ = m.discard(process) // its memory was only read
		}
	}
}

// identified is the process of a PID that a record came from.
func (m *Merger) identified(pid int32) *Process {
	process := m.processes[pid]
	if process == nil {
		process = m.options.Identify(pid)
		m.put(pid, process)
	}
	return process
}

// changeProcess applies the beginning of a program: the entities of the former one are not its own. After the end of a
// process its last threads may still have something to say.
func (m *Merger) changeProcess(record *abi.ProcessRecord) error {
	var err error
	if process := m.processes[int32(record.Header.PID)]; process != nil &&
		record.Header.Status != abi.ProcessExit && record.Header.Status != abi.ProcessLoad {
		same := process.Key.ProcessStart == record.Start()
		switch {
		case process.Unwanted:
			err = m.discard(process) // it may be wanted now
		case same && record.Header.Status == abi.ProcessFork: // somebody has met it before this was read
		case same:
			m.unignoreAll(process.Key.PID)
			m.emitEntities(process, true)
			err = process.CloseMemory()
			process.Graph = process.Graph.Successor()
			if int64(record.TimeNs) <= m.lost.until {
				m.doubt(process)
			}
		default: // another process has its PID now
			err = m.forget(process)
		}
	}
	if m.options.OnProcess != nil {
		m.options.OnProcess(*record)
	}
	return err
}

// CloseThread merges what was open on a thread when the recording ended, innermost first: encoded is a value of the
// kernel's map of threads.
func (m *Merger) CloseThread(encoded []byte) error {
	var state abi.ThreadState
	if err := abi.Decode(encoded, &state); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isUnwanted(int32(state.PID), state.PublishOpen+state.TakePending+state.DequeuePending+state.RequestPending+state.Depth+state.WaitOpen > 0) {
		return nil
	}
	if state.PublishOpen != 0 {
		m.closePublish(&state.Publish, state.PublishCount)
	}
	if state.TakePending != 0 {
		m.addFreeTake(&state.Take, usedUnknown) // the callback may have started since
	}
	if state.DequeuePending != 0 {
		m.addFreeTake(&state.Dequeue, usedUnknown)
	}
	if state.RequestPending != 0 {
		m.addService(&state.Request)
	}
	for depth := min(int(state.Depth), abi.MaxDepth) - 1; depth >= 0; depth-- {
		record := openCallback(&state, depth)
		m.addCallback(&record, nil)
	}
	if state.WaitOpen != 0 {
		state.Wait.Header.Status = abi.WaitRecordingEnd
		m.addWait(&state.Wait)
	}
	m.tellThread(state.ThreadRecord())
	return nil
}

func (m *Merger) tellThread(account abi.ThreadRecord) {
	if m.options.OnThread != nil {
		m.options.OnThread(account)
	}
}

// closePublish merges a publish that was open when the recording ended; next is the number of the thread's next one. As
// in the kernel, an rclcpp_publish of another message is not the publish of the rclcpp_intra_publish before it.
func (m *Merger) closePublish(record *abi.PublishRecord, next uint64) {
	if record.Layers == abi.LayerIntra|abi.LayerRclcpp && record.Message != record.IntraMessage {
		intra := *record
		intra.Header.Status, intra.Layers, intra.Message, intra.RclcppNs = abi.PublishComplete, abi.LayerIntra, 0, 0
		m.addPublish(&intra)
		record.Number, record.Layers = next, abi.LayerRclcpp
		record.Publisher, record.IntraMessage, record.IntraNs, record.Enqueues = 0, 0, 0, 0
		record.Header.Flags &^= abi.FlagDerived
		record.MessageStamp, record.Details = 0, 0
	}
	record.Header.Status = abi.PublishRecordingEnd
	m.addPublish(record)
}

// Take hands the rows so far to use and forgets them: rows of the dataset, in the order in which their records
// completed. use must not keep the slices.
func (m *Merger) Take(use func(*trace.Batch) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := use(&m.rows)
	m.rows.Reset()
	return err
}

// SetFilter has another filter decide from the next record on. The kernel records again what the former has dropped.
func (m *Merger) SetFilter(filter *Filter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for pid := range m.ignored {
		m.unignoreAll(pid)
	}
	m.options.Filter = filter
}

// EmitEntities adds rows for the entities that have become known or better known. It is meant to be called about every
// second: incomplete ones are held back for a while. At the end of a recording, final asks for all that is known.
func (m *Merger) EmitEntities(final bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, process := range m.processes {
		m.emitEntities(process, final)
	}
}

// Unresolved says what was looked up in vain: one line for each address, with the reason.
func (m *Merger) Unresolved() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := slices.Clone(m.unresolved)
	for _, process := range m.processes {
		lines = append(lines, unresolvedOf(process)...)
	}
	slices.Sort(lines)
	if m.unlisted > 0 {
		lines = append([]string{fmt.Sprintf("%d more addresses of processes that have ended stay without a name", m.unlisted)}, lines...)
	}
	if m.withheld > 0 {
		lines = append([]string{fmt.Sprintf("%d rows were withheld: whether they are of what was selected is unknown", m.withheld)}, lines...)
	}
	return lines
}

// maxUnresolved bounds what is kept of processes that are over: they may be as many as somebody likes.
const maxUnresolved = 1000

// noteUnresolved keeps what was looked up in vain for a process that is forgotten.
func (m *Merger) noteUnresolved(process *Process) {
	lines := unresolvedOf(process)
	kept := min(len(lines), maxUnresolved-len(m.unresolved))
	m.unresolved = append(m.unresolved, lines[:kept]...)
	m.unlisted += uint64(len(lines) - kept)
}

func unresolvedOf(process *Process) []string {
	var lines []string
	for _, unknown := range process.Graph.Unknown() {
		lines = append(lines, fmt.Sprintf("PID %d: %s %v stays without a name: %v", process.Key.PID, unknown.Kind, unknown.Address, unknown.Reason))
	}
	return lines
}

// keeps reports whether a row passes the filter. What stays unknown is kept unless something was selected: then it was
// not.
func (m *Merger) keeps(v verdict) bool {
	if v == undecided && m.options.Filter.selects() {
		m.withheld++
		return false
	}
	return v != drop
}

func (m *Merger) emitEntities(process *Process, final bool) {
	process.Graph.NumberBy(&m.numbers)
	entities := process.Graph.Rows(final)
	m.rows.Append(&entities)
	m.tellMessageTypes(process)
}

func (m *Merger) tellMessageTypes(process *Process) {
	for _, known := range process.Graph.KnownTypes() {
		if m.options.OnMessageType != nil {
			m.options.OnMessageType(process.Key, known)
		}
	}
}

func (m *Merger) processOf(pid uint32) *Process {
	process := m.identified(int32(pid))
	if !process.recorded {
		process.recorded = true
		if m.options.OnRecorded != nil {
			m.options.OnRecorded(process.Key)
		}
	}
	return process
}

// unix converts CLOCK_MONOTONIC to the dataset's clock.
func (m *Merger) unix(monotonic uint64) int64 { return int64(monotonic) + m.options.RealtimeOffset }

// now is the present time on the dataset's clock.
func (m *Merger) now() int64 {
	return m.unix(uint64(clock(unix.CLOCK_MONOTONIC)))
}

// clock reads a clock, in nanoseconds.
func clock(id int32) int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(id, &now) // every Linux has those that are asked for
	return now.Nano()
}

// optionalUnix is null for the kernel's 0, which stands for an instant that was not seen.
func (m *Merger) optionalUnix(monotonic uint64) trace.Optional[int64] {
	if monotonic == 0 {
		return trace.Optional[int64]{}
	}
	return trace.Some(m.unix(monotonic))
}

func (m *Merger) addInit(record *abi.InitRecord) {
	process := m.processOf(record.Header.PID)
	event := entities.InitEvent{Event: abi.Event(record.Header.Status), Time: m.unix(record.TimeNs)}
	copy(event.Arguments[:], record.Arguments[:])
	switch {
	case event.Event == abi.EventRMWPublisherInit:
		if record.Header.Flags&abi.FlagStringFault == 0 {
			event.String1 = hex.EncodeToString(record.Strings[:gidSize])
		}
	case event.Event == abi.EventRclClientInit:
		if record.Header.Flags&abi.FlagStringCut == 0 {
			event.String1 = cString(record.Strings[:abi.InitStringSize])
		}
		if size := record.Arguments[4]; size <= abi.ClientGUIDsSize {
			event.String2 = hex.EncodeToString(record.Strings[abi.InitStringSize:][:size])
		}
	case record.Header.Flags&abi.FlagStringCut == 0:
		event.String1 = cString(record.Strings[:])
		if len(event.String1) < abi.InitStringSize {
			event.String2 = cString(record.Strings[abi.InitStringSize:])
		}
	}
	if abi.Event(record.Header.Status) == abi.EventRclLifecycleTransition {
		m.addLifecycle(process, record, event.String1, event.String2)
		return
	}
	process.Graph.ReadBy(m.now)
	process.Graph.Init(event)
	if m.options.OnIntraProcess != nil && event.Event == abi.EventRclcppSubscriptionCallbackAdded && process.Graph.HasIntraProcess() {
		m.options.OnIntraProcess(process.Key.PID, int64(record.TimeNs))
	}
	if event.Event == abi.EventConstructExecutor && event.Arguments[2] != 0 {
		// From Jazzy on the collector is a part of the executor, so its constructor tells both.
		event.Event, event.Arguments[1] = abi.EventExecutorEntityCollectorToExecutor, event.Arguments[2]
		process.Graph.Init(event)
	}
	m.tellMessageTypes(process)                    // messages may follow at once
	for _, address := range record.Arguments[:3] { // handle, rclcpp object or callback, rmw handle
		m.forgetIgnored(int32(record.Header.PID), address)
	}
}

func cString(text []byte) string {
	if end := bytes.IndexByte(text, 0); end >= 0 {
		text = text[:end]
	}
	return string(text)
}

func (m *Merger) addRaw(record *abi.RawRecord) {
	process := m.processOf(record.Header.PID)
	name, arguments := m.options.EventName(record.Header.Status)
	row := trace.Event{
		ProcessKey: process.Key, TID: int32(record.Header.TID), CPU: int32(record.Header.CPU),
		Event: name, EventTimestamp: m.unix(record.TimeNs),
	}
	for i, column := range []*trace.Optional[uint64]{&row.Argument1, &row.Argument2, &row.Argument3, &row.Argument4, &row.Argument5} {
		if i < arguments {
			*column = trace.Some(record.Arguments[i])
		}
	}
	m.rows.Events = append(m.rows.Events, row)
}
