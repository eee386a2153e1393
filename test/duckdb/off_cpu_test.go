package duckdb

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestOffCPUViewEqualsGo compares what kept the threads of callbacks off the CPU; some times are outside of callbacks.
func TestOffCPUViewEqualsGo(t *testing.T) {
	made := int64(0)
	others := []string{"", "hog", "kworker/0:1"}
	d := writeDataset(t, 5_000, func(batch *trace.Batch) {
		for i := range batch.Callbacks {
			row := &batch.Callbacks[i]
			made++
			off := trace.Sched{
				ProcessKey: row.ProcessKey, TID: row.TID, Kind: trace.SchedPreempted, SchedOutTimestamp: row.CallbackStartTimestamp.Value,
				SchedInTimestamp: row.CallbackStartTimestamp.Value + made%17, OtherCommand: others[made%3],
			}
			if made%5 == 0 {
				off.Kind = trace.SchedBlocked
			}
			if made%7 != 0 {
				off.Callback, off.CallbackStartTimestamp = row.Callback, row.CallbackStartTimestamp
			}
			batch.Scheds = append(batch.Scheds, off)
		}
	}, nil)
	query, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d)
	if err != nil {
		t.Fatal(err)
	}
	want, err := query.CallbackOffCPU(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	type key struct{ node, kind, other string }
	type answer struct{ count, total, mean, longest int64 }
	got := make(map[key]answer)
	rows, err := openViews(t, d).Query(`SELECT node_name, off_cpu, coalesce(other_command, ''), count, total, mean, longest FROM callback_off_cpu`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var k key
		var a answer
		if err := rows.Scan(&k.node, &k.kind, &k.other, &a.count, &a.total, &a.mean, &a.longest); err != nil {
			t.Fatal(err)
		}
		got[k] = a
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%d rows, Go has %d", len(got), len(want))
	}
	for _, w := range want {
		expected := answer{int64(w.Count), w.Total, w.Mean, w.Longest}
		if a := got[key{w.Node, string(w.Kind), w.Other}]; a != expected {
			t.Errorf("%s, %s, %q: SQL has %+v, Go %+v", w.Node, w.Kind, w.Other, a, expected)
		}
	}
}
