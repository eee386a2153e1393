package answers

import (
	"cmp"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// parts gives executions what `record --sched=full` records. The parts of every seventh are unknown, and all of one
// callback. Some times off the CPU are outside of callbacks.
type parts struct {
	made    int64
	skipped string // the node of the callback of which no parts are known
}

func (p *parts) add(batch *trace.Batch) {
	others := []string{"", "hog", "kworker/0:1"}
	for i := range batch.Callbacks {
		row := &batch.Callbacks[i]
		p.skipped = cmp.Or(p.skipped, row.NodeName)
		p.made++
		off := trace.Sched{
			ProcessKey: row.ProcessKey, TID: row.TID, Kind: trace.SchedPreempted, SchedOutTimestamp: row.CallbackStartTimestamp.Value,
			SchedInTimestamp: row.CallbackStartTimestamp.Value + p.made%17, OtherCommand: others[p.made%3],
		}
		if p.made%5 == 0 {
			off.Kind = trace.SchedBlocked
		}
		if p.made%7 == 0 || !row.CallbackEndTimestamp.Valid || row.NodeName == p.skipped {
			batch.Scheds = append(batch.Scheds, off)
			continue
		}
		off.Callback, off.CallbackStartTimestamp = row.Callback, row.CallbackStartTimestamp
		batch.Scheds = append(batch.Scheds, off)
		duration := row.CallbackEndTimestamp.Value - row.CallbackStartTimestamp.Value
		preempted, blocked, wakeup := duration/3, duration/5, duration/11
		tracetest.SetParts(row, duration-preempted-blocked-wakeup, preempted, blocked, wakeup, int32(p.made%3), int32(p.made%2))
	}
}
