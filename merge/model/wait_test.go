package model_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/merge/model"
)

// TestWaits: what a thread's waits become, by the model and by the kernel side.
func TestWaits(t *testing.T) {
	const stack, executor, timeout = 0x1000, 0x30, 7
	begins := model.Event{ID: abi.EventWait, StackPointer: stack, Arguments: [5]uint64{executor, timeout}}
	returns := func(stackPointer uint64) model.Event {
		return model.Event{ID: abi.EventWait, Role: abi.RoleReturn, StackPointer: stackPointer, Arguments: [5]uint64{1, 2}}
	}
	callback := model.Event{ID: abi.EventCallbackStart, StackPointer: stack}
	exits := model.Event{ID: abi.EventThreadExit}
	for name, test := range map[string]struct {
		events []model.Event // at 1, 2, …
		want   []string      // status, start, end, executor and timeout
	}{
		"complete, x86-64":                          {[]model.Event{begins, returns(stack + 8)}, []string{"0: 1 to 2, 0x30 for 7"}},
		"complete, arm64":                           {[]model.Event{begins, returns(stack)}, []string{"0: 1 to 2, 0x30 for 7"}},
		"one after the other":                       {[]model.Event{begins, returns(stack), begins, returns(stack)}, []string{"0: 1 to 2, 0x30 for 7", "0: 3 to 4, 0x30 for 7"}},
		"a return is of one wait":                   {[]model.Event{begins, returns(stack), returns(stack)}, []string{"0: 1 to 2, 0x30 for 7"}},
		"began before the recording":                {[]model.Event{returns(stack)}, []string{"1: 0 to 1, 0x0 for 0"}},
		"another way leads behind the call":         {[]model.Event{callback, returns(stack)}, nil},
		"further up, in a frame that called none":   {[]model.Event{begins, returns(stack + 9), exits}, []string{"4: 1 to 0, 0x30 for 7"}},
		"further down, in a frame that called none": {[]model.Event{begins, returns(stack - 1), exits}, []string{"4: 1 to 0, 0x30 for 7"}},
		"left by an exception":                      {[]model.Event{begins, begins, returns(stack)}, []string{"2: 1 to 0, 0x30 for 7", "0: 2 to 3, 0x30 for 7"}},
		"the thread ends":                           {[]model.Event{begins, exits}, []string{"4: 1 to 0, 0x30 for 7"}},
		"still open":                                {[]model.Event{begins}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			machine, compiled := model.NewMachine(), newKernel(t)
			for i, e := range test.events {
				e.PID, e.TID, e.TimeNs = 1, 1, uint64(i+1)
				machine.Handle(e)
				compiled.handle(t, e)
			}
			for who, records := range map[string][]any{"model": machine.Records, "kernel": compiled.drain(t)} {
				var got []string
				for _, record := range records {
					if w, ok := record.(*abi.WaitRecord); ok {
						got = append(got, fmt.Sprintf("%d: %d to %d, %#x for %d", w.Header.Status, w.StartNs, w.EndNs, w.Executor, w.TimeoutNs))
					}
				}
				if !reflect.DeepEqual(got, test.want) {
					t.Errorf("%s: %q, want %q", who, got, test.want)
				}
			}
		})
	}
}
