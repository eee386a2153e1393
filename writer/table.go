package writer

import (
	"sync"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// batchBytes is the size of the batches in which rows pass from Write to the encoder.
	batchBytes = 256 << 10
	// idleBatches is the number of empty batches that a table keeps for reuse.
	idleBatches = 4
)

// table is one table's way through the Writer. It collects the table's rows into batches.
type table struct {
	segments segments
	queue    chan<- task
	idle     chan trace.AnyRows
	counters
	triedAt    int   // the number of the next segment when ended entities could not be forgotten; of the encoder
	bytesTried int64 // what the table had after the last try to forget them; of the encoder

	mu    sync.Mutex
	batch trace.AnyRows // guarded by mu
}

// batch is a task of the encoder: rows to write.
type batch struct {
	table *table
	rows  trace.AnyRows
}

func newTable(of *trace.Table, in *tables) *table {
	t := &table{queue: in.queue, idle: make(chan trace.AnyRows, idleBatches)}
	t.segments = segments{table: of, dir: in.dir, limits: in.limits, now: in.now, compressors: in.compressors, counters: &t.counters}
	return t
}

func (t *table) append(rows trace.AnyRows) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken.Add(uint64(rows.Len()))
	t.accepted.Add(uint64(rows.Len()))
	for next := 0; next < rows.Len(); {
		if t.batch == nil {
			t.batch = t.emptyBatch()
		}
		next += t.batch.Take(rows, next)
		if t.batch.IsFull() {
			t.submitLocked()
		}
	}
}

// submit hands the rows that wait for their batch to fill to the encoder.
func (t *table) submit() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.batch != nil {
		t.submitLocked()
	}
}

// submitLocked blocks while the queue is full. It keeps the table locked, so that the rows stay in order.
func (t *table) submitLocked() {
	t.queue <- batch{table: t, rows: t.batch}
	t.batch = nil
}

func (t *table) emptyBatch() trace.AnyRows {
	select {
	case rows := <-t.idle:
		return rows
	default:
		return t.segments.table.NewRows(batchBytes)
	}
}

// recycle takes a batch back. Its rows are cleared: they hold strings.
func (t *table) recycle(rows trace.AnyRows) {
	rows.Clear()
	select {
	case t.idle <- rows:
	default:
	}
}

// finish ends the segment; encoder goroutine only.
func (t *table) finish() (*finished, error) { return t.segments.finish() }

// release removes an unfinished segment and closes the folder, when encoder and committer are done.
func (t *table) release() {
	t.segments.abandon()
	t.segments.closeFolder()
}

// bytes is the size of the table's segments that are there, with what is encoded of the next one.
func (t *table) bytes() int64 { return t.written.Load() - t.removed.Load() }

func (t *table) name() string { return t.segments.table.Name }

func (b batch) run(e *encoder) error {
	defer b.table.recycle(b.rows)
	if e.failed {
		return nil
	}
	segment, err := b.table.segments.write(b.rows)
	if err != nil {
		return err
	}
	e.commit(segment)
	return nil
}
