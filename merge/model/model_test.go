package model_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"

	"github.com/caret-bpf/caret-bpf/bpf"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/merge/model"
)

// kernel is the compiled state machine, fed through its scripted entrance.
type kernel struct {
	collection *ebpf.Collection
	reader     *ringbuf.Reader
}

func newKernel(t *testing.T) *kernel {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to load BPF programs")
	}
	if err := rlimit.RemoveMemlock(); err != nil {
		t.Fatal(err)
	}
	spec, err := bpf.LoadCaret()
	if err != nil {
		t.Fatal(err)
	}
	for name, program := range spec.Programs {
		if program.Type != ebpf.Syscall {
			delete(spec.Programs, name)
		}
	}
	collection, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(collection.Close)
	reader, err := ringbuf.NewReader(collection.Maps[bpf.CaretMapRecords])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	if err := collection.Variables[bpf.CaretVarBodiesProbed].Set(uint32(1)); err != nil {
		t.Fatal(err)
	}
	return &kernel{collection: collection, reader: reader}
}

func (k *kernel) handle(t *testing.T, e model.Event) {
	t.Helper()
	bit := func(b bool) uint8 {
		if b {
			return 1
		}
		return 0
	}
	scripted := bpf.CaretEvent{
		TimeNs: e.TimeNs, StackPointer: e.StackPointer, Pid: e.PID, Tid: e.TID, Cpu: e.CPU, Id: uint8(e.ID),
		LastLayer: bit(e.LastLayer), HasStamp: bit(e.HasStamp), HasMessage: bit(e.HasMessage), Arguments: e.Arguments,
		Gid: e.GID, MessageStamp: e.MessageStamp, Details: e.Details, Role: uint8(e.Role), CostNs: e.CostNs,
	}
	if e.Derived {
		scripted.Flags = abi.FlagDerived
	}
	if _, err := k.collection.Programs["run_event"].Run(&ebpf.RunOptions{Context: &scripted}); err != nil {
		t.Fatal(err)
	}
}

func decode[T abi.CallbackRecord | abi.ThreadRecord | abi.PublishRecord | abi.TakeRecord | abi.EnqueueRecord | abi.ServiceRecord | abi.WaitRecord](t *testing.T, raw []byte) any {
	t.Helper()
	record := new(T)
	if err := abi.Decode(raw, record); err != nil {
		t.Fatal(err)
	}
	return record
}

// drain returns the records emitted so far.
func (k *kernel) drain(t *testing.T) []any {
	t.Helper()
	var records []any
	for {
		k.reader.SetDeadline(time.Now())
		record, err := k.reader.Read()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return records
		}
		if err != nil {
			t.Fatal(err)
		}
		kind, err := abi.KindOf(record.RawSample)
		if err != nil {
			t.Fatal(err)
		}
		switch kind {
		case abi.KindCallback:
			records = append(records, decode[abi.CallbackRecord](t, record.RawSample))
		case abi.KindPublish:
			records = append(records, decode[abi.PublishRecord](t, record.RawSample))
		case abi.KindTake:
			records = append(records, decode[abi.TakeRecord](t, record.RawSample))
		case abi.KindEnqueue:
			records = append(records, decode[abi.EnqueueRecord](t, record.RawSample))
		case abi.KindThread:
			records = append(records, decode[abi.ThreadRecord](t, record.RawSample))
		case abi.KindService:
			records = append(records, decode[abi.ServiceRecord](t, record.RawSample))
		case abi.KindWait:
			records = append(records, decode[abi.WaitRecord](t, record.RawSample))
		default:
			t.Fatalf("unexpected kind %d", kind)
		}
	}
}

// script makes random events of a few threads with few distinct addresses, so that matches, mismatches, recursion,
// unwinding and depths beyond the limit all happen. Some calls are seen twice, at the caller and in the body.
func script(random *rand.Rand, length int) []model.Event {
	var events []model.Event
	waits := map[uint32]uint64{} // where a thread waits on its stack
	for _, e := range singleSights(random, length) {
		e.Role = []abi.Role{abi.RoleFunction, abi.RoleCaller, abi.RoleBody, abi.RoleOwnBody}[random.IntN(4)]
		switch {
		case e.ID != abi.EventWait:
		case random.IntN(2) == 0:
			waits[e.TID] = e.StackPointer
		default:
			e.Role = abi.RoleReturn
			if random.IntN(3) > 0 {
				e.StackPointer = waits[e.TID] + uint64(random.IntN(12))
			}
		}
		events = append(events, e)
		if e.Role == abi.RoleCaller && random.IntN(3) > 0 {
			e.Role = abi.RoleBody
			e.TimeNs++
			if random.IntN(4) == 0 {
				e.Arguments[random.IntN(len(e.Arguments))]++ // another call
			}
			events = append(events, e)
		}
		if e.Role == abi.RoleBody && random.IntN(2) == 0 { // which a process has for itself, too
			e.Role = abi.RoleOwnBody
			e.TimeNs++
			events = append(events, e)
		}
	}
	return events
}

