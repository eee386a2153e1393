package analyze_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/writer"
)

// TestTimelineInMemoryUsedAgain: windows of a few row groups, which are made in the memory of earlier ones, tell the
// same as one of everything.
func TestTimelineInMemoryUsedAgain(t *testing.T) {
	dir := t.TempDir() + "/rec"
	w, err := writer.Create(dir, writer.Options{RowGroupRows: 2500})
	if err != nil {
		t.Fatal(err)
	}
	entities, err := tracetest.System(60_000, w.Write)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(entities), w.WriteSession(trace.NewSession()), w.Close()); err != nil {
		t.Fatal(err)
	}
	d := tracetest.Open(t, dir)
	read := func(windowRows int) (told []string, windows int) {
		q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d)
		if err != nil {
			t.Fatal(err)
		}
		q.WindowRows = windowRows
		err = q.Timeline(t.Context(), func(w *analyze.TimelineWindow) error {
			windows++
			for _, e := range w.Executions {
				told = append(told, fmt.Sprintf("%d %s on %d until %v by %d: %s %v %v %v", e.At(), e.Callback.Name, e.TID, e.End, e.Flow, e.Status, e.Overhead, e.Parts, e.Named))
			}
			for _, p := range w.Publications {
				told = append(told, fmt.Sprintf("%d %s on %d sends %d: %v %s %d", p.At, p.Publisher.TopicName, p.TID, p.Number, p.Flows, p.Status, p.Depth))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(told)
		return told, windows
	}
	once, windows := read(1 << 30)
	if windows != 1 || len(once) < 100_000 {
		t.Fatalf("%d rows are told in %d windows", len(once), windows)
	}
	again, windows := read(5000)
	if windows < 15 {
		t.Errorf("%d windows are too few to use memory again", windows)
	}
	if !slices.Equal(once, again) {
		t.Errorf("%d rows of %d differ", differing(once, again), len(once))
	}
}

func differing(a, b []string) (n int) {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			n++
		}
	}
	return n + max(len(a), len(b)) - min(len(a), len(b))
}
