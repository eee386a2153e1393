package merge_test

import (
	"reflect"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/trace"
)

func TestScheds(t *testing.T) {
	hog := abi.OtherThread{PID: 20, TID: 21, Priority: 9, Command: [16]byte{'h', 'o', 'g'}}
	for name, test := range map[string]struct {
		record abi.SchedRecord
		want   trace.Sched
	}{
		"preempted in a callback": {
			abi.SchedRecord{OutNs: 10, InNs: 30, Callback: 0x60, CallbackStartNs: 5, OutCPU: 3, Priority: 120, Other: hog},
			trace.Sched{
				Kind: trace.SchedPreempted, SchedOutTimestamp: 10 + offset, SchedInTimestamp: 30 + offset, OutCPU: 3, InCPU: 1, Callback: 0x60,
				CallbackStartTimestamp: trace.Some(5 + offset), Priority: 120, OtherPID: trace.Some[int32](20), OtherTID: trace.Some[int32](21),
				OtherCommand: "hog", OtherPriority: trace.Some[int32](9),
			},
		},
		"blocked outside of callbacks, and woken by nobody who was seen": {
			abi.SchedRecord{Header: abi.RecordHeader{Status: abi.SchedBlocked}, OutNs: 10, InNs: 30, Priority: -1},
			trace.Sched{Kind: trace.SchedBlocked, SchedOutTimestamp: 10 + offset, SchedInTimestamp: 30 + offset, InCPU: 1, Priority: -1},
		},
		"woken before it was off the CPU, by the idle thread": {
			abi.SchedRecord{Header: abi.RecordHeader{Status: abi.SchedBlocked}, OutNs: 10, InNs: 30, WakingNs: 9, Other: abi.OtherThread{Priority: 120}},
			trace.Sched{
				Kind: trace.SchedBlocked, SchedOutTimestamp: 10 + offset, SchedInTimestamp: 30 + offset, WakingTimestamp: trace.Some(9 + offset), InCPU: 1,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.record.Header = header(abi.KindSched, test.record.Header.Status, 0)
			test.want.ProcessKey, test.want.TID = tracedProcess, 8
			rows := feed(t, merge.Options{}, encode(test.record)).Scheds
			if !reflect.DeepEqual([]trace.Sched(rows), []trace.Sched{test.want}) {
				t.Errorf("got  %+v\nwant %+v", rows, test.want)
			}
		})
	}
}
