package simulation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// ran is an execution as far as it is known when it ran.
type ran struct {
	*execution
	begin, end int64
}

// running is how long a thread, or a callback on it, ran.
type running struct {
	count, incomplete uint64
	// byInterval is the time in each interval.
	byInterval map[int64]int64
}

func (of *running) rows(label analyze.LoadLabel, first, last, interval int64) (total row, instances []row) {
	recorded := last - first
	l := analyze.Load{LoadLabel: label, Count: of.count, Incomplete: of.incomplete, Recorded: recorded}
	for number, busy := range of.byInterval {
		l.Busy += busy
		if (number+1)*interval <= recorded {
			l.Peak = max(l.Peak, 100*float64(busy)/float64(interval))
		}
		length := min(interval, recorded-number*interval)
		instances = append(instances, row{text: fmt.Sprintf("%+v", analyze.LoadInstance{
			LoadLabel: label, Begin: first + number*interval, Busy: busy, Recorded: length, Share: 100 * float64(busy) / float64(length),
		})})
	}
	l.Share = 100 * float64(l.Busy) / float64(recorded)
	return row{text: fmt.Sprintf("%+v", l)}, instances
}

// loadRows tell how busy threads were: in all, and in each interval in which something ran.
func (t *truth) loadRows(interval int64) (totals, instances []row) {
	threads := make(map[*thread][]*execution)
	t.eachCallback(func(c *callback) {
		for _, e := range c.executions {
			if r := c.node.process.recording; r.sees(e.start) || r.sees(e.end) {
				threads[e.thread] = append(threads[e.thread], e)
			}
		}
	})
	for _, executions := range threads {
		more, of := t.threadRows(executions, interval)
		totals, instances = append(totals, more...), append(instances, of...)
	}
	return totals, instances
}

func (t *truth) threadRows(executions []*execution, interval int64) (totals, instances []row) {
	p := executions[0].callback.node.process
	first, last := p.recorded()
	interval = min(interval, last-first)
	all, by := running{byInterval: make(map[int64]int64)}, make(map[analyze.CallbackLabel]*running)
	of := func(e *execution) *running {
		label := t.label(e.callback, e.address())
		if by[label] == nil {
			by[label] = &running{byInterval: make(map[int64]int64)}
		}
		return by[label]
	}
	var known []ran
	for _, e := range executions {
		r := p.recording
		switch {
		case !r.sees(e.start) && p.born >= r.begin, !r.sees(e.end) && e.status() != trace.CallbackRecordingEnd, !r.sees(e.start) && !e.isFirst(executions):
			all.incomplete++
			of(e).incomplete++
			continue
		}
		run := ran{e, first, last}
		if r.sees(e.start) {
			run.begin = r.common(e.start)
		}
		if r.sees(e.end) {
			run.end = r.common(e.end)
		}
		if run.begin < last && run.end > first {
			all.count++
			of(e).count++
			known = append(known, run)
		}
	}
	// Between two instants at which something begins or ends, the execution that began last of those that end first runs.
	var instants []int64
	for _, run := range known {
		instants = append(instants, run.begin, run.end)
	}
	for at := first; at < last; at += interval {
		instants = append(instants, at)
	}
	slices.Sort(instants)
	instants = slices.Compact(instants)
	for i := 0; i+1 < len(instants); i++ {
		from, to := max(instants[i], first), min(instants[i+1], last)
		var innermost *ran
		for j := range known {
			if run := &known[j]; run.begin <= from && run.end >= to && (innermost == nil || run.isWithin(innermost)) {
				innermost = run
			}
		}
		if innermost != nil && from < to {
			number := (from - first) / interval
			all.byInterval[number] += to - from
			of(innermost.execution).byInterval[number] += to - from
		}
	}
	add := func(of *running, label analyze.CallbackLabel) {
		total, in := of.rows(analyze.LoadLabel{PID: p.key.PID, TID: executions[0].thread.tid, CallbackLabel: label}, first, last, interval)
		totals, instances = append(totals, total), append(instances, in...)
	}
	add(&all, analyze.CallbackLabel{})
	for label, of := range by {
		add(of, label)
	}
	return totals, instances
}

// isWithin tells whether it ran inside another one.
func (r *ran) isWithin(other *ran) bool {
	return cmp.Or(cmp.Compare(r.end, other.end), cmp.Compare(other.begin, r.begin), cmp.Compare(other.depth, r.depth)) < 0
}

// isFirst tells whether no execution of the thread was seen to end before it: only then it ran when the recording
// began.
func (e *execution) isFirst(executions []*execution) bool {
	return !slices.ContainsFunc(executions, func(other *execution) bool { return other.end != 0 && other.end < e.end })
}

// recorded is the time in which a process was recorded.
func (p *process) recorded() (first, last int64) {
	r := p.recording
	return r.common(max(r.begin, p.born)), r.common(p.lastRecorded())
}

// lastRecorded is when its recording ended.
func (p *process) lastRecorded() int64 {
	if p.died != 0 {
		return min(p.recording.end, p.died)
	}
	return p.recording.end
}
