package perfetto

import (
	"fmt"

	"github.com/caret-bpf/caret-bpf/trace"
)

// drawnTimesOffCPU draws when threads were off the CPU, on a track of each thread.
type drawnTimesOffCPU struct {
	*drawing
	threads threadLanes
}

func newDrawnTimesOffCPU(d *drawing) *drawnTimesOffCPU {
	return &drawnTimesOffCPU{drawing: d, threads: newThreadLanes("off the CPU")}
}

func (o *drawnTimesOffCPU) add(rows []trace.Sched) error {
	for i := range rows {
		o.time(&rows[i])
	}
	return o.err
}

// time draws a time off the CPU. One of a thread that blocked has two parts, if it was seen to be woken.
func (o *drawnTimesOffCPU) time(row *trace.Sched) {
	on := o.threads.of(o.drawing, row.ProcessKey, row.TID)
	o.summary.TimesOffCPU++
	out, in := row.SchedOutTimestamp, max(row.SchedInTimestamp, row.SchedOutTimestamp)
	track := on.free(&o.tracks, out, in).uuid
	if row.Kind == trace.SchedPreempted {
		o.part(track, out, in, string(row.Kind), "by", row)
		return
	}
	woken := in
	if row.WakingTimestamp.Valid {
		woken = min(max(row.WakingTimestamp.Value, out), in)
	}
	o.part(track, out, woken, string(row.Kind), "woken_where_ran", row)
	if woken < in {
		o.occurred(woken, appendVarint(o.event(sliceBegin, categoryOffCPU, "awake"), eventTrackUUID, track))
		o.end(track, in)
	}
}

// part draws a part with the other thread, if that is known.
func (o *drawnTimesOffCPU) part(track uint64, from, until int64, name, role string, row *trace.Sched) {
	b := o.event(sliceBegin, categoryOffCPU, name)
	if row.OtherTID.Valid {
		b = o.text(b, role, fmt.Sprintf("%s, PID %d, thread %d, priority %d", row.OtherCommand, row.OtherPID.Value, row.OtherTID.Value, row.OtherPriority.Value))
	}
	o.occurred(from, appendVarint(b, eventTrackUUID, track))
	o.end(track, until)
}
