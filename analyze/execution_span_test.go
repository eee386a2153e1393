package analyze_test

import (
	"errors"
	"regexp"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

func spansOf(t *testing.T, q *analyze.Query) (all []analyze.ExecutionSpan) {
	t.Helper()
	err := q.ExecutionSpans(t.Context(), func(spans []analyze.ExecutionSpan) error {
		all = append(all, spans...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Executions have their times as far as they are known, of known callbacks and of others.
func TestExecutionSpans(t *testing.T) {
	s := newRecording(t)
	n, other := s.node("/n"), s.node("/other")
	known, others := s.timer(n, 50), s.timer(other, 70)
	s.runs(n, known, 1000, 1100)
	s.runs(other, others, 1200, 1250)
	unfinished := trace.Callback{
		ProcessKey: n.key, TID: 9, Callback: 0x99, CallbackStartTimestamp: trace.Some[int64](1300), Status: trace.CallbackUnwound, Depth: 2,
	}
	late := trace.Callback{
		ProcessKey: n.key, TID: 9, Callback: known, CallbackEndTimestamp: trace.Some[int64](900), Status: trace.CallbackStartMissing,
	}
	s.rows.Callbacks = append(s.rows.Callbacks, unfinished, late)
	q := s.query(analyze.Filter{})
	all := spansOf(t, q)
	slices.SortFunc(all, func(a, b analyze.ExecutionSpan) int {
		return int(a.Start.Value+a.End.Value) - int(b.Start.Value+b.End.Value)
	})
	if len(all) != 4 {
		t.Fatalf("%+v", all)
	}
	for i, want := range []struct {
		node       string
		address    trace.Address
		start, end trace.Optional[int64]
		status     trace.CallbackStatus
		depth      int32
	}{
		{"/n", known, trace.Optional[int64]{}, trace.Some[int64](900), trace.CallbackStartMissing, 0},
		{"", 0x99, trace.Some[int64](1300), trace.Optional[int64]{}, trace.CallbackUnwound, 2},
		{"/n", known, trace.Some[int64](1000), trace.Some[int64](1100), trace.CallbackComplete, 0},
		{"/other", others, trace.Some[int64](1200), trace.Some[int64](1250), trace.CallbackComplete, 0},
	} {
		got := all[i]
		if got.Callback.Node.Name != want.node || got.Callback.Address != want.address || got.Start != want.start || got.End != want.end ||
			got.Status != want.status || got.Depth != want.depth {
			t.Errorf("execution %d: %+v of %s, want %+v", i, got, got.Callback.Name, want)
		}
	}
	of := q.With(analyze.Filter{Nodes: []*regexp.Regexp{regexp.MustCompile("/n")}, From: trace.Some[int64](950)})
	if some := spansOf(t, of); len(some) != 1 || some[0].Start.Value != 1000 {
		t.Errorf("of a node since 950: %+v", some)
	}
	if again := spansOf(t, q); len(again) != len(all) {
		t.Errorf("the question without a filter has %d executions then", len(again))
	}
}

// Row groups are passed on in the order in which they begin, though several are read at once; an error ends that.
func TestExecutionSpansInOrder(t *testing.T) {
	dir := t.TempDir()
	const groups, rows = 20, 50
	for g := range groups {
		callbacks := make([]trace.Callback, rows)
		for i := range callbacks {
			at := int64(1000 + (groups-g)*10_000 + i)
			callbacks[i] = trace.Callback{
				ProcessKey: robot, TID: 1, Callback: 1, CallbackStartTimestamp: trace.Some(at), CallbackEndTimestamp: trace.Some(at + 1), Status: trace.CallbackComplete,
			}
		}
		tracetest.AddSegment(t, dir, g, callbacks)
	}
	tracetest.AddSession(t, dir, trace.NewSession())
	q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, tracetest.Open(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	all := spansOf(t, q)
	if len(all) != groups*rows || !slices.IsSortedFunc(all, func(a, b analyze.ExecutionSpan) int { return int(a.Start.Value - b.Start.Value) }) {
		t.Errorf("%d executions, or not in order", len(all))
	}
	enough := errors.New("enough")
	if err := q.ExecutionSpans(t.Context(), func([]analyze.ExecutionSpan) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("the error is %v", err)
	}
}
