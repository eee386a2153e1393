package probes

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// countedContext ends when it has been asked so often whether it has ended.
type countedContext struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

func (c *countedContext) Err() error {
	if c.left.Add(-1) < 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// endsAfter returns a context that ends at the question after so many.
func endsAfter(t *testing.T, questions int) *countedContext {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	counted := &countedContext{Context: ctx, cancel: cancel}
	counted.left.Store(int64(questions))
	return counted
}

// Planning ends wherever it is when the user does not want it any more: it looks at nothing else, and nothing that it
// did not look at is said to be missing.
func TestPlanningEnds(t *testing.T) {
	p := start(t, t.TempDir(), tracetools("humble"), rclOfHumble, rclcpp("humble"), rmwFastDDS, fastDDS)
	const enough = 1 << 30
	questions := endsAfter(t, enough)
	options := Options{Expected: true, Callers: true}
	if _, err := NewPlan(questions, p.process, options); err != nil && !errors.Is(err, ErrRequiredMissing) {
		t.Fatal(err)
	}
	all := enough - int(questions.left.Load())
	if all < 100 {
		t.Fatalf("planning asked %d times only", all)
	}
	for _, allowed := range []int{0, 1, all / 4, all / 2, 3 * all / 4, all - 2} {
		ctx := endsAfter(t, allowed)
		plan, err := NewPlan(ctx, p.process, options)
		if plan != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("after %d of %d questions: %v, %v", allowed, all, plan, err)
		}
		// What was begun ends with a question each. Nothing else begins.
		if more := -ctx.left.Load(); more > 100 {
			t.Errorf("after %d of %d questions, %d more came", allowed, all, more)
		}
	}
}
