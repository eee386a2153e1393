package analyze

import (
	"context"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
)

// turns reads groups of rows in parallel, and passes on what was read of each in the order of the groups.
type turns struct {
	passed []chan struct{} // one for each group, closed when what is in it was passed on
	at     []turn          // of the goroutines
}

// turn is the group that a goroutine reads.
type turn struct {
	group int
	ctx   context.Context
}

func newTurns() *turns { return &turns{at: make([]turn, scan.MaxWorkers())} }

// run is a runner.
func (t *turns) run(ctx context.Context, n int, read func(ctx context.Context, worker, i int) error) error {
	t.passed = make([]chan struct{}, n)
	for i := range t.passed {
		t.passed[i] = make(chan struct{})
	}
	return scan.InParallel(ctx, n, func(ctx context.Context, worker, i int) error {
		t.at[worker] = turn{i, ctx}
		return read(ctx, worker, i)
	})
}

// pass is called when a goroutine has read its group: it waits until the groups before were passed on.
func (t *turns) pass(worker int, each func() error) error {
	now := t.at[worker]
	if now.group > 0 {
		select {
		case <-t.passed[now.group-1]:
		case <-now.ctx.Done():
			return now.ctx.Err()
		}
	}
	err := each()
	close(t.passed[now.group])
	return err
}
