package view

import (
	"context"
	"fmt"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// offCPUTimes is the number of times off the CPU that an answer has at most.
const offCPUTimes = 20_000

// offCPUMargin is how long before a tile a thread may have left the CPU to be found in it, in nanoseconds.
const offCPUMargin = 1_000_000_000

// offCPU are the times in which threads were off the CPU in an exact tile.
type offCPU struct {
	Thread []int `json:"thread"`
	// Kind is preempted, blocked or woken.
	Kind []string `json:"kind"`
	From []int64  `json:"from"`
	To   []int64  `json:"to"`
	// Other is the command of the thread that got the CPU of one that was preempted, or else of the one that ran where it
	// was woken; null if none is known.
	Other []*string `json:"other"`
	// More says that there are more than these.
	More bool `json:"more"`
}

const (
	preempted = "preempted"
	blocked   = "blocked"
	// woken: it was awake again, and did not run yet.
	woken = "woken"
)

func (v *View) offCPU(ctx context.Context, t tile) (*offCPU, error) {
	x, err := v.readIndex(ctx)
	if err != nil {
		return nil, err
	}
	if !x.isExact(t) {
		return nil, fmt.Errorf("%w: tile %v is not exact: times off the CPU are told of exact tiles only", ErrBadKey, t)
	}
	o := &offCPU{Thread: []int{}, Kind: []string{}, From: []int64{}, To: []int64{}, Other: []*string{}}
	first := v.span.First
	err = v.timeline.within(ctx, first+t.begin-offCPUMargin, first+t.end, func(q *analyze.Query) error {
		return q.TimesOffCPU(ctx, func(rows []trace.Sched) error {
			for i := range rows {
				if o.More = len(o.From) >= offCPUTimes; o.More {
					return nil
				}
				v.addOffCPU(o, t, &rows[i])
			}
			return nil
		})
	})
	return o, err
}

// addOffCPU adds a time: one that was blocked was so until it was woken.
func (v *View) addOffCPU(o *offCPU, t tile, row *trace.Sched) {
	id, known := v.timelineEntities.threads[analyze.Thread{Process: row.ProcessKey, TID: row.TID}]
	from, to := v.since(row.SchedOutTimestamp), v.since(row.SchedInTimestamp)
	if !known || to < t.begin || from > t.end {
		return
	}
	add := func(kind string, from, to int64) {
		o.Thread, o.Kind, o.From, o.To = append(o.Thread, id), append(o.Kind, kind), append(o.From, from), append(o.To, to)
		o.Other = append(o.Other, orNull(row.OtherCommand))
	}
	if row.Kind != trace.SchedBlocked {
		add(preempted, from, to)
		return
	}
	waking := to
	if row.WakingTimestamp.Valid {
		waking = min(to, max(from, v.since(row.WakingTimestamp.Value)))
	}
	add(blocked, from, waking)
	if waking < to {
		add(woken, waking, to)
	}
}
