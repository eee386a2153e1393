package model_test

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/merge/model"
)

// TestWhatALeftCallbackTookFeedsNone: an exception that nothing showed has left a callback in which something was
// taken. The next one that begins further up has not got it.
func TestWhatALeftCallbackTookFeedsNone(t *testing.T) {
	const left, next, low, high = 0x10, 0x20, 0x1000, 0x2000
	for name, taken := range map[string]model.Event{
		"take":    {ID: abi.EventRMWTake, Arguments: [5]uint64{1, 2, 3, 1}},
		"dequeue": {ID: abi.EventRclcppRingBufferDequeue, Arguments: [5]uint64{1, 2, 3}},
		"request": {ID: abi.EventRequestTaken, Arguments: [5]uint64{1, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			intra := uint64(0)
			if taken.ID == abi.EventRclcppRingBufferDequeue {
				intra = 1
			}
			events := []model.Event{
				{ID: abi.EventCallbackStart, StackPointer: low, Arguments: [5]uint64{left}},
				taken,
				{ID: abi.EventCallbackStart, StackPointer: high, Arguments: [5]uint64{next, intra}},
				{ID: abi.EventCallbackEnd, StackPointer: high, Arguments: [5]uint64{next}},
			}
			events[1].StackPointer = low - 0x100
			machine, compiled := model.NewMachine(), newKernel(t)
			for i := range events {
				events[i].PID, events[i].TID, events[i].TimeNs = 1, 1, uint64(i+1)
				machine.Handle(events[i])
				compiled.handle(t, events[i])
			}
			for who, records := range map[string][]any{"model": machine.Records, "kernel": compiled.drain(t)} {
				freed := false
				for _, record := range records {
					switch record := record.(type) {
					case *abi.CallbackRecord:
						if record.Callback == next && record.Header.Flags&(abi.FlagFedByTake|abi.FlagFedByDequeue|abi.FlagFedByRequest) != 0 {
							t.Errorf("%s: the next callback is fed: %+v", who, record)
						}
					case *abi.TakeRecord:
						freed = record.Callback == left
					case *abi.ServiceRecord:
						freed = record.Callback == left
					}
				}
				if !freed {
					t.Errorf("%s: nothing says what was taken in the callback that was left: %+v", who, records)
				}
			}
		})
	}
}

// TestDerivedEndsWithoutStarts: an end that is derived also follows a take that has failed. Without its start it makes
// no record, on a thread of which nothing is known and on one that has shown something.
func TestDerivedEndsWithoutStarts(t *testing.T) {
	const other, generic = 0x30, 0x40
	start := model.Event{ID: abi.EventCallbackStart, Arguments: [5]uint64{other}}
	end := model.Event{ID: abi.EventCallbackEnd, Arguments: [5]uint64{other}}
	for name, before := range map[string][]model.Event{
		"the first event": nil, "after another callback": {start, end}, "in another callback": {start},
	} {
		t.Run(name, func(t *testing.T) {
			events := append(before, model.Event{ID: abi.EventCallbackEnd, Arguments: [5]uint64{generic}, Derived: true})
			machine, compiled := model.NewMachine(), newKernel(t)
			for i, e := range events {
				e.PID, e.TID, e.TimeNs, e.StackPointer = 1, 1, uint64(i+1), 0x1000
				machine.Handle(e)
				compiled.handle(t, e)
			}
			for who, records := range map[string][]any{"model": machine.Records, "kernel": compiled.drain(t)} {
				for _, record := range records {
					if record, ok := record.(*abi.CallbackRecord); ok && record.Callback == generic {
						t.Errorf("%s: %+v", who, record)
					}
				}
			}
		})
	}
}
