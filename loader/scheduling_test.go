package loader

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/bpf"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// scriptedScheduling is the kernel side with the tests' entrance, which takes scripted events of the calling thread.
type scriptedScheduling struct {
	t      *testing.T
	kernel *ebpf.Collection
	reader *ringbuf.Reader
}

func newScriptedScheduling(t *testing.T, options Options) *scriptedScheduling {
	t.Helper()
	options.RingBytes = 64 << 10
	kernel, err := ebpf.NewCollection(schedulingSpec(t, options))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kernel.Close)
	reader, err := ringbuf.NewReader(kernel.Maps[bpf.CaretMapRecords])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close() })
	return &scriptedScheduling{t, kernel, reader}
}

// schedulingSpec is the kernel side with scheduling and with the tests' entrance.
func schedulingSpec(t testing.TB, options Options) *ebpf.CollectionSpec {
	t.Helper()
	m, err := chooseMode(Probe(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	spec := loadSpec(t)
	entrance := spec.Programs["run_event"].Copy()
	options.Scheduling = true
	if err := configure(spec, options, m); err != nil {
		t.Fatal(err)
	}
	spec.Programs["run_event"] = entrance
	return spec
}

func scripted(kernel *ebpf.Collection, event abi.Event) error {
	_, err := kernel.Programs["run_event"].Run(&ebpf.RunOptions{Context: &bpf.CaretEvent{
		Id: uint8(event), Pid: uint32(unix.Getpid()), Tid: uint32(unix.Gettid()), TimeNs: uint64(monotonicNow()), Arguments: [5]uint64{0x30},
	}})
	return err
}

func (s *scriptedScheduling) attach(names ...string) (detach func()) {
	s.t.Helper()
	var links []link.Link
	for _, name := range names {
		attached, err := link.AttachTracing(link.TracingOptions{Program: s.kernel.Programs["on_"+name]})
		if err != nil {
			s.t.Fatal(err)
		}
		links = append(links, attached)
	}
	return func() {
		for _, attached := range links {
			if err := attached.Close(); err != nil {
				s.t.Fatal(err)
			}
		}
		waitForPrograms()
	}
}

// callbacks runs callbacks on the calling thread, one right after the other, and returns their records. They are read
// last: a thread that waits for a record leaves its CPU, and what nobody tells of has happened to it then.
func (s *scriptedScheduling) callbacks(count int, body func()) []abi.Kind {
	s.t.Helper()
	for range count {
		if err := scripted(s.kernel, abi.EventCallbackStart); err != nil {
			s.t.Fatal(err)
		}
		body()
		if err := scripted(s.kernel, abi.EventCallbackEnd); err != nil {
			s.t.Fatal(err)
		}
	}
	s.reader.SetDeadline(time.Now().Add(time.Minute))
	if err := s.reader.Flush(); err != nil {
		s.t.Fatal(err)
	}
	var kinds []abi.Kind
	for {
		record, err := s.reader.Read()
		if errors.Is(err, ringbuf.ErrFlushed) {
			break
		}
		if err != nil {
			s.t.Fatal(err)
		}
		kind, err := abi.KindOf(record.RawSample)
		if err != nil {
			s.t.Fatal(err)
		}
		kinds = append(kinds, kind)
	}
	if len(kinds) != count {
		s.t.Fatalf("%d records of %d callbacks", len(kinds), count)
	}
	return kinds
}

func sleep() {
	rest := unix.Timespec{Nsec: 2_000_000}
	for unix.Nanosleep(&rest, &rest) != nil { // a signal has interrupted it
	}
}

// TestMissedSwitchesAreLosses: where each time off the CPU has a record, those of which nothing told are counted.
func TestMissedSwitchesAreLosses(t *testing.T) {
	requireRoot(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := newScriptedScheduling(t, Options{SchedRecords: true})
	if err := s.kernel.Variables[bpf.CaretVarGate].Set(uint32(abi.GateOpen)); err != nil {
		t.Fatal(err)
	}
	missed := func() (count uint64) {
		t.Helper()
		index := uint32(abi.KindSched)*uint32(abi.ReasonCount) + uint32(abi.ReasonMissed)
		if err := s.kernel.Maps[bpf.CaretMapLosses].Lookup(index, &count); err != nil {
			t.Fatal(err)
		}
		return count
	}
	run := func(body func()) {
		t.Helper()
		for _, event := range []abi.Event{abi.EventCallbackStart, abi.EventCallbackEnd} {
			if err := scripted(s.kernel, event); err != nil {
				t.Fatal(err)
			}
			body()
		}
	}
	told := s.attach(schedulingTracepoints...)
	run(sleep)
	before := missed()
	told()
	const untold = 5
	run(func() {
		for range untold {
			sleep()
		}
	})
	s.attach(schedulingTracepoints...)
	run(sleep)
	const mayAlsoHappen = 20 // to a thread: it is preempted
	if more := missed() - before; more < 2*untold || more > 2*untold+mayAlsoHappen {
		t.Errorf("%d switches were missed, %d are counted", 2*untold, more)
	}
}

// TestMissedSwitchesLeavePartsUnknown: a callback has its parts only if all was seen that happened to its thread from
// its start to its end.
func TestMissedSwitchesLeavePartsUnknown(t *testing.T) {
	requireRoot(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := newScriptedScheduling(t, Options{})
	// Again and again until there is one: something else may happen to a thread, too.
	eventually := func(what string, body func(), attached ...string) {
		t.Helper()
		defer s.attach(attached...)()
		for range 10 {
			if slices.Contains(s.callbacks(10, body), abi.KindScheduledCallback) {
				return
			}
		}
		t.Errorf("%s: never were the parts known", what)
	}
	never := func(what string, body func(), attached ...string) {
		t.Helper()
		defer s.attach(attached...)()
		if slices.Contains(s.callbacks(20, body), abi.KindScheduledCallback) {
			t.Fatalf("%s: the parts are known", what)
		}
	}
	never("nothing tells of switches", sleep)
	eventually("all is told", sleep, schedulingTracepoints...)
	never("nothing tells of wakers", sleep, "sched_switch")
	never("nothing tells of switches any more", sleep)
	eventually("nothing happens", func() {})
	never("the end of a switch is not told", func() {
		detach := s.attach(schedulingTracepoints...)
		sleep()
		detach()
		sleep()
	})
	eventually("all is told again", sleep, schedulingTracepoints...)
}
