package analyze

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// LoadLabel names a thread or, with a callback, that callback on the thread.
type LoadLabel struct {
	PID int32 `report:"pid,identifier"`
	TID int32 `report:"tid,identifier"`
	CallbackLabel
}

// Load is how much of the recorded time a thread was in callbacks, or in one callback but in none nested in it.
type Load struct {
	LoadLabel
	// Count is the number of executions that ran in that time, Incomplete that of those of which it is unknown how long.
	Count      uint64 `report:"count,drop=7"`
	Incomplete uint64 `report:"incomplete,drop=4"`
	// Busy is the time in them, Recorded the time in which the process was recorded, as far as it is asked for; both in
	// nanoseconds.
	Busy     int64 `report:"busy,duration,drop=6"`
	Recorded int64 `report:"recorded,duration,drop=2"`
	// Share is Busy of Recorded in percent, Peak the greatest share of an interval; the last interval, which is not whole,
	// does not count.
	Share float64 `report:"share,percent"`
	Peak  float64 `report:"peak,percent"`
}

// LoadInstance is the load in one interval, of which Recorded nanoseconds were recorded.
type LoadInstance struct {
	LoadLabel
	Begin    int64   `report:"timestamp,time"`
	Busy     int64   `report:"busy,duration,drop=6"`
	Recorded int64   `report:"recorded,duration,drop=2"`
	Share    float64 `report:"share,percent"`
}

// Loads answers how busy the threads were that ran callbacks, and with what. The busiest thread comes first, and behind
// each its callbacks, whose times add up to the thread's. each, if not nil, gets the same of every interval in which
// something ran; interval is in nanoseconds, counted from the begin of the recorded time.
func (q *Query) Loads(ctx context.Context, interval int64, each func([]LoadInstance) error) ([]Load, error) {
	recorded, err := q.recordedSpans(ctx)
	if err != nil {
		return nil, err
	}
	// What began long before the time that is asked for may run in it, so every row group is read.
	var damaged scan.Damages
	source := newEventSource(q, nil, &damaged)
	executions, err := newStream(ctx, source, trace.TableCallback, []string{"callback_start_timestamp", "callback_end_timestamp"}, nil,
		(*messageReader).threadExecution, (*threadExecution).at)
	if err != nil {
		return nil, err
	}
	source.progress = q.newProgress(executions.groups)
	instances := newSeries(interruptible(ctx, each), func(i *LoadInstance) int64 { return i.Begin })
	threads := make(map[threadNumber]*threadLoad)
	var ordered []*threadLoad
	err = readAhead(ctx, q.windowLimits(executions.groups), executions.reading, func(window []*threadExecution) error {
		for _, e := range window {
			t := threads[e.thread]
			if t == nil {
				q.unknown.Keep(0)
				t = newThreadLoad(q, e, recorded, interval, &instances)
				threads[e.thread] = t
				ordered = append(ordered, t)
			}
			t.run(e)
		}
		if err := q.unknown.Err(); err != nil {
			return err
		}
		return instances.flush()
	})
	if err != nil {
		return nil, err
	}
	var results [][]Load
	for _, t := range ordered {
		t.finish()
		if instances.err != nil {
			break
		}
		if rows := t.results(); len(rows) > 0 {
			results = append(results, rows)
		}
	}
	if err := instances.end(q); err != nil {
		return nil, err
	}
	slices.SortStableFunc(results, func(a, b []Load) int {
		return cmp.Or(cmp.Compare(b[0].Share, a[0].Share), cmp.Compare(a[0].PID, b[0].PID), cmp.Compare(a[0].TID, b[0].TID))
	})
	return slices.Concat(results...), q.warnOfDamage(damaged.Err())
}

// recordedSpan is a time in which a process was recorded, on the common clock.
type recordedSpan struct {
	trace.Span
	// whole says that the process was there when the recording began.
	whole bool
}

// recordedSpans are those of all processes.
type recordedSpans struct {
	query     *Query
	processes map[recordedProcess]*recordedSpan
	datasets  []trace.Span // of processes that no row tells of
}

// recordedColumns are the columns of process that tell when it was recorded.
type recordedColumns struct {
	trace.ProcessKey
	Start trace.Optional[int64] `column:"recording_start_timestamp"`
	End   trace.Optional[int64] `column:"recording_end_timestamp"`
}

