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
	"github.com/caret-bpf/caret-bpf/merge"
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
	reader, err := ringbuf.NewReader(collection.Maps["records"])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	if err := collection.Variables["bodies_probed"].Set(uint32(1)); err != nil {
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
		scripted.Flags = merge.FlagDerived
	}
	if _, err := k.collection.Programs["run_event"].Run(&ebpf.RunOptions{Context: &scripted}); err != nil {
		t.Fatal(err)
	}
}

func decode[T merge.CallbackRecord | merge.ThreadRecord | merge.PublishRecord | merge.TakeRecord | merge.EnqueueRecord | merge.ServiceRecord](t *testing.T, raw []byte) any {
	t.Helper()
	record := new(T)
	if err := merge.Decode(raw, record); err != nil {
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
		kind, err := merge.KindOf(record.RawSample)
		if err != nil {
			t.Fatal(err)
		}
		switch kind {
		case merge.KindCallback:
			records = append(records, decode[merge.CallbackRecord](t, record.RawSample))
		case merge.KindPublish:
			records = append(records, decode[merge.PublishRecord](t, record.RawSample))
		case merge.KindTake:
			records = append(records, decode[merge.TakeRecord](t, record.RawSample))
		case merge.KindEnqueue:
			records = append(records, decode[merge.EnqueueRecord](t, record.RawSample))
		case merge.KindThread:
			records = append(records, decode[merge.ThreadRecord](t, record.RawSample))
		case merge.KindService:
			records = append(records, decode[merge.ServiceRecord](t, record.RawSample))
		default:
			t.Fatalf("unexpected kind %d", kind)
		}
	}
}

// script makes random events of a few threads with few distinct addresses, so that matches, mismatches, recursion,
// unwinding and depths beyond the limit all happen. Some calls are seen twice, at the caller and in the body.
func script(random *rand.Rand, length int) []model.Event {
	var events []model.Event
	for _, e := range singleSights(random, length) {
		e.Role = model.Role(random.IntN(3))
		events = append(events, e)
		if e.Role == model.Caller && random.IntN(3) > 0 {
			e.Role = model.Body
			e.TimeNs++
			if random.IntN(4) == 0 {
				e.Arguments[random.IntN(len(e.Arguments))]++ // another call
			}
			events = append(events, e)
		}
	}
	return events
}

func singleSights(random *rand.Rand, length int) []model.Event {
	unwindOneIn := []int{12, 60, 1000}[random.IntN(3)]
	ids := []model.EventID{
		model.CallbackStart, model.CallbackStart, model.CallbackStart, model.CallbackStart, model.CallbackStart,
		model.CallbackEnd, model.CallbackEnd,
		model.RclcppPublish, model.RclPublish, model.RMWPublish, model.BindAddrToStamp, model.RclcppIntraPublish,
		model.RingBufferEnqueue, model.RingBufferDequeue, model.RMWTake, model.ExecutorExecute, model.ExceptionCaught,
		model.RequestSent, model.RequestTaken, model.RequestTaken, model.ResponseSent, model.ResponseTaken, model.ServiceCall, model.ServiceExecuted,
	}
	stack := map[uint32]uint64{}
	events := make([]model.Event, length)
	for i := range events {
		tid := 100 + random.Uint32N(3)
		id := ids[random.IntN(len(ids))]
		if random.IntN(200) == 0 {
			id = model.ThreadExit
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
			LastLayer: (id == model.RMWPublish || id == model.BindAddrToStamp) && random.IntN(2) == 0,
			HasStamp:  id == model.RMWPublish && random.IntN(2) == 0, HasMessage: id == model.BindAddrToStamp && random.IntN(2) == 0,
		}
		switch id {
		case model.CallbackStart, model.CallbackEnd:
			e.Derived = random.IntN(4) == 0
		case model.RMWTake:
			e.GID, e.Details = [2]uint64{random.Uint64(), random.Uint64()}, merge.DetailGID|merge.DetailSerialized*random.Uint32N(2)
		case model.RequestTaken, model.ResponseSent, model.ResponseTaken:
			e.GID = [2]uint64{random.Uint64(), random.Uint64()}
		case model.RclPublish:
			e.Details = []uint32{0, merge.DetailSerialized, merge.DetailLoaned, merge.DetailMessageStamp, merge.DetailStackHandle}[random.IntN(5)]
			e.MessageStamp = int64(random.IntN(100))
		case model.RclcppIntraPublish, model.RingBufferEnqueue, model.RingBufferDequeue:
			e.Derived = random.IntN(2) == 0
			e.Details = merge.DetailMessageStamp * random.Uint32N(2)
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
	at := func(time, stack uint64, role model.Role, callback uint64) model.Event {
		return model.Event{
			TimeNs: time, StackPointer: stack, PID: 1, TID: 1, ID: model.CallbackEnd, Role: role, Arguments: [5]uint64{callback},
		}
	}
	for name, test := range map[string]struct {
		events []model.Event
		ends   []uint64 // times of what is recorded
	}{
		"caller and body":      {[]model.Event{at(1, 64, model.Caller, 7), at(2, 64, model.Body, 7)}, []uint64{1}},
		"caller only":          {[]model.Event{at(1, 64, model.Caller, 7), at(2, 64, model.Caller, 7)}, []uint64{1, 2}},
		"body only":            {[]model.Event{at(1, 64, model.Body, 7), at(2, 64, model.Body, 7)}, []uint64{1, 2}},
		"one body a caller":    {[]model.Event{at(1, 64, model.Caller, 7), at(2, 64, model.Body, 7), at(3, 64, model.Body, 7)}, []uint64{1, 3}},
		"other stack":          {[]model.Event{at(1, 64, model.Caller, 7), at(2, 56, model.Body, 7)}, []uint64{1, 2}},
		"other argument":       {[]model.Event{at(1, 64, model.Caller, 7), at(2, 64, model.Body, 8)}, []uint64{1, 2}},
		"forgotten by a body":  {[]model.Event{at(1, 64, model.Caller, 7), at(2, 64, model.Body, 8), at(3, 64, model.Body, 7)}, []uint64{1, 2, 3}},
		"function of its own":  {[]model.Event{at(1, 64, model.Caller, 7), at(2, 64, model.Function, 7)}, []uint64{1, 2}},
		"later caller and end": {[]model.Event{at(1, 64, model.Caller, 7), at(2, 64, model.Caller, 8), at(3, 64, model.Body, 8)}, []uint64{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			machine := model.NewMachine()
			for _, e := range test.events {
				machine.Handle(e)
			}
			var ends []uint64
			for _, record := range machine.Records {
				ends = append(ends, record.(*merge.CallbackRecord).EndNs)
			}
			if !slices.Equal(ends, test.ends) {
				t.Errorf("ends at %v, want %v", ends, test.ends)
			}
		})
	}
}
