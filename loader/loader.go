package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/attachguard"
	"github.com/caret-bpf/caret-bpf/bpf"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// Loader is the kernel side of one recording. Its methods may be called from several goroutines; Read from one at a
// time.
type Loader struct {
	collection      *ebpf.Collection
	reader          *ringbuf.Reader
	attacher        attacher
	mode            mode
	filterInProgram bool
	shadowStacks    bool // processes may have them
	options         Options
	warnings        []error
	processes       *recordedProcesses
	statistics      readStatistics
	drains          drains
	unread          *unread
	wait            *kernelWait
	barrier         programBarrier

	attachMutex  sync.Mutex // guards what follows
	attachments  map[*Attachment]struct{}
	links        *linkSet     // what is attached belongs to it
	change       *linksChange // nil: none is under way
	changes      uint32       // so many have begun
	rules        [2]uint32    // bpf.CaretVarLinks
	unitsRetired uint32
	bodies       int // attachments with bodies that are probed beside callers
	// ownLinksChange is bpf.CaretVarOwnLinksChange.
	ownLinksChange uint32
	tracepoints    []io.Closer
	guard          *attachguard.Guard // from the first attachment on
	guarded        bool               // it was tried
	readBacks      readBacks
	detached       bool

	readerMutex sync.Mutex // guards against the reader's end
	closed      bool
}

// New loads the programs with the gate closed, and attaches those that watch processes begin and end. Trace events that
// killed recorders left behind are removed.
//
// The error wraps ErrPermission or ErrUnsupportedKernel when the user or the kernel is the cause; a verifier's
// rejection is printed whole.
func New(ctx context.Context, options Options) (*Loader, error) {
	return newLoader(ctx, options, Probe())
}

