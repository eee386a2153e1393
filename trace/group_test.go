package trace_test

import (
	"errors"
	"os"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// The groups of a table hold its rows, and their statistics bound them.
func TestGroups(t *testing.T) {
	dir := t.TempDir()
	rows := tracetest.Random[trace.Enqueue](12_345, 4)
	tracetest.AddSegment(t, dir, 0, rows[:11_000])
	tracetest.AddSegment(t, dir, 1, rows[11_000:])
	groups, err := trace.Groups(t.Context(), open(t, dir), trace.TableEnqueue)
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) != 4 {
		t.Fatalf("%d groups, want 3 of 5000 rows at most and 1", len(groups))
	}
	read := 0
	for _, g := range groups {
		span, ok := g.Span("enqueue_timestamp")
		if !ok {
			t.Fatal("a group has no span")
		}
		first, last := false, false
		err := trace.ScanGroup(t.Context(), trace.TableEnqueue, g, nil, func(batch []trace.Enqueue) error {
			for i := range batch {
				if batch[i] != rows[read] {
					t.Fatalf("row %d is %+v, want %+v", read, batch[i], rows[read])
				}
				at := batch[i].EnqueueTimestamp
				if at < span.First || at > span.Last {
					t.Fatalf("row %d is at %d, the group is said to span %+v", read, at, span)
				}
				first, last = first || at == span.First, last || at == span.Last
				if buffer := batch[i].Buffer; !g.MayHold(trace.Selection{{Column: "buffer", Addresses: trace.Addresses{buffer: true}}}) {
					t.Fatalf("the group is said not to hold %s", buffer)
				}
				read++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !first || !last {
			t.Errorf("the span %+v is wider than the rows", span)
		}
	}
	if read != len(rows) {
		t.Errorf("%d rows were read, want %d", read, len(rows))
	}
}

func TestGroupsOfNulls(t *testing.T) {
	dir := t.TempDir()
	tracetest.AddSegment(t, dir, 0, make([]trace.Callback, 10))
	groups, err := trace.Groups(t.Context(), open(t, dir), trace.TableCallback)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := groups[0].Span("callback_start_timestamp"); ok || !groups[0].HasOnlyNull("callback_start_timestamp") {
		t.Error("a column of nulls has a span")
	}
	if groups[0].HasOnlyNull("tid") {
		t.Error("a column without nulls has only nulls")
	}
}

func TestGroupsOfDamagedSegments(t *testing.T) {
	dir := t.TempDir()
	rows := tracetest.Random[trace.Loss](20, 1)
	tracetest.AddSegment(t, dir, 0, rows)
	path := tracetest.AddSegment(t, dir, 1, rows)
	d := open(t, dir)
	groups, err := trace.Groups(t.Context(), d, trace.TableLoss)
	if err != nil || len(groups) != 2 {
		t.Fatalf("%d groups, %v", len(groups), err)
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	var damaged *trace.DamageError
	err = trace.ScanGroup(t.Context(), trace.TableLoss, groups[1], nil, func([]trace.Loss) error { return nil })
	if !errors.As(err, &damaged) {
		t.Errorf("reading a group whose segment was cut gives %v", err)
	}
	groups, err = trace.Groups(t.Context(), d, trace.TableLoss)
	if !errors.As(err, &damaged) || len(groups) != 1 {
		t.Errorf("%d groups and %v, want 1 and a DamageError", len(groups), err)
	}
}

// A group that was listed before its segment was replaced by another is read as what is there now.
func TestGroupOfReplacedSegment(t *testing.T) {
	dir := t.TempDir()
	former, now := tracetest.Random[trace.Enqueue](300, 1), tracetest.Random[trace.Enqueue](200, 2)
	tracetest.AddSegment(t, dir, 0, former)
	groups, err := trace.Groups(t.Context(), open(t, dir), trace.TableEnqueue)
	if err != nil {
		t.Fatal(err)
	}
	tracetest.AddSegment(t, dir, 0, now)
	read := 0
	err = trace.ScanGroup(t.Context(), trace.TableEnqueue, groups[0], nil, func(rows []trace.Enqueue) error {
		for i := range rows {
			if rows[i] != now[read] {
				t.Fatalf("row %d is %+v, want %+v", read, rows[i], now[read])
			}
			read++
		}
		return nil
	})
	if err != nil || read != len(now) {
		t.Errorf("%d rows were read, want %d; error %v", read, len(now), err)
	}
}
