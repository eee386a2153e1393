package analyze

import (
	"cmp"
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// CallbackLabel names a callback in results.
type CallbackLabel struct {
	PID      int32              `report:"pid,identifier,detail"`
	Node     string             `report:"node_name"`
	Callback string             `report:"callback_name,drop=9"`
	Kind     trace.CallbackKind `report:"kind,drop=5"`
	// Topic is a subscription's topic or a service's name.
	Topic  string                `report:"topic_name"`
	Period trace.Optional[int64] `report:"period,duration,drop=10"`
	Symbol string                `report:"symbol,detail"`
}

// LabelOf returns the label that results have for a callback.
func LabelOf(c *system.Callback) CallbackLabel {
	return CallbackLabel{
		PID: c.Node.Process.PID, Node: c.Node.Name, Callback: c.Name, Kind: c.Kind, Topic: cmp.Or(c.TopicName, c.ServiceName), Period: c.Period, Symbol: c.Symbol,
	}
}

func compareLabels(a, b CallbackLabel) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.PID, b.PID), len(a.Callback)-len(b.Callback), cmp.Compare(a.Callback, b.Callback))
}

// CallbackLatency is the time that the executions of a callback took: callback_end − callback_start.
type CallbackLatency struct {
	CallbackLabel
	Statistics
	// Incomplete is the number of executions without an end or a begin.
	Incomplete uint64 `report:"incomplete,drop=4"`

	// OfEveryNode says that it is the callback of a subscription or a service that every node has (system.Standard). It is
	// no column.
	OfEveryNode bool
}

// CallbackExecution is one execution of a callback.
type CallbackExecution struct {
	CallbackLabel
	TID   int32 `report:"tid,identifier,drop=5"`
	Begin int64 `report:"callback_start_timestamp,time"`
	// End and Latency are null for an execution that was left by an exception or did not end while it was observed.
	End     trace.Optional[int64] `report:"callback_end_timestamp,time,drop=1"`
	Latency trace.Optional[int64] `report:"latency,duration"`
	Status  trace.CallbackStatus  `report:"status,drop=6"`
}

// executed returns the callback of an execution and when that began or, where it is not known, ended. It is nil if that
// was at a time that is not asked for.
func (q *Query) executed(callbacks *system.Lookup[*system.Callback], row *executionColumns, clock *clockCorrection) (c *system.Callback, begin int64) {
	at := row.Start
	if !at.Valid {
		at = row.End
	}
	begin = clock.correct(at.Value)
	if !q.filter.covers(begin) {
		return nil, begin
	}
	if c = callbacks.Find(&row.ProcessKey, row.Callback, at.Value); c == nil {
		c = q.unknown.Callback(row.ProcessKey, row.Callback)
	}
	return c, begin
}

// executionColumns are the columns of callback that tell how long executions took.
type executionColumns struct {
	trace.ProcessKey
	TID      int32                 `column:"tid"`
	Callback trace.Address         `column:"callback"`
	Start    trace.Optional[int64] `column:"callback_start_timestamp"`
	End      trace.Optional[int64] `column:"callback_end_timestamp"`
	Status   trace.CallbackStatus  `column:"status"`
}

// CallbackLatency answers how long callbacks took. each, if not nil, gets every execution in the order of their begin.
func (q *Query) CallbackLatency(ctx context.Context, each func([]CallbackExecution) error) ([]CallbackLatency, error) {
	states := make([]*executions, scan.MaxWorkers())
	for i := range states {
		states[i] = newExecutions(q, each)
	}
	run := scan.InParallel
	if each != nil {
		run = inOrder
	}
	if err := q.scanExecutions(ctx, states, run); err != nil {
		return nil, err
	}
	for _, e := range states {
		if err := e.instances.end(q); err != nil {
			return nil, err
		}
	}
	return mergeExecutions(states, q.Architecture.Standard()), nil
}

// scanExecutions passes the executions that are asked for on, to a state for each goroutine of run.
func (q *Query) scanExecutions(ctx context.Context, states []*executions, run runner) error {
	return scanCallbackRows(ctx, q, run, func(worker int, rows []executionColumns, clock *clockCorrection) {
		states[worker].add(rows, clock)
	}, func(worker int) error { return states[worker].instances.flush() })
}

// runner calls something for each of so many groups of rows, and tells which of its goroutines does so.
type runner func(context.Context, int, func(ctx context.Context, worker, i int) error) error

