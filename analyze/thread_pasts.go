package analyze

import (
	"cmp"
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// threadPasts is what all threads have done, as far as it was read.
type threadPasts struct {
	published []int64 // by the publication's number, less 1
	off       *offCPUReader
	lost      []lostSpan // of times off the CPU, one after the other
	threads   map[threadOf]*threadPast
}

type threadOf struct {
	process trace.ProcessKey
	tid     int32
}

// eachPast passes on the timeline, window after window, with the times off the CPU of the threads in it. What others
// ran on a thread counts, whichever callbacks are asked for: the windows have all of them. The error wraps
// ErrNoTimesOffCPU if no time off the CPU is recorded within a callback.
func (q *Query) eachPast(ctx context.Context, each func(*threadPasts, *TimelineWindow) error) error {
	asked := q.filter
	q.filter.Nodes, q.filter.Topics, q.filter.Callbacks = nil, nil, nil
	defer func() { q.filter = asked }()
	p, err := q.newThreadPasts(ctx)
	if err != nil {
		return err
	}
	defer p.off.close()
	err = q.Timeline(ctx, func(w *TimelineWindow) error {
		last, any := p.begin(w)
		if err := cmp.Or(p.off.err, each(p, w)); err != nil || !any {
			return err
		}
		for _, past := range p.threads {
			past.prune(last - keptPast)
		}
		return nil
	})
	if err == nil && !p.off.hasWithin() {
		err = cmp.Or(p.off.err, ErrNoTimesOffCPU)
	}
	return cmp.Or(err, p.off.err)
}

// newThreadPasts has read nothing yet but losses. Its reader is to be closed.
func (q *Query) newThreadPasts(ctx context.Context) (*threadPasts, error) {
	p := &threadPasts{threads: make(map[threadOf]*threadPast)}
	if err := q.Losses(ctx, p.addLosses); err != nil {
		return nil, err
	}
	p.lost = joined(p.lost)
	p.off = newOffCPUReader(ctx, q)
	return p, nil
}

// begin reads the times off the CPU that belong to a window. It returns the last instant in it, if there is any.
func (p *threadPasts) begin(w *TimelineWindow) (last int64, any bool) {
	last = noTime
	for _, publication := range w.Publications {
		p.published = append(p.published, publication.At)
		last = max(last, publication.At)
	}
	if count := len(w.Executions); count > 0 {
		last = max(last, w.Executions[count-1].At())
	}
	if last == noTime {
		return last, false
	}
	p.off.readUntil(max(last, lastEnd(w, last+keptPast)), p.add)
	return last, true
}

// add adds a time off the CPU.
func (p *threadPasts) add(row *timeOffCPU) {
	past := p.of(row.thread)
	if row.within {
		past.within = append(past.within, row.offCPU)
	} else {
		past.off = append(past.off, row.offCPU)
	}
}

// lastEnd is the latest end of an execution in a window, of those until an instant. What happened in executions is told
// with their starts.
func lastEnd(w *TimelineWindow, until int64) (last int64) {
	last = noTime
	for _, e := range w.Executions {
		if e.End.Valid && e.End.Value <= until {
			last = max(last, e.End.Value)
		}
	}
	return last
}

// each passes on the executions of a window with what their threads did before.
func (p *threadPasts) each(w *TimelineWindow, do func(*Execution, *threadPast)) {
	for _, e := range w.Executions {
		past := p.of(threadOf{e.Callback.Node.Process, e.TID})
		do(e, past)
		past.add(e)
	}
}

func (p *threadPasts) of(thread threadOf) *threadPast {
	past := p.threads[thread]
	if past == nil {
		past = new(threadPast)
		p.threads[thread] = past
	}
	return past
}

// publishOf is when the message was published that started an execution.
func (p *threadPasts) publishOf(e *Execution) (at trace.Optional[int64]) {
	if number := e.Flow.Publication(); number > 0 && number <= uint64(len(p.published)) {
		at = trace.Some(p.published[number-1])
	}
	return at
}

// addLosses keeps losses of which nothing else tells: what was missed leaves parts of callbacks unknown.
func (p *threadPasts) addLosses(rows []trace.Loss) error {
	for _, row := range rows {
		if row.Kind == trace.LostSched && row.Reason != trace.LossMissed {
			p.lost = append(p.lost, lostSpan{row.FromTimestamp, row.ToTimestamp})
		}
	}
	return nil
}

// isLost reports whether records of times off the CPU may be missing of a time.
func (p *threadPasts) isLost(from, until int64) bool {
	first, _ := slices.BinarySearchFunc(p.lost, from, func(l lostSpan, from int64) int { return cmp.Compare(l.to, from) })
	return first < len(p.lost) && p.lost[first].from <= until
}

// lostSpan is a time in which records may have been lost, its ends included.
type lostSpan struct{ from, to int64 }

// joined are spans in the order of time, those that overlap as one.
func joined(spans []lostSpan) (all []lostSpan) {
	slices.SortFunc(spans, func(a, b lostSpan) int { return cmp.Compare(a.from, b.from) })
	for _, s := range spans {
		if last := len(all) - 1; last >= 0 && s.from <= all[last].to {
			all[last].to = max(all[last].to, s.to)
		} else {
			all = append(all, s)
		}
	}
	return all
}
