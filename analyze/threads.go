package analyze

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Thread is a thread of a recorded process.
type Thread struct {
	Process trace.ProcessKey
	TID     int32
}

// threadTimes are the tables whose rows tell of a thread, and their times.
var threadTimes = map[string][]string{
	trace.TableCallback: {"callback_start_timestamp", "callback_end_timestamp"},
	trace.TablePublish:  scan.PublishTimes,
	trace.TableTake:     {"rmw_take_timestamp", "dequeue_timestamp"},
}

// threadColumns tell whose a row is.
type threadColumns struct {
	trace.ProcessKey
	TID int32 `column:"tid"`
}

// Threads returns the threads of the processes that are asked for which ran callbacks, published or took messages, in
// the order of their processes, and how many rows of callbacks there are of each. Row groups count whole if a part of
// them lies in the time that is asked for. It takes a fraction of the time of reading the rows.
func (q *Query) Threads(ctx context.Context) (threads []Thread, executions map[Thread]int, err error) {
	var damaged scan.Damages
	var mu sync.Mutex
	executions = make(map[Thread]int)
	for table, times := range threadTimes {
		groups, err := q.tableGroups(ctx, table, times, nil, q.outside)
		if err != nil {
			return nil, nil, err
		}
		err = scan.InParallel(ctx, len(groups), func(ctx context.Context, _, i int) error {
			return damaged.Add(trace.Distinct(ctx, table, groups[i].Group, func(row *threadColumns, rows uint64) {
				if !q.filter.process(row.PID) {
					return
				}
				if table != trace.TableCallback {
					rows = 0
				}
				mu.Lock()
				defer mu.Unlock()
				executions[Thread{row.ProcessKey, row.TID}] += int(rows)
			}))
		})
		if err != nil {
			return nil, nil, err
		}
	}
	for of := range executions {
		threads = append(threads, of)
	}
	slices.SortFunc(threads, func(a, b Thread) int {
		return cmp.Or(system.CompareProcesses(a.Process, b.Process), cmp.Compare(a.TID, b.TID))
	})
	return threads, executions, q.warnOfDamage(damaged.Err())
}