// scanCallbackRows passes on columns of the executions that are asked for, with the clock that their times are on.
// after is called after each group of rows.
func scanCallbackRows[R any](ctx context.Context, q *Query, run runner, each func(worker int, rows []R, clock *clockCorrection), after func(worker int) error) error {
	selection := q.selectedCallbacks()
	groups, err := q.tableGroups(ctx, trace.TableCallback, []string{"callback_start_timestamp", "callback_end_timestamp"}, selection, q.outside)
	if err != nil {
		return err
	}
	progress := q.newProgress(groups)
	var damaged scan.Damages
	read := func(ctx context.Context, worker, i int) error {
		g := groups[i]
		err := trace.ScanGroup(ctx, trace.TableCallback, g.Group, selection, func(rows []R) error {
			each(worker, rows, &q.clocks[g.dataset])
			return q.unknown.Err()
		})
		progress.Add(g.Rows())
		if err := damaged.Add(err); err != nil {
			return err
		}
		return after(worker)
	}
	if err := run(ctx, len(groups), read); err != nil {
		return err
	}
	return q.warnOfDamage(damaged.Err())
}

// selectedCallbacks returns the rows that name the address of a callback that is asked for. Callbacks that no entity
// table tells of have neither a node's name nor a topic; unless one of those is asked for, all rows count.
func (q *Query) selectedCallbacks() trace.Selection {
	if len(q.filter.Nodes) == 0 && len(q.filter.Topics) == 0 {
		return nil
	}
	return trace.Selection{{Column: "callback", Addresses: q.Architecture.Index().Callbacks.AddressesOf(q.filter.callback)}}
}

// outside tells whether no instance that begins in the span is asked for.
func (q *Query) outside(begin, end int64) bool {
	return q.filter.From.Valid && end < q.filter.From.Value || q.filter.To.Valid && begin > q.filter.To.Value
}

// executions gathers the executions that one goroutine reads.
type executions struct {
	query     *Query
	callbacks *system.Lookup[*system.Callback]
	latencies map[*system.Callback]*executionLatency
	instances series[CallbackExecution]
	// durations gets, if not nil, what would be gathered for statistics otherwise.
	durations func(c *system.Callback, begin, duration int64)
}

type executionLatency struct {
	distribution
	incomplete uint64
	selected   bool
}

func newExecutions(q *Query, each func([]CallbackExecution) error) *executions {
	return &executions{query: q, callbacks: system.NewLookup(q.Architecture.Index().Callbacks), latencies: make(map[*system.Callback]*executionLatency), instances: newSeries(each, func(e *CallbackExecution) int64 { return e.Begin })}
}

func (e *executions) add(rows []executionColumns, clock *clockCorrection) {
	for i := range rows {
		row := &rows[i]
		c, begin := e.query.executed(e.callbacks, row, clock)
		if c == nil {
			continue
		}
		l := e.latencies[c]
		if l == nil {
			l = &executionLatency{selected: e.query.filter.callback(c)}
			e.latencies[c] = l
		}
		if !l.selected {
			continue
		}
		var latency trace.Optional[int64]
		if row.Start.Valid && row.End.Valid {
			latency = trace.Some(row.End.Value - row.Start.Value)
			if e.durations != nil {
				e.durations(c, begin, latency.Value)
			} else {
				l.add(begin, latency.Value)
			}
		} else {
			l.incomplete++
			if row.Start.Valid {
				l.begin(begin)
			}
		}
		if e.instances.wanted() && row.Start.Valid {
			execution := CallbackExecution{CallbackLabel: LabelOf(c), TID: row.TID, Begin: begin, Latency: latency, Status: row.Status}
			if latency.Valid {
				execution.End = trace.Some(begin + latency.Value)
			}
			e.instances.add(execution)
		}
	}
}

// mergeExecutions makes one result of what the goroutines gathered, in the order of nodes and callbacks.
func mergeExecutions(parts []*executions, standard *system.Standard) []CallbackLatency {
	merged := make(map[*system.Callback]*executionLatency)
	for _, part := range parts {
		for c, l := range part.latencies {
			if l.began == 0 && l.incomplete == 0 {
				continue
			}
			if merged[c] == nil {
				merged[c] = l
				continue
			}
			merged[c].merge(&l.distribution)
			merged[c].incomplete += l.incomplete
		}
	}
	var results []CallbackLatency
	for c, l := range merged {
		results = append(results, CallbackLatency{
			CallbackLabel: LabelOf(c), Statistics: l.statistics(), Incomplete: l.incomplete, OfEveryNode: standard.Callback(c),
		})
	}
	slices.SortFunc(results, func(a, b CallbackLatency) int { return compareLabels(a.CallbackLabel, b.CallbackLabel) })
	return results
}
