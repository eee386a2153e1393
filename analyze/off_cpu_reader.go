package analyze

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
)

// offCPUReader reads times off the CPU in the order in which they ended, as far as they are wanted.
type offCPUReader struct {
	sources []*offCPUSource // one a dataset
	within  bool            // a time within a callback has come
	err     error
}

// offCPUSource is one dataset's. A row that was read too early waits.
type offCPUSource struct {
	next    func() (timeOffCPU, bool)
	stop    func()
	waiting *timeOffCPU
}

// timeOffCPU is a row with times on the query's clock.
type timeOffCPU struct {
	thread threadOf
	offCPU
	within bool // a callback
}

// lateRows is how much earlier a row may have ended than one of another thread that comes before it.
const lateRows = int64(time.Second)

var errEnough = errors.New("enough was read")

func newOffCPUReader(ctx context.Context, q *Query) *offCPUReader {
	r, others := new(offCPUReader), make(otherThreads)
	for i, d := range q.datasets {
		clock := &q.clocks[i]
		next, stop := iter.Pull(func(yield func(timeOffCPU) bool) {
			err := trace.Scan(ctx, d, trace.TableSched, func(rows []trace.Sched) error {
				for i := range rows {
					row := &rows[i]
					of := timeOffCPU{threadOf{row.ProcessKey, row.TID}, offCPU{
						out: clock.correct(row.SchedOutTimestamp), waking: clock.orNone(row.WakingTimestamp), in: clock.correct(row.SchedInTimestamp), kind: row.Kind, by: others.preempterOf(row),
						outCPU: row.OutCPU, inCPU: row.InCPU, priority: row.Priority,
					}, row.CallbackStartTimestamp.Valid}
					if !yield(of) {
						return errEnough
					}
				}
				return nil
			})
			if err = q.warnOfDamage(err); err != nil && !errors.Is(err, errEnough) {
				r.err = err
			}
		})
		r.sources = append(r.sources, &offCPUSource{next: next, stop: stop})
	}
	return r
}

// take returns the next row, that which waits first.
func (s *offCPUSource) take() (row timeOffCPU, more bool) {
	if waiting := s.waiting; waiting != nil {
		s.waiting = nil
		return *waiting, true
	}
	return s.next()
}

// hasWithin reads on until a time within a callback has come, and reports whether one has.
func (r *offCPUReader) hasWithin() bool {
	for _, s := range r.sources {
		for row, more := s.take(); more && !r.within; row, more = s.take() {
			r.within = row.within
		}
	}
	return r.within
}

func (r *offCPUReader) close() {
	for _, s := range r.sources {
		s.stop()
	}
}

// nextEnd is when the earliest of the times ended that come next, one of each dataset. It is false if there is none.
func (r *offCPUReader) nextEnd() (end int64, more bool) {
	for _, s := range r.sources {
		if s.waiting == nil {
			if row, any := s.next(); any {
				s.waiting = &row
			}
		}
		if s.waiting != nil && (!more || s.waiting.in < end) {
			end, more = s.waiting.in, true
		}
	}
	return end, more
}

// readUntil passes on the times that ended until an instant, and some more.
func (r *offCPUReader) readUntil(until int64, each func(*timeOffCPU)) {
	for _, s := range r.sources {
		for {
			row, more := s.take()
			if !more {
				break
			}
			if row.in > until+lateRows {
				s.waiting = &row
				break
			}
			r.within = r.within || row.within
			each(&row)
		}
	}
}
