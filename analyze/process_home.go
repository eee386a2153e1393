package analyze

import (
	"context"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// processHomes are the datasets that have recorded processes: the lives of entities are by the clocks of these. Of
// several that have recorded a process it is the first one.
type processHomes map[trace.ProcessKey]int

// findHomes finds them, if there are several datasets.
func (q *Query) findHomes(ctx context.Context) (processHomes, error) {
	if len(q.datasets) < 2 {
		return nil, nil
	}
	homes := make(processHomes)
	for i, d := range q.datasets {
		err := trace.Scan(ctx, d, trace.TableProcess, func(rows []struct{ trace.ProcessKey }) error {
			for _, row := range rows {
				if _, known := homes[row.ProcessKey]; !known {
					homes[row.ProcessKey] = i
				}
			}
			return nil
		})
		if err := q.warnOfDamage(err); err != nil {
			return nil, err
		}
	}
	return homes, nil
}

// lifeOf returns when a subscription lived, on the query's clock.
func (q *Query) lifeOf(s *system.Subscription) system.Life {
	if len(q.datasets) < 2 {
		return s.Life
	}
	clock := &q.clocks[q.homes[s.Node.Process]]
	life := s.Life
	life.Init.Value, life.End.Value = clock.correct(life.Init.Value), clock.correct(life.End.Value)
	return life
}
