package trace_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// history returns rows of entities in the order in which a recorder tells of them, and the row of each that counts, by
// number.
func history(seed uint64) (rows []trace.Node, counting map[uint64]trace.Node) {
	random := rand.New(rand.NewPCG(seed, 1))
	counting = make(map[uint64]trace.Node)
	entities := 1 + random.IntN(40)
	for revision := uint64(1); len(rows) < 3*entities; revision += 1 + random.Uint64N(3) {
		entity := 1 + random.Uint64N(uint64(entities))
		row := trace.Node{
			ProcessKey: trace.ProcessKey{BootID: "boot", PID: int32(1 + entity%3), ProcessStart: 5},
			NodeHandle: trace.Address(1 + entity%7), // an address is used again
			NodeName:   fmt.Sprint("name ", revision), Telling: trace.Telling{Entity: entity, Revision: revision},
		}
		rows = append(rows, row)
		counting[entity] = row
	}
	return rows, counting
}

// addSegments cuts rows into segments and returns the paths.
func addSegments(t *testing.T, dir string, rows []trace.Node, seed uint64) (paths []string) {
	random := rand.New(rand.NewPCG(seed, 2))
	for len(rows) > 0 {
		n := 1 + random.IntN(len(rows))
		paths = append(paths, tracetest.AddSegment(t, dir, len(paths), rows[:n]))
		rows = rows[n:]
	}
	return paths
}

// checkCounting wants each entity once, with the row that counts.
func checkCounting(t *testing.T, got []trace.Node, counting map[uint64]trace.Node) {
	t.Helper()
	met := make(map[uint64]bool)
	for _, row := range got {
		if met[row.Entity] || row != counting[row.Entity] {
			t.Fatalf("row %+v (again: %v), want %+v", row, met[row.Entity], counting[row.Entity])
		}
		met[row.Entity] = true
	}
	if len(got) != len(counting) {
		t.Fatalf("%d rows of %d entities", len(got), len(counting))
	}
}

func inOrder(counting map[uint64]trace.Node) (rows []trace.Node) {
	for _, row := range counting {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b trace.Node) int { return cmp.Compare(a.Revision, b.Revision) })
	return rows
}

// A recorder that is killed, at any moment of replacing the segments, too, leaves one row that counts of each entity.
func TestScanPassesOnOneRowOfEachEntity(t *testing.T) {
	for seed := range uint64(60) {
		rows, counting := history(seed)
		dir := t.TempDir()
		d := open(t, dir)
		former := addSegments(t, dir, rows, seed)
		checkCounting(t, scanAll[trace.Node](t, d), counting)
		tracetest.AddSegment(t, dir, len(former), inOrder(counting))
		checkCounting(t, scanAll[trace.Node](t, d), counting)
		for _, path := range former {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			checkCounting(t, scanAll[trace.Node](t, d), counting)
		}
	}
}

// The recorder may replace the segments while they are read.
func TestScanWhileSegmentsAreReplaced(t *testing.T) {
	for seed := range uint64(20) {
		rows, counting := history(seed)
		dir := t.TempDir()
		d := open(t, dir)
		former := addSegments(t, dir, rows, seed)
		var got []trace.Node
		err := trace.Scan(t.Context(), d, trace.TableNode, func(rows []trace.Node) error {
			got = append(got, rows...)
			if former == nil {
				return nil
			}
			tracetest.AddSegment(t, dir, len(former), inOrder(counting))
			for _, path := range former {
				if err := os.Remove(path); err != nil {
					return err
				}
			}
			former = nil
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		checkCounting(t, got, counting)
	}
}

// Where the row that counts cannot be read, an earlier one of the entity is better than none.
func TestScanFallsBackToEarlierRows(t *testing.T) {
	dir := t.TempDir()
	first := trace.Node{NodeHandle: 1, NodeName: "first", Telling: trace.Telling{Entity: 1, Revision: 2}}
	other := trace.Node{NodeHandle: 2, NodeName: "other", Telling: trace.Telling{Entity: 3, Revision: 4}}
	unnumbered := trace.Node{NodeHandle: 3, NodeName: "of an older recorder"}
	later := first
	later.NodeName, later.Revision = "later", 5
	tracetest.AddSegment(t, dir, 0, []trace.Node{first, other, unnumbered})
	damaged := tracetest.AddSegment(t, dir, 1, []trace.Node{later})
	content, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string][]byte{
		"a page":  slices.Concat(content[:4], slices.Repeat([]byte{0xff}, 40), content[44:]),
		"its end": content[:len(content)-10],
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(damaged, damage, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := collect[trace.Node](t.Context(), open(t, dir), trace.TableNode)
			var damages *trace.DamageError
			if !errors.As(err, &damages) || len(damages.Segments) != 1 || damages.Segments[0].Path != damaged {
				t.Errorf("error %v", err)
			}
			slices.SortFunc(got, func(a, b trace.Node) int { return cmp.Compare(a.NodeHandle, b.NodeHandle) })
			if !slices.Equal(got, []trace.Node{first, other, unnumbered}) {
				t.Errorf("rows %+v", got)
			}
		})
	}
}

// Processes have keys, no numbers.
func TestScanPassesOnOneRowOfEachProcess(t *testing.T) {
	dir := t.TempDir()
	key := trace.ProcessKey{BootID: "boot", PID: 1, ProcessStart: 5}
	again := trace.ProcessKey{BootID: "boot", PID: 1, ProcessStart: 6}
	tracetest.AddSegment(t, dir, 0, []trace.Process{{ProcessKey: key, Revision: 1}, {ProcessKey: again, Revision: 2}})
	tracetest.AddSegment(t, dir, 1, []trace.Process{{ProcessKey: key, Exited: true, Revision: 3}})
	d := open(t, dir)
	want := []trace.Process{{ProcessKey: again, Revision: 2}, {ProcessKey: key, Exited: true, Revision: 3}}
	if got := scanAll[trace.Process](t, d); !slices.Equal(got, want) {
		t.Errorf("rows %+v, want %+v", got, want)
	}
}