func singleSights(random *rand.Rand, length int) []model.Event {
	unwindOneIn := []int{12, 60, 1000}[random.IntN(3)]
	ids := []abi.Event{
		abi.EventCallbackStart, abi.EventCallbackStart, abi.EventCallbackStart, abi.EventCallbackStart, abi.EventCallbackStart,
		abi.EventCallbackEnd, abi.EventCallbackEnd,
		abi.EventRclcppPublish, abi.EventRclPublish, abi.EventRMWPublish, abi.EventDDSBindAddrToStamp, abi.EventRclcppIntraPublish,
		abi.EventRclcppRingBufferEnqueue, abi.EventRclcppRingBufferDequeue, abi.EventRMWTake, abi.EventExecutorExecute, abi.EventExceptionCaught,
		abi.EventRequestSent, abi.EventRequestTaken, abi.EventRequestTaken, abi.EventResponseSent, abi.EventResponseTaken, abi.EventServiceCall, abi.EventServiceExecuted,
		abi.EventWait, abi.EventWait,
	}
	stack := map[uint32]uint64{}
	events := make([]model.Event, length)
	for i := range events {
		tid := 100 + random.Uint32N(3)
		id := ids[random.IntN(len(ids))]
		if random.IntN(200) == 0 {
			id = abi.EventThreadExit
		}
		if stack[tid] == 0 {
			stack[tid] = 1 << 20
		}
		// Mostly deeper, now and then far up, as when an exception unwinds.
		switch {
		case random.IntN(unwindOneIn) == 0:
			stack[tid] += uint64(random.IntN(2000))
		case random.IntN(5) > 0:
			stack[tid] -= uint64(random.IntN(60))
		}
		e := model.Event{
			TimeNs: uint64(2*i + 1), CostNs: uint16(random.IntN(1 << 16)), StackPointer: stack[tid], PID: 100, TID: tid, CPU: random.Uint32N(2), ID: id,
			LastLayer: (id == abi.EventRMWPublish || id == abi.EventDDSBindAddrToStamp) && random.IntN(2) == 0,
			HasStamp:  id == abi.EventRMWPublish && random.IntN(2) == 0, HasMessage: id == abi.EventDDSBindAddrToStamp && random.IntN(2) == 0,
		}
		switch id {
		case abi.EventCallbackStart, abi.EventCallbackEnd:
			e.Derived = random.IntN(4) == 0
		case abi.EventRMWTake:
			e.GID, e.Details = [2]uint64{random.Uint64(), random.Uint64()}, abi.DetailGID|abi.DetailSerialized*random.Uint32N(2)
		case abi.EventRequestTaken, abi.EventResponseSent, abi.EventResponseTaken:
			e.GID = [2]uint64{random.Uint64(), random.Uint64()}
		case abi.EventRclPublish:
			e.Details = []uint32{0, abi.DetailSerialized, abi.DetailLoaned, abi.DetailMessageStamp, abi.DetailStackHandle, abi.DetailFormUnknown}[random.IntN(6)]
			e.MessageStamp = int64(random.IntN(100))
		case abi.EventRclcppIntraPublish, abi.EventRclcppRingBufferEnqueue, abi.EventRclcppRingBufferDequeue:
			e.Derived = random.IntN(2) == 0
			e.Details = abi.DetailMessageStamp * random.Uint32N(2)
			e.MessageStamp = int64(random.IntN(100))
		}
		for j := range e.Arguments {
			e.Arguments[j] = uint64(random.IntN(4))
		}
		events[i] = e
	}
	return events
}

