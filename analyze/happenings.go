package analyze

import (
	"context"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Transitions passes on the transitions of managed nodes that are asked for. Filters by topic and callback are not
// about them. Here and below the order is that of the datasets, unless it is said.
func (q *Query) Transitions(ctx context.Context, each func([]trace.Lifecycle) error) error {
	return eachHappening(ctx, q, trace.TableLifecycle, func(row *trace.Lifecycle, clock *clockCorrection) bool {
		row.TransitionTimestamp = clock.correct(row.TransitionTimestamp)
		return q.filter.covers(row.TransitionTimestamp) && matches(q.filter.Nodes, row.NodeName) && q.filter.process(row.PID)
	}, each)
}

// Waits passes on the waits of executors' threads that began, or whose only known time lies, in the time that is asked
// for. They belong to no node and no topic: where those are asked for there is none.
func (q *Query) Waits(ctx context.Context, each func([]trace.Wait) error) error {
	if q.filter.isOfNames() {
		return nil
	}
	return eachHappening(ctx, q, trace.TableWait, func(row *trace.Wait, clock *clockCorrection) bool {
		at := &row.WaitStartTimestamp
		for _, time := range []*trace.Optional[int64]{&row.WaitEndTimestamp, &row.WaitStartTimestamp} {
			if time.Valid {
				time.Value = clock.correct(time.Value)
				at = time
			}
		}
		return at.Valid && q.filter.covers(at.Value) && q.filter.process(row.PID)
	}, each)
}

// TimesOffCPU passes on the times off the CPU that began in the time that is asked for, also outside of callbacks.
// They belong to no node and no topic: where those are asked for there is none. Row groups come in the order in which
// they begin.
func (q *Query) TimesOffCPU(ctx context.Context, each func([]trace.Sched) error) error {
	if q.filter.isOfNames() {
		return nil
	}
	groups, err := q.tableGroups(ctx, trace.TableSched, []string{"sched_out_timestamp"}, nil, q.outside)
	if err != nil {
		return err
	}
	for _, g := range groups {
		clock := &q.clocks[g.dataset]
		var passed []trace.Sched
		err := trace.ScanGroup(ctx, trace.TableSched, g.Group, nil, func(rows []trace.Sched) error {
			passed = passed[:0]
			for _, row := range rows {
				for _, time := range []*int64{&row.SchedOutTimestamp, &row.SchedInTimestamp, &row.WakingTimestamp.Value} {
					*time = clock.correct(*time)
				}
				if q.filter.covers(row.SchedOutTimestamp) && q.filter.process(row.PID) {
					passed = append(passed, row)
				}
			}
			return each(passed)
		})
		if err := q.warnOfDamage(err); err != nil {
			return err
		}
	}
	return nil
}

// SimTimes passes on the updates of clocks by simulated time that are asked for. They belong to no node and no topic:
// where those are asked for there is none.
func (q *Query) SimTimes(ctx context.Context, each func([]trace.SimTime) error) error {
	if q.filter.isOfNames() {
		return nil
	}
	return eachHappening(ctx, q, trace.TableSimTime, func(row *trace.SimTime, clock *clockCorrection) bool {
		row.UpdateTimestamp = clock.correct(row.UpdateTimestamp)
		return q.filter.covers(row.UpdateTimestamp) && q.filter.process(row.PID)
	}, each)
}

// isOfNames reports whether nodes, topics or callbacks are asked for.
func (f *Filter) isOfNames() bool { return len(f.Nodes)+len(f.Topics)+len(f.Callbacks) > 0 }

// eachHappening passes on the rows of a table that are asked for, with times on the query's clock.
func eachHappening[T any](ctx context.Context, q *Query, table string, asked func(*T, *clockCorrection) bool, each func([]T) error) error {
	for i, d := range q.datasets {
		var passed []T
		err := trace.Scan(ctx, d, table, func(rows []T) error {
			passed = passed[:0]
			for _, row := range rows {
				if asked(&row, &q.clocks[i]) {
					passed = append(passed, row)
				}
			}
			return each(passed)
		})
		if err := q.warnOfDamage(err); err != nil {
			return err
		}
	}
	return nil
}
