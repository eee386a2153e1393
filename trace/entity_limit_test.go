package trace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/columnar"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// TestEntitiesAreLimited reads a dataset of 6 MB with more entities than are kept in memory.
func TestEntitiesAreLimited(t *testing.T) {
	const limit, segments, batches = 3_000_000, 4, 50
	dir := t.TempDir()
	d := open(t, dir)
	batch := make(trace.Rows[trace.Context], columnar.PageRows)
	for i := range batch {
		batch[i].ContextHandle = trace.Address(i)
	}
	for sequence := range segments {
		file, err := os.Create(filepath.Join(tableFolder(t, dir, trace.TableContext), fmt.Sprintf("%08d.parquet", sequence)))
		if err != nil {
			t.Fatal(err)
		}
		w := trace.NewSegmentWriter(trace.TableOf[trace.Context](), columnar.NewCompressors())
		err = w.Begin(file)
		for range batches {
			err = errors.Join(err, w.Add(&batch))
		}
		if err := errors.Join(err, w.End(), file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	rows := 0
	err := trace.Scan(t.Context(), d, trace.TableContext, func(of []trace.Context) error {
		rows += len(of)
		return nil
	})
	var damages *trace.DamageError
	if rows != limit || !errors.As(err, &damages) || len(damages.Segments) != 1 || !errors.Is(err, trace.ErrTooManyEntities) || !strings.Contains(err.Error(), "3000000") {
		t.Errorf("%d of %d rows were read, error %v", rows, segments*batches*len(batch), err)
	}
}

func tableFolder(t *testing.T, dir, table string) string {
	t.Helper()
	folder := filepath.Join(dir, table)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestEntityLimit has rows of nodes in segments: names, and numbers of the entity and of the revision.
func TestEntityLimit(t *testing.T) {
	node := func(name string, entity, revision uint64) trace.Node {
		return trace.Node{NodeName: name, Telling: trace.Telling{Entity: entity, Revision: revision}}
	}
	numbered := [][]trace.Node{{node("a", 1, 1), node("b", 2, 2)}, {node("A", 1, 3), node("c", 3, 4)}, {node("d", 4, 5)}, {node("B", 2, 6)}}
	unnumbered := [][]trace.Node{{node("a", 0, 0), node("b", 0, 0)}, {node("c", 0, 0), node("d", 0, 0)}, {node("e", 0, 0)}}
	for _, c := range []struct {
		name     string
		segments [][]trace.Node
		limit    trace.EntityLimit
		want     string // names
		beyond   []int  // segments
	}{
		{"nothing may be read", numbered, trace.EntityLimit{Text: 99}, "", []int{0, 1, 2, 3}},
		{"as many as there are", numbered, trace.EntityLimit{Entities: 4, Text: 99}, "AcdB", nil},
		{"those that are met first, as they were last", numbered, trace.EntityLimit{Entities: 2, Text: 99}, "AB", []int{1, 2}},
		{"one too many", numbered, trace.EntityLimit{Entities: 3, Text: 99}, "AcB", []int{2}},
		{"without numbers", unnumbered, trace.EntityLimit{Entities: 3, Text: 99}, "abc", []int{1, 2}},
		{"as many without numbers as there are", unnumbered, trace.EntityLimit{Entities: 5, Text: 99}, "abcde", nil},
		{"as much text as there is", numbered, trace.EntityLimit{Entities: 99, Text: 4}, "AcdB", nil},
		{"more text than may be", numbered, trace.EntityLimit{Entities: 99, Text: 3}, "Acd", []int{3}},
		{"nothing short after too much text", [][]trace.Node{{node("a", 1, 1)}, {node("long", 2, 2), node("c", 3, 3)}, {node("d", 4, 4)}},
			trace.EntityLimit{Entities: 99, Text: 3}, "a", []int{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			var paths []string
			for i, rows := range c.segments {
				paths = append(paths, tracetest.AddSegment(t, dir, i, rows))
			}
			got := ""
			limit := c.limit
			err := trace.ScanWithin(t.Context(), open(t, dir), trace.TableNode, &limit, func(rows []trace.Node) error {
				for i := range rows {
					got += rows[i].NodeName
				}
				return nil
			})
			var damages *trace.DamageError
			var beyond []int
			if errors.As(err, &damages) {
				for _, s := range damages.Segments {
					if !errors.Is(s, trace.ErrTooManyEntities) {
						t.Error(s)
					}
					beyond = append(beyond, slices.Index(paths, s.Path))
				}
			} else if err != nil {
				t.Error(err)
			}
			if got != c.want || !slices.Equal(beyond, c.beyond) {
				t.Errorf("read %q, want %q; beyond the limit are segments %v, want %v", got, c.want, beyond, c.beyond)
			}
		})
	}
}

// A limit holds for all tables that are read with it, the one of processes too, and not for tables of anything else.
func TestEntityLimitIsShared(t *testing.T) {
	dir := t.TempDir()
	tracetest.AddSegment(t, dir, 0, []trace.Process{{ProcessKey: trace.ProcessKey{PID: 1}, Revision: 1}, {ProcessKey: trace.ProcessKey{PID: 2}, Revision: 2}})
	tracetest.AddSegment(t, dir, 0, []trace.Node{{NodeName: "a"}, {NodeName: "b"}})
	tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Callback](9, 1))
	d := open(t, dir)
	limit := &trace.EntityLimit{Entities: 3, Text: 99}
	processes, nodes, callbacks := 0, 0, 0
	processError := trace.ScanWithin(t.Context(), d, trace.TableProcess, limit, func(rows []trace.Process) error { processes += len(rows); return nil })
	nodeError := trace.ScanWithin(t.Context(), d, trace.TableNode, limit, func(rows []trace.Node) error { nodes += len(rows); return nil })
	callbackError := trace.ScanWithin(t.Context(), d, trace.TableCallback, limit, func(rows []trace.Callback) error { callbacks += len(rows); return nil })
	if processes != 2 || nodes != 1 || callbacks != 9 || processError != nil || !errors.Is(nodeError, trace.ErrTooManyEntities) || callbackError != nil {
		t.Errorf("%d processes, %d nodes, %d callbacks; errors %v, %v, %v", processes, nodes, callbacks, processError, nodeError, callbackError)
	}
}