func TestKernelEqualsModel(t *testing.T) {
	runs := 40
	if testing.Short() {
		runs = 5
	}
	var deepest uint64
	for seed := range runs {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			k := newKernel(t)
			machine := model.NewMachine()
			for i, e := range script(rand.New(rand.NewPCG(uint64(seed), 1)), 2000) {
				machine.Records = machine.Records[:0]
				machine.Handle(e)
				k.handle(t, e)
				got := k.drain(t)
				if len(got)+len(machine.Records) > 0 && !reflect.DeepEqual(got, machine.Records) {
					t.Fatalf("event %d %+v\nkernel %s\nmodel  %s", i, e, show(got), show(machine.Records))
				}
			}
			deepest += machine.DepthExceeded
		})
	}
	if deepest == 0 {
		t.Error("no script nested callbacks beyond the limit")
	}
}

func show(records []any) string {
	text := ""
	for _, r := range records {
		text += fmt.Sprintf("\n  %+v", r)
	}
	return text
}

// TestCallSeenTwice: the first sight of a call counts, and one body is all that a caller explains.
func TestCallSeenTwice(t *testing.T) {
	at := func(time, stack uint64, role abi.Role, callback uint64) model.Event {
		return model.Event{
			TimeNs: time, StackPointer: stack, PID: 1, TID: 1, ID: abi.EventCallbackEnd, Role: role, Arguments: [5]uint64{callback},
		}
	}
	for name, test := range map[string]struct {
		events []model.Event
		ends   []uint64 // times of what is recorded
	}{
		"caller and body":        {[]model.Event{at(1, 64, abi.RoleCaller, 7), at(2, 64, abi.RoleBody, 7)}, []uint64{1}},
		"caller only":            {[]model.Event{at(1, 64, abi.RoleCaller, 7), at(2, 64, abi.RoleCaller, 7)}, []uint64{1, 2}},
		"body only":              {[]model.Event{at(1, 64, abi.RoleBody, 7), at(2, 64, abi.RoleBody, 7)}, []uint64{1, 2}},
		"one body a caller":      {[]model.Event{at(1, 64, abi.RoleCaller, 7), at(2, 64, abi.RoleBody, 7), at(3, 64, abi.RoleBody, 7)}, []uint64{1, 3}},
		"other stack":            {[]model.Event{at(1, 64, abi.RoleCaller, 7), at(2, 56, abi.RoleBody, 7)}, []uint64{1, 2}},
		"other argument":         {[]model.Event{at(1, 64, abi.RoleCaller, 7), at(2, 64, abi.RoleBody, 8)}, []uint64{1, 2}},
		"forgotten by a body":    {[]model.Event{at(1, 64, abi.RoleCaller, 7), at(2, 64, abi.RoleBody, 8), at(3, 64, abi.RoleBody, 7)}, []uint64{1, 2, 3}},
		"function of its own":    {[]model.Event{at(1, 64, abi.RoleCaller, 7), at(2, 64, abi.RoleFunction, 7)}, []uint64{1, 2}},
		"caller and both bodies": {[]model.Event{at(1, 64, abi.RoleCaller, 7), at(2, 64, abi.RoleBody, 7), at(3, 64, abi.RoleOwnBody, 7)}, []uint64{1}},
		"caller and own body":    {[]model.Event{at(1, 64, abi.RoleCaller, 7), at(2, 64, abi.RoleOwnBody, 7), at(3, 64, abi.RoleOwnBody, 7)}, []uint64{1, 3}},
		"both bodies, twice": {
			[]model.Event{at(1, 64, abi.RoleBody, 7), at(2, 64, abi.RoleOwnBody, 7), at(3, 64, abi.RoleBody, 7), at(4, 64, abi.RoleOwnBody, 7)},
			[]uint64{1, 3},
		},
		"own body, then both, then all": {
			[]model.Event{at(1, 64, abi.RoleOwnBody, 7), at(2, 64, abi.RoleBody, 7), at(3, 64, abi.RoleOwnBody, 7), at(4, 64, abi.RoleBody, 7), at(5, 64, abi.RoleBody, 7)},
			[]uint64{1, 2, 4, 5},
		},
		"later caller and end": {[]model.Event{at(1, 64, abi.RoleCaller, 7), at(2, 64, abi.RoleCaller, 8), at(3, 64, abi.RoleBody, 8)}, []uint64{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			machine := model.NewMachine()
			for _, e := range test.events {
				machine.Handle(e)
			}
			var ends []uint64
			for _, record := range machine.Records {
				ends = append(ends, record.(*abi.CallbackRecord).EndNs)
			}
			if !slices.Equal(ends, test.ends) {
				t.Errorf("ends at %v, want %v", ends, test.ends)
			}
		})
	}
}
