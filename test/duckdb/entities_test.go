package duckdb

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/writer"
)

// told returns the rows of three entities as they come to a recorder: each is told twice, and then two of them end.
func told[T any](change func(row *T, numbers trace.Telling, ended bool)) (rows []T) {
	for revision, entity := range []uint64{1, 2, 1, 3, 2, 3, 1, 3} {
		row := tracetest.Random[T](1, entity)[0]
		change(&row, trace.Telling{Entity: entity, Revision: uint64(revision + 1)}, revision > 5)
		rows = append(rows, row)
	}
	return rows
}

func addTold[T any](t *testing.T, w *writer.Writer, change func(row *T, numbers trace.Telling, ended bool)) {
	t.Helper()
	for _, row := range told(change) {
		add(t, w, []T{row})
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// toldEntities writes a dataset in which each entity has several rows, in segments of their own. closed says that the
// recording ended.
func toldEntities(t *testing.T, closed bool) *trace.Dataset {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trace")
	w, err := writer.Create(dir, writer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteSession(trace.NewSession()); err != nil {
		t.Fatal(err)
	}
	ends := func(ended bool) trace.Optional[int64] { return trace.Optional[int64]{Value: 99, Valid: ended} }
	addTold(t, w, func(r *trace.Node, n trace.Telling, ended bool) { r.Telling, r.EndTimestamp = n, ends(ended) })
	addTold(t, w, func(r *trace.Publisher, n trace.Telling, ended bool) { r.Telling, r.EndTimestamp = n, ends(ended) })
	addTold(t, w, func(r *trace.Subscription, n trace.Telling, ended bool) { r.Telling, r.EndTimestamp = n, ends(ended) })
	addTold(t, w, func(r *trace.Timer, n trace.Telling, ended bool) { r.Telling, r.EndTimestamp = n, ends(ended) })
	addTold(t, w, func(r *trace.ServiceServer, n trace.Telling, ended bool) { r.Telling, r.EndTimestamp = n, ends(ended) })
	addTold(t, w, func(r *trace.Client, n trace.Telling, ended bool) { r.Telling, r.EndTimestamp = n, ends(ended) })
	addTold(t, w, func(r *trace.CallbackInfo, n trace.Telling, ended bool) { r.Telling, r.EndTimestamp = n, ends(ended) })
	addTold(t, w, func(r *trace.CallbackGroup, n trace.Telling, ended bool) { r.Telling, r.EndTimestamp = n, ends(ended) })
	addTold(t, w, func(r *trace.Executor, n trace.Telling, ended bool) { r.Telling, r.EndTimestamp = n, ends(ended) })
	addTold(t, w, func(r *trace.Context, n trace.Telling, ended bool) { r.Telling, r.EndTimestamp = n, ends(ended) })
	addTold(t, w, func(r *trace.LifecycleStateMachine, n trace.Telling, ended bool) {
		r.Telling, r.EndTimestamp = n, ends(ended)
	})
	addTold(t, w, func(r *trace.Process, n trace.Telling, ended bool) {
		r.ProcessKey, r.Revision, r.Exited = trace.ProcessKey{BootID: "boot", PID: int32(n.Entity)}, n.Revision, ended
	})
	if closed {
		if err := w.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Whether the recorder was killed or closed the dataset: views show one row of each entity, and closed tables hold no
// other.
func TestViewsShowOneRowOfEachEntity(t *testing.T) {
	for name, closed := range map[string]bool{"killed": false, "closed": true} {
		t.Run(name, func(t *testing.T) {
			d := toldEntities(t, closed)
			db := openViews(t, d)
			for _, table := range trace.Registry() {
				if !table.HasEntities() {
					continue
				}
				end := "end_timestamp IS NOT NULL"
				if table.Name == trace.TableProcess {
					end = "exited"
				}
				var revisions, ended string
				err := db.QueryRow(fmt.Sprintf(`SELECT string_agg(revision, ' ' ORDER BY revision), string_agg(revision, ' ' ORDER BY revision) FILTER (WHERE %s)
					FROM "%s"`, end, table.Name)).Scan(&revisions, &ended)
				if err != nil || revisions != "5 7 8" || ended != "7 8" {
					t.Errorf("view %s has revisions %s (%s ended), %v", table.Name, revisions, ended, err)
				}
				stored := 0
				if err := db.QueryRow(fmt.Sprintf("SELECT count(*) FROM '%s/%s/*.parquet'", d.Dir(), table.Name)).Scan(&stored); err != nil {
					t.Fatal(err)
				}
				if want := map[bool]int{false: 8, true: 3}[closed]; stored != want {
					t.Errorf("table %s holds %d rows, want %d", table.Name, stored, want)
				}
			}
		})
	}
}

// The rule that docs/dataset.md gives to other readers chooses the rows that package trace passes on.
func TestTheDocumentedRuleChoosesTheRowsThatCount(t *testing.T) {
	text, err := os.ReadFile("../../docs/dataset.md")
	if err != nil {
		t.Fatal(err)
	}
	rule := regexp.MustCompile("`(FROM 'trace/node/[^`]+)`").FindStringSubmatch(string(text))
	if rule == nil {
		t.Fatal("docs/dataset.md has no rule")
	}
	d := toldEntities(t, false)
	var want []uint64
	err = trace.Scan(t.Context(), d, trace.TableNode, func(rows []trace.Node) error {
		for _, row := range rows {
			want = append(want, row.Revision)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []uint64
	rows, err := openDuckDB(t).Query("SELECT revision FROM (" + strings.ReplaceAll(rule[1], "'trace/", "'"+d.Dir()+"/") + ") ORDER BY revision")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var revision uint64
		if err := rows.Scan(&revision); err != nil {
			t.Fatal(err)
		}
		got = append(got, revision)
	}
	slices.Sort(want)
	if err := rows.Err(); err != nil || len(got) != 3 || !slices.Equal(got, want) {
		t.Errorf("revisions %v, want %v, %v", got, want, err)
	}
}

// Datasets of recorders that gave no numbers: a life is told apart by its address and its begin, and its last row
// counts.
func TestViewsOfRowsWithoutNumbers(t *testing.T) {
	dir := t.TempDir()
	tracetest.AddSession(t, dir, trace.NewSession())
	first := trace.Timer{TimerHandle: 1, InitTimestamp: trace.Some(int64(1)), NodeName: "/first"}
	second := trace.Timer{TimerHandle: 1, InitTimestamp: trace.Some(int64(5)), NodeName: "/second"}
	ended := first
	ended.EndTimestamp = second.InitTimestamp
	tracetest.AddSegment(t, dir, 0, []trace.Timer{first, second})
	tracetest.AddSegment(t, dir, 1, []trace.Timer{ended})
	for _, columns := range []string{"null", "absent"} {
		t.Run(columns, func(t *testing.T) {
			if columns == "absent" {
				withoutNumbers(t, dir, trace.TableTimer)
			}
			d, err := trace.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			var names string
			err = openViews(t, d).QueryRow("SELECT string_agg(concat_ws(' ', node_name, end_timestamp), ', ' ORDER BY init_timestamp) FROM timer").Scan(&names)
			if want := "/first 5, /second"; err != nil || names != want {
				t.Errorf("%q, %v, want %q", names, err, want)
			}
		})
	}
}

// withoutNumbers takes the columns of numbers out of a table's segments.
func withoutNumbers(t *testing.T, dir, table string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, table, "*.parquet"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	db := openDuckDB(t)
	for _, path := range paths {
		if _, err := db.Exec(fmt.Sprintf("COPY (SELECT * EXCLUDE (entity, revision) FROM '%[1]s') TO '%[1]s.new' (FORMAT parquet)", path)); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
}
