package perfetto

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// delays tells where the time before executions went. It is read beside the timeline, in the same order, so that only
// few are in memory.
type delays struct {
	next func() (analyze.DelayedExecution, bool)
	stop func()
	err  error
	// ahead is the next one that was read, if there is any.
	ahead  analyze.DelayedExecution
	isRead bool
	// at is the start that was asked for last, begun has those with it by their threads, nil where a thread has two.
	at    int64
	begun map[int32]*analyze.DelayedExecution
}

var errEnough = errors.New("enough was read")

// newDelays begins to read what a query answers. The query is used for nothing else until close.
func newDelays(ctx context.Context, query *analyze.Query) *delays {
	d := &delays{begun: make(map[int32]*analyze.DelayedExecution)}
	d.next, d.stop = iter.Pull(func(yield func(analyze.DelayedExecution) bool) {
		_, d.err = query.CallbackDelays(ctx, func(batch []analyze.DelayedExecution) error {
			for i := range batch {
				if !yield(batch[i]) {
					return errEnough
				}
			}
			return nil
		})
	})
	d.read()
	return d
}

// close ends reading. It returns why less was read than there is.
func (d *delays) close() error {
	d.stop()
	if errors.Is(d.err, errEnough) || errors.Is(d.err, analyze.ErrNoTimesOffCPU) {
		return nil
	}
	return d.err
}

func (d *delays) read() { d.ahead, d.isRead = d.next() }

// of returns that of an execution, nil if it is not known. Executions are asked for in the order of their starts.
func (d *delays) of(e *analyze.Execution) *analyze.DelayedExecution {
	if d == nil || e.Depth > 0 || !e.Start.Valid {
		return nil
	}
	if at := e.Start.Value; at != d.at {
		d.at = at
		clear(d.begun)
	}
	for ; d.isRead && d.ahead.Begin <= d.at; d.read() {
		if d.ahead.Begin < d.at {
			continue
		}
		one := &d.ahead
		if _, two := d.begun[one.TID]; two {
			d.begun[one.TID] = nil
		} else {
			delayed := *one
			d.begun[one.TID] = &delayed
		}
	}
	return d.begun[e.TID]
}

// hasTimesOffCPU reports whether a dataset has any: without them it is not known where the time before callbacks went,
// and asking would take as long as the export.
func hasTimesOffCPU(ctx context.Context, dataset *trace.Dataset) (bool, error) {
	err := trace.Scan(ctx, dataset, trace.TableSched, func(rows []trace.Sched) error {
		if len(rows) > 0 {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return true, nil
	}
	var damaged *trace.DamageError
	if errors.As(err, &damaged) { // told where the times are drawn
		return false, nil
	}
	return false, err
}

// before adds to an execution what its thread did in the time before it.
func (d *drawing) before(b []byte, of *analyze.DelayedExecution) []byte {
	b = d.text(b, "before.since", string(of.Since))
	b = d.number(b, "before.latency_ns", of.Latency)
	return d.spent(b, "before.", &of.DelayParts, &of.Preempter, of.Behind, of.BehindTime)
}

// spent adds what a thread did in a time.
func (d *drawing) spent(b []byte, prefix string, parts *analyze.DelayParts, by *analyze.Preempter, behind string, behindTime trace.Optional[int64]) []byte {
	b = d.number(b, prefix+"other_callbacks_ns", parts.OtherCallbacks)
	b = d.number(b, prefix+"executor_ns", parts.Executor)
	b = d.number(b, prefix+"preempted_time_ns", parts.PreemptedTime)
	b = d.number(b, prefix+"blocked_time_ns", parts.BlockedTime)
	b = d.number(b, prefix+"wakeup_latency_ns", parts.WakeupLatency)
	if by.PreemptedByTime.Valid {
		thread := fmt.Sprintf("%s, PID %d, thread %d", by.PreemptedBy, by.PreemptedByPID.Value, by.PreemptedByTID.Value)
		b = d.number(d.text(b, prefix+"preempted_by", thread), prefix+"preempted_by_time_ns", by.PreemptedByTime.Value)
	}
	if behindTime.Valid {
		b = d.number(d.text(b, prefix+"behind", behind), prefix+"behind_time_ns", behindTime.Value)
	}
	return b
}
