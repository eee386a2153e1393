package writer

import (
	"context"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// batchBytes is the size of the batches in which rows pass from Append to the encoder.
	batchBytes = 256 << 10
	// idleBatches is the number of empty batches that a table keeps for reuse.
	idleBatches = 4
)

// table is one table's way through the Writer, whatever its row type.
type table interface {
	// submit hands the rows that wait for their batch to fill to the encoder.
	submit()
	// finish ends the segment; encoder goroutine only.
	finish() (*finished, error)
	// compact leaves one row of each entity in the closed segments; encoder goroutine only.
	compact(ctx context.Context) error
	// release removes an unfinished segment and closes the folder, when encoder and committer are done.
	release()
	name() string
	counts() (accepted, stored uint64)
}

// tableOf collects a table's rows into batches.
type tableOf[T trace.Row] struct {
	segments segments[T]
	queue    chan<- task
	idle     chan []T
	accepted atomic.Uint64
	stored   atomic.Uint64

	mu    sync.Mutex
	batch []T // guarded by mu
}

// batch is a task of the encoder: rows to write.
type batch[T trace.Row] struct {
	table *tableOf[T]
	rows  []T
}

func newTable[T trace.Row](table *trace.Table, in *tables) *tableOf[T] {
	t := &tableOf[T]{queue: in.queue, idle: make(chan []T, idleBatches)}
	t.segments = segments[T]{table: table, dir: in.dir, limits: in.limits, compressors: in.compressors, stored: &t.stored}
	return t
}

func (t *tableOf[T]) append(rows []T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.accepted.Add(uint64(len(rows)))
	for len(rows) > 0 {
		if t.batch == nil {
			t.batch = t.emptyBatch()
		}
		n := copy(t.batch[len(t.batch):cap(t.batch)], rows)
		t.batch = t.batch[:len(t.batch)+n]
		rows = rows[n:]
		if len(t.batch) == cap(t.batch) {
			t.submitLocked()
		}
	}
}

func (t *tableOf[T]) submit() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.batch) > 0 {
		t.submitLocked()
	}
}

// submitLocked blocks while the queue is full. It keeps the table locked, so that the rows stay in order.
func (t *tableOf[T]) submitLocked() {
	t.queue <- batch[T]{table: t, rows: t.batch}
	t.batch = nil
}

func (t *tableOf[T]) emptyBatch() []T {
	select {
	case rows := <-t.idle:
		return rows
	default:
		var row T
		return make([]T, 0, batchBytes/unsafe.Sizeof(row))
	}
}

// recycle takes a batch back. Its rows are cleared: they hold strings.
func (t *tableOf[T]) recycle(rows []T) {
	clear(rows)
	select {
	case t.idle <- rows[:0]:
	default:
	}
}

func (t *tableOf[T]) finish() (*finished, error) { return t.segments.finish() }

func (t *tableOf[T]) release() {
	t.segments.abandon()
	t.segments.closeFolder()
}

func (t *tableOf[T]) name() string { return t.segments.table.Name }

func (t *tableOf[T]) counts() (accepted, stored uint64) {
	return t.accepted.Load(), t.stored.Load()
}

func (b batch[T]) run(e *encoder) error {
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
