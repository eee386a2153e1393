package view

import (
	"context"
	"sync"
	"time"
)

// memo is a value that is made once, for all who ask. What failed, or nobody waited for any more, is made anew for the
// next.
type memo[T any] struct {
	// patience is how long a value is made for on that nobody waits for any more.
	patience time.Duration

	mu   sync.Mutex
	made *making[T] // or being made; nil if nobody has asked
}

// making is one making of a value. Fields but waiting do not change when done is closed.
type making[T any] struct {
	done     chan struct{}
	cancel   context.CancelFunc
	waiting  int
	value    T
	warnings []string
	err      error
}

func newMemo[T any](patience time.Duration) *memo[T] { return &memo[T]{patience: patience} }

func (m *memo[T]) get(ctx context.Context, create func(context.Context) (T, error)) (value T, err error) {
	if err := ctx.Err(); err != nil {
		return value, err
	}
	of := m.join(ctx, create)
	defer m.leave(of)
	select {
	case <-of.done:
		warn(ctx, of.warnings)
		return of.value, of.err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

// join returns the making of the value, which begins if there is none.
func (m *memo[T]) join(ctx context.Context, create func(context.Context) (T, error)) *making[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made == nil {
		m.made = begin(ctx, create, m.forget)
	}
	m.made.waiting++
	return m.made
}

// begin begins to make a value, for longer than who asks first may wait. failed is told if that is in vain.
func begin[T any](ctx context.Context, create func(context.Context) (T, error), failed func(*making[T])) *making[T] {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ctx, found := warningIn(ctx)
	of := &making[T]{done: make(chan struct{}), cancel: cancel}
	go func() {
		defer cancel()
		of.value, of.err = create(ctx)
		of.warnings = found.list()
		if of.err != nil {
			failed(of)
		}
		close(of.done)
	}()
	return of
}

// leave ends a making that nobody has waited for long enough.
func (m *memo[T]) leave(of *making[T]) {
	m.mu.Lock()
	of.waiting--
	left := of.waiting == 0
	m.mu.Unlock()
	if !left || of.isDone() {
		return
	}
	if m.patience == 0 {
		m.endUnlessWanted(of)
		return
	}
	time.AfterFunc(m.patience, func() { m.endUnlessWanted(of) })
}

func (m *memo[T]) endUnlessWanted(of *making[T]) {
	m.mu.Lock()
	wanted := of.waiting > 0
	if !wanted && m.made == of && !of.isDone() {
		m.made = nil // who asks now is not to join what ends
	}
	m.mu.Unlock()
	if !wanted {
		of.cancel()
	}
}

func (of *making[T]) isDone() bool {
	select {
	case <-of.done:
		return true
	default:
		return false
	}
}

// forget makes the next who asks begin anew.
func (m *memo[T]) forget(of *making[T]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made == of {
		m.made = nil
	}
}
