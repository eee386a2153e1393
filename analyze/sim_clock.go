package analyze

import (
	"context"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// simClock converts the query's times to simulated time, along straight lines between the updates of /clock.
type simClock struct {
	updates []simUpdate
}

type simUpdate struct {
	at, simTime int64
}

// newSimClock reads simulated time. It fails with ErrNothingSelected where none was recorded.
func newSimClock(ctx context.Context, q *Query) (*simClock, error) {
	c := new(simClock)
	for i, d := range q.datasets {
		err := trace.Scan(ctx, d, trace.TableSimTime, func(rows []trace.SimTime) error {
			for _, row := range rows {
				c.updates = append(c.updates, simUpdate{q.clocks[i].correct(row.UpdateTimestamp), row.SimTime})
			}
			return nil
		})
		if err := q.warnOfDamage(err); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(c.updates, func(a, b simUpdate) int { return compareTimes(a.at, b.at) })
	// Every clock of every node is updated by the same message: the first to hear of a time tells it.
	var last *simUpdate
	c.updates = slices.DeleteFunc(c.updates, func(u simUpdate) bool {
		repeated := last != nil && (u.at == last.at || u.simTime == last.simTime)
		if !repeated {
			last = &simUpdate{u.at, u.simTime}
		}
		return repeated
	})
	if len(c.updates) < 2 {
		return nil, fmt.Errorf("%w: no simulated time was recorded: no node follows /clock, or too shortly", ErrNothingSelected)
	}
	return c, nil
}

// convert returns the simulated time. Before the first and after the last update it goes on at the pace of the nearest
// two.
func (c *simClock) convert(at int64) int64 {
	i, _ := slices.BinarySearchFunc(c.updates, at, func(u simUpdate, at int64) int { return compareTimes(u.at, at) })
	i = min(max(i, 1), len(c.updates)-1)
	a, b := c.updates[i-1], c.updates[i]
	pace := float64(b.simTime-a.simTime) / float64(b.at-a.at)
	return a.simTime + int64(pace*float64(at-a.at))
}
