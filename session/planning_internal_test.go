package session

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/caret-bpf/caret-bpf/target"
)

// Processes that are planned when the user does not want a recording any more come back without plans, and nothing is looked at for them.
func TestPlanningOfEachEnds(t *testing.T) {
	p, err := target.NewFinder().Inspect(t.Context(), int32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &Session{configuration: &compiled{}}
	planned := <-s.planEach(ctx, []*target.Process{p, p})
	if len(planned) != 2 {
		t.Fatalf("%d processes", len(planned))
	}
	for _, one := range planned {
		if one.Process != p || one.first.plan != nil || !errors.Is(one.first.err, context.Canceled) {
			t.Errorf("%v", one.first)
		}
	}
}
