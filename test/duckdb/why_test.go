package duckdb

import (
	"cmp"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/writer"
)

// TestWhyViewEqualsGo compares where the time of callbacks went, of which it is not known for every seventh execution,
// nor for any of one callback.
func TestWhyViewEqualsGo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dataset")
	w, err := writer.Create(dir, writer.Options{RowGroupRows: 2000})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteSession(trace.NewSession()); err != nil {
		t.Fatal(err)
	}
	made, skipped := 0, ""
	entities, err := tracetest.System(5_000, func(batch *trace.Batch) error {
		for i := range batch.Callbacks {
			row := &batch.Callbacks[i]
			skipped = cmp.Or(skipped, row.NodeName)
			if made++; made%7 == 0 || !row.CallbackEndTimestamp.Valid || row.NodeName == skipped {
				continue
			}
			duration := row.CallbackEndTimestamp.Value - row.CallbackStartTimestamp.Value
			preempted, blocked, wakeup := duration/3, duration/5, duration/11
			row.CPUTime, row.PreemptedTime = trace.Some(duration-preempted-blocked-wakeup), trace.Some(preempted)
			row.BlockedTime, row.WakeupLatency = trace.Some(blocked), trace.Some(wakeup)
			row.Preemptions, row.Migrations = trace.Some(int32(made%3)), trace.Some(int32(made%2))
		}
		return w.Write(batch)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(entities); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	query, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d)
	if err != nil {
		t.Fatal(err)
	}
	want, err := query.CallbackParts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	type parts struct {
		count, unknown                                                          int64
		mean, cpu, preempted, blocked, wakeup, preemptions, migrations, longest sql.NullInt64
	}
	got := make(map[string]parts)
	rows, err := openViews(t, d).Query(`SELECT node_name, count, unknown, mean, cpu_time, preempted_time, blocked_time, wakeup_latency, preemptions, migrations, longest FROM callback_why`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var node string
		var p parts
		if err := rows.Scan(&node, &p.count, &p.unknown, &p.mean, &p.cpu, &p.preempted, &p.blocked, &p.wakeup, &p.preemptions, &p.migrations, &p.longest); err != nil {
			t.Fatal(err)
		}
		got[node] = p
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%d callbacks, Go has %d", len(got), len(want))
	}
	null := func(value trace.Optional[int64]) sql.NullInt64 {
		return sql.NullInt64{Int64: value.Value, Valid: value.Valid}
	}
	unknown := 0
	for _, w := range want {
		if w.Count == 0 {
			unknown++
		}
		expected := parts{
			int64(w.Count), int64(w.Unknown), null(w.Mean), null(w.CPUTime), null(w.PreemptedTime), null(w.BlockedTime), null(w.WakeupLatency),
			null(w.Preemptions), null(w.Migrations), null(w.Longest),
		}
		if got[w.Node] != expected {
			t.Errorf("%s: SQL has\n%+v, Go\n%+v", w.Node, got[w.Node], expected)
		}
	}
	if unknown != 1 {
		t.Errorf("of %d callbacks nothing is known, want 1", unknown)
	}
}
