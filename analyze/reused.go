package analyze

import "sync"

// chunkSize is the number of values whose memory is used again together.
const chunkSize = 1024

// reused is memory for values of a type, which is used again when it was given back. It is safe for concurrent use. The
// zero reused is ready.
type reused[T any] struct {
	mu   sync.Mutex
	free [][]T
}

func (r *reused[T]) take() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.free) == 0 {
		return make([]T, chunkSize)
	}
	chunk := r.free[len(r.free)-1]
	r.free = r.free[:len(r.free)-1]
	return chunk
}

// giveBack takes chunks whose values nobody uses any more.
func (r *reused[T]) giveBack(chunks [][]T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free = append(r.free, chunks...)
}

// reusedMaker makes the values of one row group after the other in such memory. Each goroutine has one.
type reusedMaker[T any] struct {
	memory *reused[T]
	rows   int64 // of the row group
	free   []T
	chunks [][]T // of the row group
}

// begin begins a row group.
func (m *reusedMaker[T]) begin(rows int64) { m.rows, m.free, m.chunks = rows, nil, nil }

// next returns room for the next value, which has what it had when it was used before: all of it is to be set. It is
// the same one until used is called.
func (m *reusedMaker[T]) next() *T {
	switch {
	case len(m.free) > 0:
	case m.rows < chunkSize: // it would leave most of a chunk empty
		m.free = make([]T, m.rows)
	default:
		m.free = m.memory.take()
		m.chunks = append(m.chunks, m.free)
	}
	return &m.free[0]
}

// used says that the next value is another one.
func (m *reusedMaker[T]) used() { m.free = m.free[1:] }
