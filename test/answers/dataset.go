package answers

import (
	"path/filepath"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/writer"
)

// Dataset writes the dataset of a made-up system with about that many callback executions, about which there is
// something to ask in every way that Of knows. Its path has what has to be quoted.
func Dataset(t *testing.T, callbacks int, attributes ...trace.Attribute) *trace.Dataset {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "it's a dataset; -- 50 %")
	w, err := writer.Create(dir, writer.Options{RowGroupRows: 2000})
	if err != nil {
		t.Fatal(err)
	}
	session := trace.NewSession()
	session.SetAttributes(attributes)
	if err := w.WriteSession(session); err != nil {
		t.Fatal(err)
	}
	parts := &parts{}
	entities, err := tracetest.System(callbacks, func(batch *trace.Batch) error {
		parts.add(batch)
		return w.Write(batch)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(entities); err != nil {
		t.Fatal(err)
	}
	write(t, w, []trace.Loss{
		{Kind: trace.LostSched, Reason: trace.LossRingFull, Count: 3, FromTimestamp: 10, ToTimestamp: 20},
		{Kind: trace.LostSched, Reason: trace.LossRingFull, Count: 4, FromTimestamp: 15, ToTimestamp: 30},
		{Kind: trace.LostSched, Reason: trace.LossMissed, Count: 1, FromTimestamp: 5, ToTimestamp: 6},
	})
	addPollsAndCalls(t, w)
	addUncertainSlots(t, w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return tracetest.Open(t, dir)
}

func write[T any](t *testing.T, w *writer.Writer, rows []T) {
	t.Helper()
	if err := w.Write(tracetest.BatchOf(rows)); err != nil {
		t.Fatal(err)
	}
}
