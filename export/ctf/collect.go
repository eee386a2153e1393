package ctf

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// collector makes events of the rows of a dataset.
type collector struct {
	sorter      *sorter
	options     Options
	tracepoints [eventCount]tracepoint
	processes   map[trace.ProcessKey]*trace.Process
	// keys are those of processes, in the order of the dataset.
	keys []trace.ProcessKey
	// first is a time before which nothing happened that has one. What was there before the recording gets it.
	first   int64
	damaged []*trace.SegmentError
	// hitCount is how many events are of what ran.
	hitCount uint64
	// synthesisedCount is how many were not recorded.
	synthesisedCount uint64
	// handles are the rcl objects of callbacks, 0 where they are not known. Those of subscriptions are in the rows.
	handles map[entityAddress]trace.Address
	leftOut map[string]uint64
	// buffer is reused.
	buffer []byte
}

func newCollector(s *sorter, options Options) *collector {
	return &collector{
		sorter: s, options: options, tracepoints: tracepoints(),
		processes: make(map[trace.ProcessKey]*trace.Process), handles: make(map[entityAddress]trace.Address),
		leftOut: make(map[string]uint64),
	}
}

// collect adds all events to the sorter.
func (c *collector) collect(ctx context.Context, d *trace.Dataset) error {
	span, known, err := trace.TimeSpan(ctx, d)
	if err = c.keepDamage(err); err != nil {
		return err
	}
	c.first = math.MaxInt64
	if known {
		c.first = span.First
	}
	err = scanWanted(ctx, c, d, trace.TableProcess, func(row *trace.Process) error {
		of := *row
		c.processes[row.ProcessKey], c.keys = &of, append(c.keys, row.ProcessKey)
		if row.RecordingStartTimestamp.Valid {
			c.first = min(c.first, row.RecordingStartTimestamp.Value)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if c.first == math.MaxInt64 {
		c.first = 0
	}
	var offset int64
	if session := d.Session(); session != nil {
		offset = session.Clock.RealtimeOffset
	}
	if err := c.entities(ctx, d, offset); err != nil {
		return err
	}
	return c.hits(ctx, d)
}

// scan passes on rows of a table one by one.
func scan[T any](ctx context.Context, c *collector, d *trace.Dataset, table string, each func(row *T) error) error {
	err := trace.Scan(ctx, d, table, func(rows []T) error {
		for i := range rows {
			if err := each(&rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return c.keepDamage(err)
}

// keepDamage takes damaged segments as told and returns any other error.
func (c *collector) keepDamage(err error) error {
	var damaged *trace.DamageError
	if !errors.As(err, &damaged) {
		return err
	}
	for _, segment := range damaged.Segments {
		if !slices.ContainsFunc(c.damaged, func(told *trace.SegmentError) bool { return told.Path == segment.Path }) {
			c.damaged = append(c.damaged, segment)
		}
	}
	return nil
}

// scanWanted is scan for the rows of processes that the trace is about. Of such a process there may be no row.
func scanWanted[T any, Row interface {
	*T
	Process() *trace.ProcessKey
}](ctx context.Context, c *collector, d *trace.Dataset, table string, each func(row Row) error) error {
	return scan(ctx, c, d, table, func(row *T) error {
		if of := Row(row).Process(); len(c.options.Processes) > 0 && !slices.Contains(c.options.Processes, of.PID) {
			return nil
		}
		return each(row)
	})
}

// place is where a row happened.
func (c *collector) place(of *trace.ProcessKey, tid, cpu int32) place {
	at := place{cpu: cpu, pid: of.PID, tid: tid}
	if process := c.processes[*of]; process != nil {
		at.process = process.Command
	}
	return at
}

// emit adds an event.
func (c *collector) emit(of event, at int64, where *place, values ...value) error {
	at = max(at, 0) // a trace has no time before 1970
	c.buffer = appendEvent(c.buffer[:0], of, c.tracepoints[of].fields, at, where, values)
	return c.sorter.add(at, where.cpu, c.buffer)
}

// hit adds an event that is a hit of a tracepoint, if it happened in the time that the trace is about.
func (c *collector) hit(of event, at int64, where *place, values ...value) error {
	if !c.options.covers(at, at) {
		return nil
	}
	c.hitCount++
	return c.emit(of, at, where, values...)
}

// leaveOut counts what a reader is to know of an event.
func (c *collector) leaveOut(of event, why string) { c.leftOut[c.tracepoints[of].name+" "+why]++ }
