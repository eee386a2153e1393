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
func Dataset(t *testing.T, callbacks int) *trace.Dataset {
	t.Helper()
	parts := &parts{}
	return Write(t, callbacks, parts.add, func(w *writer.Writer) {
		addPollsAndCalls(t, w)
		addUncertainSlots(t, w)
	})
}

// Write writes the dataset of a made-up system with changed rows, and with what add adds, if it is not nil.
func Write(t *testing.T, callbacks int, change func(*trace.Batch), add func(*writer.Writer)) *trace.Dataset {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "it's a dataset; -- 50 %")
	w, err := writer.Create(dir, writer.Options{RowGroupRows: 2000})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteSession(trace.NewSession()); err != nil {
		t.Fatal(err)
	}
	entities, err := tracetest.System(callbacks, func(batch *trace.Batch) error {
		change(batch)
		return w.Write(batch)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(entities); err != nil {
		t.Fatal(err)
	}
	if add != nil {
		add(w)
	}
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
