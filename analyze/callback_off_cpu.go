package analyze

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// ErrNoTimesOffCPU is returned where no time off the CPU within a callback is recorded.
var ErrNoTimesOffCPU = errors.New("no time off the CPU is recorded within a callback: that is done by record --sched=full")

// CallbackOffCPU is why the thread of a callback was off the CPU, and due to whom.
type CallbackOffCPU struct {
	CallbackLabel
	// Kind says whether it could run, or was blocked.
	Kind trace.SchedKind `report:"off_cpu"`
	// Other is the command of the thread that got the CPU or, where the thread was blocked, that ran where it was woken;
	// null if none is known.
	Other string `report:"other_command"`
	// Count is how often it was so.
	Count uint64 `report:"count"`
	// Total is how long it was off the CPU in all, Mean and Longest are of each time.
	Total   int64 `report:"total,duration"`
	Mean    int64 `report:"mean,duration,drop=3"`
	Longest int64 `report:"longest,duration"`
}

// TimeOffCPU is one time off the CPU within a callback.
type TimeOffCPU struct {
	CallbackLabel
	TID int32 `report:"tid,identifier,drop=5"`
	// Begin is when it left its CPU, Latency how long it took until it was back on one.
	Begin         int64                 `report:"sched_out_timestamp,time"`
	Latency       int64                 `report:"latency,duration"`
	Kind          trace.SchedKind       `report:"off_cpu"`
	OtherPID      trace.Optional[int32] `report:"other_pid,identifier,drop=4"`
	OtherTID      trace.Optional[int32] `report:"other_tid,identifier,drop=3"`
	Other         string                `report:"other_command"`
	OtherPriority trace.Optional[int32] `report:"other_priority,drop=2"`
}

// cause is what times off the CPU have in common that are counted together.
type cause struct {
	callback *system.Callback
	kind     trace.SchedKind
	other    string
}

// CallbackOffCPU answers what kept the threads of callbacks off the CPU. Each time is that of the innermost callback.
// each, if not nil, gets every time, in the order of their begin. The error wraps ErrNoTimesOffCPU if there is none.
func (q *Query) CallbackOffCPU(ctx context.Context, each func([]TimeOffCPU) error) ([]CallbackOffCPU, error) {
	callbacks := system.NewLookup(q.Architecture.Index().Callbacks)
	instances := newSeries(each, func(t *TimeOffCPU) int64 { return t.Begin })
	results, inside := make(map[cause]*CallbackOffCPU), false
	err := eachHappening(ctx, q, trace.TableSched, func(row *trace.Sched, clock *clockCorrection) bool {
		if !row.CallbackStartTimestamp.Valid {
			return false
		}
		inside = true
		c := callbacks.Find(&row.ProcessKey, row.Callback, row.CallbackStartTimestamp.Value)
		if c == nil {
			c = q.unknown.Callback(row.ProcessKey, row.Callback)
		}
		begin := clock.correct(row.SchedOutTimestamp)
		if !q.filter.covers(begin) || !q.filter.callback(c) {
			return false
		}
		latency := row.SchedInTimestamp - row.SchedOutTimestamp
		key := cause{c, row.Kind, row.OtherCommand}
		if results[key] == nil {
			results[key] = &CallbackOffCPU{CallbackLabel: LabelOf(c), Kind: row.Kind, Other: row.OtherCommand}
		}
		results[key].add(latency)
		if instances.wanted() {
			instances.add(TimeOffCPU{
				CallbackLabel: LabelOf(c), TID: row.TID, Begin: begin, Latency: latency, Kind: row.Kind,
				OtherPID: row.OtherPID, OtherTID: row.OtherTID, Other: row.OtherCommand, OtherPriority: row.OtherPriority,
			})
		}
		return false
	}, func([]trace.Sched) error { return instances.flush() })
	if err == nil {
		err = instances.end(q)
	}
	if err == nil && !inside {
		err = ErrNoTimesOffCPU
	}
	if err != nil {
		return nil, err
	}
	var all []CallbackOffCPU
	for _, r := range results {
		r.Mean = meanOf(r.Total, int64(r.Count))
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b CallbackOffCPU) int {
		return cmp.Or(compareLabels(a.CallbackLabel, b.CallbackLabel), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Other, b.Other))
	})
	return all, nil
}

func (r *CallbackOffCPU) add(latency int64) {
	r.Count++
	r.Total += latency
	r.Longest = max(r.Longest, latency)
}
