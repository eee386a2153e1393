package analyze

import (
	"cmp"
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// preemptedTimes are the times at which threads were preempted, by the datasets' clocks. A dataset without any time off
// the CPU has no entry: it was recorded without --sched=full.
type preemptedTimes map[*clockCorrection]map[threadOf][]preemptedTime

// preemptedTime is one of them, in the times of its dataset, of which it is known who had the CPU.
type preemptedTime struct {
	out, in int64
	by      *otherThread
}

// preemptedTimes reads those of all threads. It takes 24 bytes of memory for each.
func (q *Query) preemptedTimes(ctx context.Context) (preemptedTimes, error) {
	all, others := make(preemptedTimes), make(otherThreads)
	for i, d := range q.datasets {
		clock := &q.clocks[i]
		err := trace.Scan(ctx, d, trace.TableSched, func(rows []trace.Sched) error {
			if all[clock] == nil {
				all[clock] = make(map[threadOf][]preemptedTime)
			}
			for i := range rows {
				row := &rows[i]
				isEarlier := q.filter.From.Valid && clock.correct(row.SchedInTimestamp) < q.filter.From.Value
				if by := others.preempterOf(row); by != nil && !isEarlier {
					thread := threadOf{row.ProcessKey, row.TID}
					all[clock][thread] = append(all[clock][thread], preemptedTime{row.SchedOutTimestamp, row.SchedInTimestamp, by})
				}
			}
			return nil
		})
		if err := q.warnOfDamage(err); err != nil {
			return nil, err
		}
		for _, times := range all[clock] {
			slices.SortFunc(times, func(a, b preemptedTime) int { return cmp.Compare(a.out, b.out) })
		}
	}
	return all, nil
}

// within are the preemptions of a thread between two instants at which it ran, in the times of the dataset.
func (p preemptedTimes) within(clock *clockCorrection, thread threadOf, from, until int64) (by preemptions) {
	times := p[clock][thread]
	first, _ := slices.BinarySearchFunc(times, from, func(t preemptedTime, from int64) int { return cmp.Compare(t.out, from) })
	for _, t := range times[first:] {
		if t.out >= until {
			break
		}
		by.add(t.by, min(t.in, until)-t.out)
	}
	return by
}
