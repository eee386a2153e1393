package oracle

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

func TestCheckSched(t *testing.T) {
	preempted := trace.Sched{
		TID: 8, Kind: trace.SchedPreempted, SchedOutTimestamp: 10, SchedInTimestamp: 20, Callback: 0x30, CallbackStartTimestamp: trace.Some[int64](5),
		Priority: 120, OtherPID: trace.Some[int32](9), OtherTID: trace.Some[int32](9), OtherCommand: "hog", OtherPriority: trace.Some[int32](50),
	}
	blocked := preempted
	blocked.Kind, blocked.WakingTimestamp = trace.SchedBlocked, trace.Some[int64](8)
	for name, test := range map[string]struct {
		of     trace.Sched
		change func(*trace.Sched)
		good   bool
	}{
		"preempted":                   {preempted, func(*trace.Sched) {}, true},
		"blocked":                     {blocked, func(*trace.Sched) {}, true},
		"no kind":                     {blocked, func(row *trace.Sched) { row.Kind = "" }, false},
		"backwards":                   {blocked, func(row *trace.Sched) { row.SchedInTimestamp = 9 }, false},
		"woken while it could run":    {preempted, func(row *trace.Sched) { row.WakingTimestamp = trace.Some[int64](12) }, false},
		"woken too late":              {blocked, func(row *trace.Sched) { row.WakingTimestamp.Value = 21 }, false},
		"another thread without name": {blocked, func(row *trace.Sched) { row.OtherCommand = "" }, false},
		"due to itself":               {blocked, func(row *trace.Sched) { row.OtherTID.Value = 8 }, false},
		"an unseen waker":             {blocked, func(row *trace.Sched) { row.WakingTimestamp = trace.Optional[int64]{} }, false},
		"half a callback":             {blocked, func(row *trace.Sched) { row.Callback = 0 }, false},
		"before its callback":         {blocked, func(row *trace.Sched) { row.CallbackStartTimestamp.Value = 11 }, false},
		"no priority":                 {blocked, func(row *trace.Sched) { row.Priority = 140 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			test.change(&test.of)
			if problem := CheckSched(&test.of); (problem == "") != test.good {
				t.Errorf("%q", problem)
			}
		})
	}
}
