package duckdb

import (
	"cmp"
	"database/sql"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// TestWhyViewEqualsGo compares where the time of callbacks went, of which it is not known for every seventh execution,
// nor for any of one callback.
func TestWhyViewEqualsGo(t *testing.T) {
	made, skipped := 0, ""
	d := writeDataset(t, 5_000, func(batch *trace.Batch) {
		for i := range batch.Callbacks {
			row := &batch.Callbacks[i]
			skipped = cmp.Or(skipped, row.NodeName)
			if made++; made%7 == 0 || !row.CallbackEndTimestamp.Valid || row.NodeName == skipped {
				continue
			}
			duration := row.CallbackEndTimestamp.Value - row.CallbackStartTimestamp.Value
			preempted, blocked, wakeup := duration/3, duration/5, duration/11
			tracetest.SetParts(row, duration-preempted-blocked-wakeup, preempted, blocked, wakeup, int32(made%3), int32(made%2))
		}
	}, nil)
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