// recordedSpans reads them. Where nothing tells from when or until when a process was recorded, the first or the last
// event of its dataset bounds the time.
func (q *Query) recordedSpans(ctx context.Context) (*recordedSpans, error) {
	spans := &recordedSpans{query: q, processes: make(map[recordedProcess]*recordedSpan), datasets: make([]trace.Span, len(q.datasets))}
	for i, d := range q.datasets {
		clock := &q.clocks[i]
		events, _, err := trace.TimeSpan(ctx, d)
		if err := q.warnOfDamage(err); err != nil {
			return nil, err
		}
		spans.datasets[i] = trace.Span{First: clock.correct(events.First), Last: clock.correct(events.Last)}
		opened := int64(math.MaxInt64) // the recording
		err = trace.Scan(ctx, d, trace.TableProcess, func(rows []recordedColumns) error {
			for _, row := range rows {
				of := &recordedSpan{Span: spans.datasets[i]}
				if row.Start.Valid {
					of.First = clock.correct(row.Start.Value)
					opened = min(opened, of.First)
				}
				if row.End.Valid {
					of.Last = clock.correct(row.End.Value)
				}
				spans.processes[recordedProcess{i, row.ProcessKey}] = of
			}
			return nil
		})
		if err := q.warnOfDamage(err); err != nil {
			return nil, err
		}
		for process, of := range spans.processes {
			of.whole = of.whole || process.dataset == i && of.First == opened
		}
	}
	return spans, nil
}

// of returns the span of the process that an execution was in, as far as it is asked for: it may end before it begins.
// The execution is the first one of its thread. A process that begins later is met a moment after its first event.
func (s *recordedSpans) of(e *threadExecution) recordedSpan {
	span := s.processes[recordedProcess{e.dataset, e.callback.Node.Process}]
	if span == nil {
		span = &recordedSpan{Span: s.datasets[e.dataset]}
	}
	if !span.whole {
		span.First = min(span.First, e.at())
	}
	asked := *span
	if filter := &s.query.filter; filter.From.Valid {
		asked.First = max(asked.First, filter.From.Value)
	}
	if filter := &s.query.filter; filter.To.Valid {
		asked.Last = min(asked.Last, filter.To.Value)
	}
	return asked
}

// last returns until when a process was recorded, by the dataset that has this clock.
func (s *recordedSpans) last(clock *clockCorrection, process *trace.ProcessKey) int64 {
	dataset := 0
	for i := range s.query.clocks {
		if &s.query.clocks[i] == clock {
			dataset = i
		}
	}
	if span := s.processes[recordedProcess{dataset, *process}]; span != nil {
		return span.Last
	}
	return s.datasets[dataset].Last
}

// threadNumber identifies a thread by the query's number of its process.
type threadNumber struct{ process, tid int32 }

// threadExecution is an execution of a callback on its thread. One of its times may be noTime.
type threadExecution struct {
	thread     threadNumber
	dataset    int
	callback   *system.Callback
	start, end int64
	status     trace.CallbackStatus
}

func (r *messageReader) threadExecution(row *executionColumns, dataset int) *threadExecution {
	at := row.Start
	if !at.Valid {
		at = row.End
	}
	if !at.Valid {
		return nil
	}
	clock := &r.query.clocks[dataset]
	return &threadExecution{
		thread: threadNumber{r.process(dataset, &row.ProcessKey), row.TID}, dataset: dataset,
		callback: r.callback(&row.ProcessKey, row.Callback, at.Value), start: clock.orNone(row.Start), end: clock.orNone(row.End), status: row.Status,
	}
}

// at is when it is first known to have run.
func (e *threadExecution) at() int64 {
	if e.start == noTime {
		return e.end
	}
	return e.start
}

// maxNested is the number of callbacks that may run on a thread at once: the recorder follows no more.
const maxNested = 16

// load is how busy a thread was, or what a callback on it contributed.
type load struct {
	label             LoadLabel
	selected          bool
	count, incomplete uint64
	busy, current     int64 // current: in the thread's current interval
	peak              int64 // the most in a whole interval
}

// spend adds time that begins in an interval; time that goes beyond it fills it.
func (l *load) spend(time, interval int64, whole bool) {
	l.busy += time
	l.current += time
	if whole {
		l.peak = max(l.peak, min(l.current, interval))
	}
}

// threadLoad gathers how busy a thread was. Its executions come in the order of their begin. Time in several callbacks
// belongs to the one that ends first: that is the innermost.
type threadLoad struct {
	load
	query     *Query
	recorded  recordedSpan
	interval  int64
	callbacks map[*system.Callback]*load
	instances *series[LoadInstance]

	seen    bool  // an execution has come
	now     int64 // what was before is accounted for
	open    []openExecution
	number  int64   // of the current interval
	running []*load // callbacks that ran in it
}

// openExecution is an execution that has begun; what is to come of it is not accounted for. The innermost is the last.
type openExecution struct {
	of    *load
	until int64
}

func newThreadLoad(q *Query, first *threadExecution, spans *recordedSpans, interval int64, instances *series[LoadInstance]) *threadLoad {
	recorded := spans.of(first)
	t := &threadLoad{query: q, recorded: recorded, callbacks: make(map[*system.Callback]*load), instances: instances, now: noTime}
	t.label.PID, t.label.TID = first.callback.Node.Process.PID, first.thread.tid
	// Of a longer interval no share is known.
	t.interval = min(interval, recorded.Nanoseconds())
	return t
}

