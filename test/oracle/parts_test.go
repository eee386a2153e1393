package oracle

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

func TestCheckParts(t *testing.T) {
	parted := func(change func(*trace.Callback)) *trace.Callback {
		row := &trace.Callback{
			Status: trace.CallbackComplete, CallbackStartTimestamp: trace.Some[int64](100), CallbackEndTimestamp: trace.Some[int64](200),
			CPUTime: trace.Some[int64](40), PreemptedTime: trace.Some[int64](30), BlockedTime: trace.Some[int64](20), WakeupLatency: trace.Some[int64](10),
			Preemptions: trace.Some[int32](1), Migrations: trace.Some[int32](0),
		}
		change(row)
		return row
	}
	for name, test := range map[string]struct {
		row  *trace.Callback
		good bool
	}{
		"unknown":          {&trace.Callback{Status: trace.CallbackComplete}, true},
		"known":            {parted(func(*trace.Callback) {}), true},
		"one is unknown":   {parted(func(r *trace.Callback) { r.BlockedTime = trace.Optional[int64]{} }), false},
		"a count is":       {parted(func(r *trace.Callback) { r.Migrations = trace.Optional[int32]{} }), false},
		"not complete":     {parted(func(r *trace.Callback) { r.Status = trace.CallbackUnwound }), false},
		"more than it all": {parted(func(r *trace.Callback) { r.CPUTime.Value++ }), false},
		"negative":         {parted(func(r *trace.Callback) { r.CPUTime.Value, r.BlockedTime.Value = -10, 70 }), false},
		"never preempted":  {parted(func(r *trace.Callback) { r.Preemptions.Value = 0 }), false},
	} {
		if problem := CheckParts(test.row); (problem == "") != test.good {
			t.Errorf("%s: %q", name, problem)
		}
	}
}
