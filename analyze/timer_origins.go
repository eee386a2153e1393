package analyze

import (
	"context"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// timerOrigins are where the grids of timers begin, on the common clock: at their inits, where these were recorded.
type timerOrigins map[timerInit]trace.Optional[int64]

// timerInit is the init of a timer as the dataset tells that has recorded it.
type timerInit struct {
	process  trace.ProcessKey
	callback trace.Address
	at       int64
}

func initOf(c *system.Callback) timerInit {
	return timerInit{c.Node.Process, c.Address, c.Life.Init.Value}
}

// timerColumns are the columns of timer that tell of its init.
type timerColumns struct {
	trace.ProcessKey
	Callback trace.Address         `column:"callback,null"`
	Init     trace.Optional[int64] `column:"init_timestamp,hit=rcl_timer_init"`
}

// timerOrigins finds, for each timer, the dataset that has recorded its init, and by that the clock of the init. Where
// datasets with different clocks tell of it, the origin is unknown.
func (q *Query) timerOrigins(ctx context.Context) (timerOrigins, error) {
	origins := timerOrigins{}
	for _, n := range q.Architecture.Nodes {
		for _, c := range n.Callbacks {
			if c.Kind == trace.KindTimer && c.Life.Init.Valid {
				origins[initOf(c)] = trace.Optional[int64]{}
			}
		}
	}
	contested := map[timerInit]bool{}
	for i, d := range q.datasets {
		err := trace.Scan(ctx, d, trace.TableTimer, func(rows []timerColumns) error {
			for _, row := range rows {
				key := timerInit{row.ProcessKey, row.Callback, row.Init.Value}
				known, wanted := origins[key]
				if !wanted || !row.Init.Valid || contested[key] {
					continue
				}
				origin := q.clocks[i].correct(row.Init.Value)
				contested[key] = known.Valid && known.Value != origin
				origins[key] = trace.Optional[int64]{Value: origin, Valid: !contested[key]}
			}
			return nil
		})
		if err := q.warnOfDamage(err); err != nil {
			return nil, err
		}
	}
	return origins, nil
}
