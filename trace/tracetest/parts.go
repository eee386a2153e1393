package tracetest

import "github.com/caret-bpf/caret-bpf/trace"

// SetParts gives a callback the parts of its duration, in nanoseconds, as record --sched does.
func SetParts(row *trace.Callback, cpu, preempted, blocked, wakeup int64, preemptions, migrations int32) {
	row.CPUTime, row.PreemptedTime = trace.Some(cpu), trace.Some(preempted)
	row.BlockedTime, row.WakeupLatency = trace.Some(blocked), trace.Some(wakeup)
	row.Preemptions, row.Migrations = trace.Some(preemptions), trace.Some(migrations)
}