func newLoader(ctx context.Context, options Options, features Features) (*Loader, error) {
	m, err := chooseMode(features, options)
	if err != nil {
		return nil, err
	}
	if options.SchedRecords {
		if err := checkRingLock(); err != nil {
			return nil, err
		}
	}
	l := &Loader{
		attachments:     make(map[*Attachment]struct{}),
		links:           newLinkSet(0, options.FilterProcesses || m.filterInProgram),
		mode:            m,
		filterInProgram: m.filterInProgram,
		shadowStacks:    MayHaveShadowStacks(),
		options:         options,
	}
	if root, err := findTracefs(); err == nil {
		if err := removeStaleEvents(root); err != nil {
			l.warnings = append(l.warnings, err)
		}
	}
	l.rules[l.links.index] = l.links.rule()
	l.collection, err = loadCollection(ctx, options, m)
	if err != nil {
		return nil, err
	}
	if err := l.start(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// start makes what stands on the loaded collection.
func (l *Loader) start() (err error) {
	l.processes = newRecordedProcesses(l.collection.Maps[bpf.CaretMapProcesses])
	if l.attacher, err = l.newAttacher(); err != nil {
		return err
	}
	if l.reader, err = ringbuf.NewReader(l.collection.Maps[bpf.CaretMapRecords]); err != nil {
		return fmt.Errorf("mapping the ring buffer: %w", err)
	}
	if l.unread, err = newUnread(l.collection.Maps[bpf.CaretMapRecords]); err != nil {
		return err
	}
	if l.barrier, err = newProgramBarrier(); err != nil {
		return err
	}
	if l.wait, err = newKernelWait(l.collection.Maps[bpf.CaretMapRecords].FD(), l.unread.waits); err != nil {
		return err
	}
	return l.attachTracepoints()
}

func (l *Loader) newAttacher() (attacher, error) {
	if l.mode.tracefsRoot == "" {
		return uprobeMulti{}, nil
	}
	info, err := l.collection.Maps[bpf.CaretMapRecords].Info()
	if err != nil {
		return nil, fmt.Errorf("asking for the ring buffer's id: %w", err)
	}
	id, _ := info.ID()
	made, err := newTracefs(l.mode.tracefsRoot, uint32(id))
	if err != nil {
		return nil, err
	}
	return made, nil
}

// attachTracepoints attaches the programs that close the state of threads and keep the set of processes, and those that
// watch the scheduler, if there are any.
func (l *Loader) attachTracepoints() error {
	for _, name := range []string{"sched_process_fork", "sched_process_exec", "sched_process_exit"} {
		err := l.attachTracepoint(name, func(program *ebpf.Program) (link.Link, error) {
			return link.AttachRawTracepoint(link.RawTracepointOptions{Name: name, Program: program})
		})
		if err != nil {
			return err
		}
	}
	for _, name := range schedulingTracepoints {
		err := l.attachTracepoint(name, func(program *ebpf.Program) (link.Link, error) {
			return link.AttachTracing(link.TracingOptions{Program: program})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// schedulingTracepoints tell when threads leave their CPUs, are woken and come back.
var schedulingTracepoints = []string{"sched_switch", "sched_waking"}

// watchesScheduler reports whether a program is one of these.
func watchesScheduler(program string) bool {
	return slices.Contains(schedulingTracepoints, strings.TrimPrefix(program, "on_"))
}

// attachTracepoint attaches the program of a tracepoint, if it was loaded.
func (l *Loader) attachTracepoint(name string, attach func(*ebpf.Program) (link.Link, error)) error {
	program := l.collection.Programs["on_"+name]
	if program == nil {
		return nil
	}
	attached, err := attach(program)
	if err != nil {
		if isPermission(err) {
			return permissionError("attaching to tracepoint "+name, err, capBPF, capPerfmon)
		}
		return fmt.Errorf("attaching to tracepoint %s: %w", name, err)
	}
	l.tracepoints = append(l.tracepoints, attached)
	return nil
}

// SharesLinks reports whether links are for every process anyway, because the kernel cannot filter the threads of one
// (Linux 6.6 to 6.9).
func (l *Loader) SharesLinks() bool { return l.filterInProgram }

// MayChangeLinks reports whether links may be replaced while recording (BeginChange, PreferOwnLinks): there are two
// kinds of them, and the kernel has uprobe_multi. With tracefs, a hit that has passed the place of the new link in time
// for the old one would be lost if its thread did not run until that was closed.
func (l *Loader) MayChangeLinks() bool {
	_, multi := l.attacher.(uprobeMulti)
	return multi && !l.filterInProgram
}

// Warnings returns what went wrong without hindering the recording.
func (l *Loader) Warnings() []error { return l.warnings }

// OpenGateForEntities lets through what tells of entities that are created or destroyed, and nothing else: between a
// look at those that are there and OpenGate none comes or goes unseen.
func (l *Loader) OpenGateForEntities() error {
	_, _, err := l.setGate(abi.GateEntities)
	return err
}

// OpenGate starts recording with one store, and returns CLOCK_MONOTONIC in nanoseconds just before and after it.
//
// The second time is told to the kernel side, too: what a thread did before is known of those that began after it.
func (l *Loader) OpenGate() (before, after int64, err error) {
	before, after, err = l.setGate(abi.GateOpen)
	if err != nil {
		return 0, 0, err
	}
	if err := l.collection.Variables[bpf.CaretVarOpenSinceNs].Set(uint64(after)); err != nil {
		return 0, 0, fmt.Errorf("telling the kernel side when the gate was open: %w", err)
	}
	return before, after, nil
}

// CloseGate stops recording with one store, and returns CLOCK_MONOTONIC in nanoseconds just before and after it.
// Threads that exit are still recorded until Detach: their open callbacks end then.
func (l *Loader) CloseGate() (before, after int64, err error) { return l.setGate(abi.GateClosed) }

func (l *Loader) setGate(position uint32) (before, after int64, err error) {
	gate := l.collection.Variables[bpf.CaretVarGate]
	before = monotonicNow()
	err = gate.Set(position)
	after = monotonicNow()
	if err != nil {
		return 0, 0, fmt.Errorf("setting the gate: %w", err)
	}
	return before, after, nil
}

// countBodies counts the attachments with bodies. As long as there is one, the kernel side notes what it sees at
// callers: from before the first body is attached until after the last one is detached.
func (l *Loader) countBodies(change int) error {
	l.bodies += change
	noted := uint32(0)
	if l.bodies > 0 {
		noted = 1
	}
	if err := l.collection.Variables[bpf.CaretVarBodiesProbed].Set(noted); err != nil {
		return fmt.Errorf("telling the kernel side of bodies: %w", err)
	}
	return nil
}

// PreferOwnLinks says which kind of links is about to be attached beside the other one: own says those of single
// processes (abi.RoleOwnFunction). As long as a hit calls links of both kinds, the newer one records it. It must not be
// called while links of both kinds are attached to one site, and MayChangeLinks says whether there may be any.
func (l *Loader) PreferOwnLinks(own bool) error {
	l.attachMutex.Lock()
	defer l.attachMutex.Unlock()
	if l.detached {
		return ErrClosed
	}
	next := l.ownLinksChange + 1
	if own != (next%2 == 1) {
		next++
	}
	if err := l.collection.Variables[bpf.CaretVarOwnLinksChange].Set(next); err != nil {
		return fmt.Errorf("telling the kernel side of links of single processes: %w", err)
	}
	l.ownLinksChange = next
	return nil
}

// RetireUnit says that the sites of a unit are about to be detached for the rest of the recording: what they have told
// of calls that are under way counts no more.
func (l *Loader) RetireUnit(unit abi.Unit) error {
	l.attachMutex.Lock()
	defer l.attachMutex.Unlock()
	l.unitsRetired |= 1 << unit
	if err := l.collection.Variables[bpf.CaretVarUnitsRetired].Set(l.unitsRetired); err != nil {
		return fmt.Errorf("telling the kernel side that %s is retired: %w", unit, err)
	}
	return nil
}

// ReinstateUnits says that the sites of units which were retired are attached again.
func (l *Loader) ReinstateUnits(units []abi.Unit) error {
	l.attachMutex.Lock()
	defer l.attachMutex.Unlock()
	for _, unit := range units {
		l.unitsRetired &^= 1 << unit
	}
	if err := l.collection.Variables[bpf.CaretVarUnitsRetired].Set(l.unitsRetired); err != nil {
		return fmt.Errorf("telling the kernel side that %v are probed again: %w", units, err)
	}
	return nil
}

// PauseRaw has no records of single hits made, or has them made again. It needs Options.Raw.
func (l *Loader) PauseRaw(pause bool) error {
	paused := uint32(0)
	if pause {
		paused = 1
	}
	if err := l.collection.Variables[bpf.CaretVarRawPaused].Set(paused); err != nil {
		return fmt.Errorf("telling the kernel side of records of single hits: %w", err)
	}
	return nil
}

// monotonicNow returns CLOCK_MONOTONIC in nanoseconds, the clock of the kernel's records.
func monotonicNow() int64 {
	var now unix.Timespec
	// It cannot fail: the clock exists on every Linux and the address is valid.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano()
}

// AddProcess lists a process (by its thread group id in the initial PID namespace) among those to record. The kernel
// takes it off the list when it exits.
func (l *Loader) AddProcess(process int32) error { return l.processes.list(process) }

// RemoveProcess takes a process off the list that began at an instant, in nanoseconds since boot to the clock tick, or
// 0 if that is not known. It stays recorded as long as an attachment relies on it. One that has got its PID, and was
// listed by the kernel, stays on the list.
func (l *Loader) RemoveProcess(process int32, start int64) error {
	return l.processes.unlist(process, start)
}

// Ignore drops, from now on, the records of an object of a process: of a callback, a publisher handle, an rmw
// subscription handle or a buffer. It needs Options.FilterAddresses.
func (l *Loader) Ignore(process int32, address uint64) error {
	if !l.options.FilterAddresses {
		return errors.New("ignoring addresses needs the option FilterAddresses")
	}
	key := abi.ProcessAddress{Address: address, PID: uint32(process)}
	if err := l.collection.Maps[bpf.CaretMapIgnoredAddresses].Put(key, uint8(1)); err != nil {
		return fmt.Errorf("ignoring %#x of PID %d: %w", address, process, err)
	}
	return nil
}

// Unignore takes back an Ignore: the address belongs to another object now.
func (l *Loader) Unignore(process int32, address uint64) error {
	key := abi.ProcessAddress{Address: address, PID: uint32(process)}
	err := l.collection.Maps[bpf.CaretMapIgnoredAddresses].Delete(key)
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("ending to ignore %#x of PID %d: %w", address, process, err)
	}
	return nil
}

// SetHeaderOffset says where the messages of a publisher (its rcl handle) or of a subscription (its rmw handle) of a
// process have their std_msgs/Header, in bytes. adapted says that those which a publisher hands over intra-process may
// be of another type. Messages that begin before it is known have no message timestamp. It needs Options.MessageStamps.
func (l *Loader) SetHeaderOffset(process int32, address uint64, offset uint32, adapted bool) error {
	if adapted {
		offset |= abi.HeaderAdapted
	}
	key := abi.ProcessAddress{Address: address, PID: uint32(process)}
	if err := l.collection.Maps[bpf.CaretMapHeaderOffsets].Put(key, offset); err != nil {
		return fmt.Errorf("telling where messages of %#x of PID %d have their header: %w", address, process, err)
	}
	return nil
}

// ForgetHeaderOffset takes back a SetHeaderOffset: the address belongs to another entity now, or to none.
func (l *Loader) ForgetHeaderOffset(process int32, address uint64) error {
	key := abi.ProcessAddress{Address: address, PID: uint32(process)}
	err := l.collection.Maps[bpf.CaretMapHeaderOffsets].Delete(key)
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("forgetting the header of %#x of PID %d: %w", address, process, err)
	}
	return nil
}

// addressMaps are the maps whose keys are addresses in processes, and which fill up as processes come and go.
var addressMaps = []string{
	bpf.CaretMapSubscriptionRings, bpf.CaretMapRingHistories, bpf.CaretMapShownSubscriptions, bpf.CaretMapIgnoredAddresses,
	bpf.CaretMapHeaderOffsets,
}

// ForgetProcesses frees what the kernel side remembers of addresses in processes that are over.
func (l *Loader) ForgetProcesses(processes []int32) error {
	over := make(map[uint32]bool, len(processes))
	for _, process := range processes {
		over[uint32(process)] = true
	}
	var problems []error
	for _, name := range addressMaps {
		problems = append(problems, forgetAddresses(l.collection.Maps[name], over))
	}
	// There may be room again for rings that are used.
	problems = append(problems, l.collection.Variables[bpf.CaretVarRingsMissing].Set(uint32(0)))
	return errors.Join(problems...)
}

func forgetAddresses(addresses *ebpf.Map, over map[uint32]bool) error {
	if addresses == nil {
		return nil // nothing that is recorded needs it
	}
	var stale []abi.ProcessAddress
	var key, next abi.ProcessAddress
	err := addresses.NextKey(nil, &next)
	for range 2 * addresses.MaxEntries() { // the map changes meanwhile, and may lead round
		if err != nil {
			break
		}
		if key = next; over[key.PID] {
			stale = append(stale, key)
		}
		err = addresses.NextKey(key, &next)
	}
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("looking through %v: %w", addresses, err)
	}
	for _, key := range stale {
		if err := addresses.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("forgetting %#x of PID %d: %w", key.Address, key.PID, err)
		}
	}
	return nil
}

// Detach detaches everything: all attachments, and the programs that watch processes. When it returns no program of
// this loader runs any more, and nothing can be attached again.
func (l *Loader) Detach() error {
	guard, err := l.detach()
	if guard != nil {
		guard.Close()
	}
	return err
}

// detach returns the guard that is needed no more. What it still tells may have to wait for a caller of the Loader.
func (l *Loader) detach() (*attachguard.Guard, error) {
	l.attachMutex.Lock()
	defer l.attachMutex.Unlock()
	l.detached = true
	errs := []error{l.closeEach(slices.Collect(maps.Keys(l.attachments)))}
	if len(l.tracepoints) > 0 {
		errs = append(errs, closeAll(l.tracepoints))
		l.tracepoints = nil
		waitForPrograms()
	}
	guard := l.guard
	l.guard = nil
	return guard, errors.Join(errs...)
}

// startGuard has a process look on while probes are attached and detached. Recording goes on without it.
func (l *Loader) startGuard() {
	if l.guarded {
		return
	}
	l.guarded = true
	guard, err := attachguard.Start(func(line string) { l.tell(heldUpError(line)) })
	if err != nil {
		l.tell(err)
		return
	}
	l.guard = guard
}

// tell passes on what went wrong while recording goes on.
func (l *Loader) tell(err error) {
	if l.options.Tell != nil {
		l.options.Tell(err)
	}
}

// waitForPrograms returns when every program that ran at a tracepoint has finished. Unlike that of a uprobe, the
// detaching of a tracepoint does not wait. A global memory barrier waits for an RCU grace period, and programs at
// tracepoints run inside one. The kernel refuses it on CPUs without a periodic tick (nohz_full); then a program that
// began before may still finish.
func waitForPrograms() {
	const membarrierGlobal = 1 // MEMBARRIER_CMD_GLOBAL
	_, _, _ = unix.Syscall(unix.SYS_MEMBARRIER, membarrierGlobal, 0, 0)
}

// Close detaches everything and frees the kernel's memory. It interrupts Read. Closing twice does nothing.
func (l *Loader) Close() error {
	err := l.Detach()
	l.readerMutex.Lock()
	defer l.readerMutex.Unlock()
	if l.closed {
		return err
	}
	l.closed = true
	l.readBacks.helper.Close()
	if l.attacher != nil {
		err = errors.Join(err, l.attacher.Close())
	}
	if l.reader != nil {
		err = errors.Join(err, l.reader.Close())
	}
	if l.wait != nil {
		err = errors.Join(err, l.wait.close())
	}
	if l.unread != nil {
		err = errors.Join(err, l.unread.close())
	}
	l.barrier.close()
	l.collection.Close()
	return err
}

// readStatistics is counted by Read and read by Statistics.
type readStatistics struct {
	records, bytes, batches, peak atomic.Uint64
}
