package view

import "context"

// memo is a value that is made once, by the first who asks; the others wait. What failed is tried again by the next.
type memo[T any] struct {
	gate  chan struct{} // has room for one: who holds it may look and make
	made  bool
	value T
	// warnings are those that came while it was made: they are told to all who ask.
	warnings []string
}

func newMemo[T any]() *memo[T] { return &memo[T]{gate: make(chan struct{}, 1)} }

func (m *memo[T]) get(ctx context.Context, make func(context.Context) (T, error)) (value T, err error) {
	select {
	case m.gate <- struct{}{}:
	case <-ctx.Done():
		return value, ctx.Err()
	}
	defer func() { <-m.gate }()
	if !m.made {
		making, found := warningIn(ctx)
		if value, err = make(making); err != nil {
			return value, err
		}
		m.value, m.made, m.warnings = value, true, found.list()
	}
	warn(ctx, m.warnings)
	return m.value, nil
}
