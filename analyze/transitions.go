package analyze

import (
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Transitions passes on the transitions of managed nodes that are asked for, in the order of the datasets. Filters by
// topic and by callback are not about them.
func (q *Query) Transitions(ctx context.Context, each func([]trace.Lifecycle) error) error {
	for i, d := range q.datasets {
		err := trace.Scan(ctx, d, trace.TableLifecycle, func(rows []trace.Lifecycle) error {
			asked := slices.DeleteFunc(slices.Clone(rows), func(row trace.Lifecycle) bool {
				at := q.clocks[i].correct(row.TransitionTimestamp)
				return !q.filter.covers(at) || !matches(q.filter.Nodes, row.NodeName) ||
					len(q.filter.Processes) > 0 && !slices.Contains(q.filter.Processes, row.PID)
			})
			for j := range asked {
				asked[j].TransitionTimestamp = q.clocks[i].correct(asked[j].TransitionTimestamp)
			}
			return each(asked)
		})
		if err := q.warnOfDamage(err); err != nil {
			return err
		}
	}
	return nil
}