// run takes the next execution.
func (t *threadLoad) run(e *threadExecution) {
	if t.interval <= 0 {
		return // nothing of the process is asked for
	}
	start, end := e.start, e.end
	if e.status == trace.CallbackStartMissing && !t.seen && t.recorded.whole {
		start = t.recorded.First // it was running when the recording began
	}
	if e.status == trace.CallbackRecordingEnd {
		end = t.recorded.Last
	}
	t.seen = true
	if start == noTime || end == noTime {
		t.miss(e)
		return
	}
	t.pass(start)
	switch {
	case len(t.open) == maxNested:
		t.miss(e)
	case start < t.recorded.Last && end > t.recorded.First:
		of := t.of(e.callback)
		of.count++
		t.count++
		i := len(t.open)
		for i > 0 && t.open[i-1].until < end {
			i--
		}
		t.open = slices.Insert(t.open, i, openExecution{of, end})
	}
}

// miss counts an execution of which it is unknown how long it ran.
func (t *threadLoad) miss(e *threadExecution) {
	if at := e.at(); at >= t.recorded.First && at <= t.recorded.Last {
		t.of(e.callback).incomplete++
		t.incomplete++
	}
}

// of returns what a callback contributes.
func (t *threadLoad) of(c *system.Callback) *load {
	l := t.callbacks[c]
	if l == nil {
		t.query.unknown.Keep(0)
		l = &load{label: LoadLabel{PID: t.label.PID, TID: t.label.TID, CallbackLabel: LabelOf(c)}, selected: t.query.filter.callback(c)}
		t.callbacks[c] = l
		t.selected = t.selected || l.selected
	}
	return l
}

// pass accounts for the time until then.
func (t *threadLoad) pass(until int64) {
	for len(t.open) > 0 {
		innermost := t.open[len(t.open)-1]
		end := min(innermost.until, until)
		t.spend(innermost.of, t.now, end)
		t.now = max(t.now, end)
		if innermost.until > until {
			return
		}
		t.open = t.open[:len(t.open)-1]
	}
	t.now = max(t.now, until)
}

// spend gives time to a callback and the thread, interval by interval.
func (t *threadLoad) spend(of *load, from, to int64) {
	from, to = max(from, t.recorded.First), min(to, t.recorded.Last)
	for from < to && t.instances.err == nil {
		since := from - t.recorded.First
		if number := since / t.interval; number != t.number {
			t.close()
			t.number = number
		}
		time := min(t.interval-since%t.interval, to-from)
		if time == t.interval && !t.instances.wanted() {
			time = to - from // no greater peak is to come
		}
		if of.current == 0 {
			t.running = append(t.running, of)
		}
		whole := t.number < t.recorded.Nanoseconds()/t.interval
		of.spend(time, t.interval, whole)
		t.load.spend(time, t.interval, whole)
		from += time
	}
}

// close ends the current interval.
func (t *threadLoad) close() {
	if t.instances.wanted() && slices.ContainsFunc(t.running, func(l *load) bool { return l.selected }) {
		slices.SortFunc(t.running, func(a, b *load) int {
			return cmp.Or(cmp.Compare(b.current, a.current), compareLabels(a.label.CallbackLabel, b.label.CallbackLabel))
		})
		t.show(&t.load)
		for _, l := range t.running {
			if l.selected {
				t.show(l)
			}
		}
	}
	for _, l := range t.running {
		l.current = 0
	}
	t.current, t.running = 0, t.running[:0]
}

// show passes on what was in the current interval.
func (t *threadLoad) show(l *load) {
	since := t.number * t.interval
	recorded := min(t.interval, t.recorded.Nanoseconds()-since)
	t.instances.add(LoadInstance{
		LoadLabel: l.label, Begin: t.recorded.First + since, Busy: l.current, Recorded: recorded, Share: percentOf(l.current, recorded),
	})
}

func percentOf(part, whole int64) float64 { return 100 * float64(part) / float64(whole) }

// finish accounts for what is left.
func (t *threadLoad) finish() {
	t.pass(math.MaxInt64)
	t.close()
}

// results returns the row of the thread and those of its callbacks; none if no callback that is asked for ran on it.
func (t *threadLoad) results() []Load {
	if !t.selected {
		return nil
	}
	rows := []Load{t.result(&t.load)}
	for _, l := range t.callbacks {
		if l.selected {
			rows = append(rows, t.result(l))
		}
	}
	slices.SortFunc(rows[1:], func(a, b Load) int {
		return cmp.Or(cmp.Compare(b.Busy, a.Busy), compareLabels(a.CallbackLabel, b.CallbackLabel))
	})
	return rows
}

func (t *threadLoad) result(l *load) Load {
	recorded := t.recorded.Nanoseconds()
	return Load{
		LoadLabel: l.label, Count: l.count, Incomplete: l.incomplete, Busy: l.busy, Recorded: recorded,
		Share: percentOf(l.busy, recorded), Peak: percentOf(l.peak, t.interval),
	}
}
