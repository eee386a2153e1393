package analyze

import (
	"context"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// DetailedExecution is one execution of a callback with all that its row tells of it, without the message that started
// it. Times are in Unix nanoseconds on the query's clock.
type DetailedExecution struct {
	Callback *system.Callback
	TID      int32
	// Depth is the number of callbacks that were running on the thread: 0 is outermost.
	Depth int32
	// Start and End are null where Status says so, and Latency, which is in nanoseconds, where one of them is.
	Start, End, Latency trace.Optional[int64]
	Status              trace.CallbackStatus
	// Parts are those of Latency, if they were recorded.
	Parts                   trace.Optional[Parts]
	Preemptions, Migrations trace.Optional[int32]
	// Overhead is what the recording is expected to have added, in nanoseconds.
	Overhead trace.Optional[int64]
}

// at is when it started or, where that is missing, ended.
func (e *DetailedExecution) at() int64 {
	if e.Start.Valid {
		return e.Start.Value
	}
	return e.End.Value
}

// detailedColumns are the columns of callback that tell of an execution without its message.
type detailedColumns struct {
	partedColumns
	Depth    int32                 `column:"depth"`
	Overhead trace.Optional[int64] `column:"overhead,dict"`
}

// Executions passes on every execution that CallbackLatency counts, in the order of their start or, where that is
// missing, of their end.
func (q *Query) Executions(ctx context.Context, each func([]DetailedExecution) error) error {
	readers := make([]detailedReader, scan.MaxWorkers())
	for i := range readers {
		readers[i] = detailedReader{query: q, callbacks: system.NewLookup(q.Architecture.Index().Callbacks), selected: newSelectedCallbacks(&q.filter)}
	}
	instances := newSeries(each, (*DetailedExecution).at)
	turns := newTurns()
	err := scanCallbackRows(ctx, q, turns.run, func(worker int, rows []detailedColumns, clock *clockCorrection) {
		readers[worker].add(rows, clock)
	}, func(worker int) error {
		r := &readers[worker]
		return turns.pass(worker, func() error {
			for _, read := range r.read {
				for i := range read {
					instances.add(read[i])
				}
				r.room = append(r.room, read[:0])
			}
			r.read = r.read[:0]
			return instances.flush()
		})
	})
	if err != nil {
		return err
	}
	return instances.end(q)
}

// detailedReader gathers the executions of the row group that one goroutine reads.
type detailedReader struct {
	query     *Query
	callbacks *system.Lookup[*system.Callback]
	selected  selectedCallbacks
	// read are in pieces, whose memory is used again from room.
	read, room [][]DetailedExecution
}

// next returns where the next execution is put.
func (r *detailedReader) next() *DetailedExecution {
	last := len(r.read) - 1
	if last < 0 || len(r.read[last]) == cap(r.read[last]) {
		var piece []DetailedExecution
		if of := len(r.room) - 1; of >= 0 {
			piece, r.room = r.room[of], r.room[:of]
		} else {
			piece = make([]DetailedExecution, 0, maxBatch)
		}
		r.read = append(r.read, piece)
		last++
	}
	piece := &r.read[last]
	*piece = (*piece)[:len(*piece)+1]
	return &(*piece)[len(*piece)-1]
}

func (r *detailedReader) add(rows []detailedColumns, clock *clockCorrection) {
	for i := range rows {
		row := &rows[i]
		c, begin := r.query.executed(r.callbacks, &row.executionColumns, clock)
		if c == nil || !r.selected.has(c) {
			continue
		}
		e := r.next()
		*e = DetailedExecution{
			Callback: c, TID: row.TID, Depth: row.Depth, Status: row.Status, Parts: row.parts(),
			Preemptions: row.Preemptions, Migrations: row.Migrations, Overhead: row.Overhead,
		}
		switch {
		case row.Start.Valid && row.End.Valid:
			took := row.End.Value - row.Start.Value // by the clock of its recording
			e.Start, e.End, e.Latency = trace.Some(begin), trace.Some(begin+took), trace.Some(took)
		case row.Start.Valid:
			e.Start = trace.Some(begin)
		case row.End.Valid:
			e.End = trace.Some(begin)
		}
	}
}
