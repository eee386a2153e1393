package duckdb

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// The views of a dataset of format 1 or 2 have the columns, the types and the rows that they have of the same recording
// in the current format, and the union of both has those columns and types.
func TestViewsOfFormerFormats(t *testing.T) {
	for format := 1; format < trace.FormatVersion; format++ {
		t.Run(fmt.Sprint("format ", format), func(t *testing.T) {
			former, err := trace.Open(filepath.Join("../../trace/testdata", fmt.Sprint("format", format)))
			if err != nil {
				t.Fatal(err)
			}
			db := openDuckDB(t)
			db.SetMaxOpenConns(1) // of which USE is
			addViews(t, db, "former", former)
			addViews(t, db, "now", inCurrentFormat(t, former))
			rows := make(map[string]int)
			for _, view := range viewNames(t, db) {
				rows[view] = compareViews(t, db, view)
			}
			for _, view := range []string{"callback", "publish", "enqueue", "event", "node", "publisher", "loss", "communication"} {
				if rows[view] == 0 {
					t.Errorf("no rows of %s were compared", view)
				}
			}
		})
	}
}

// inCurrentFormat writes the rows of a dataset as a recorder would now.
func inCurrentFormat(t *testing.T, former *trace.Dataset) *trace.Dataset {
	t.Helper()
	rows := new(trace.Batch)
	for _, table := range trace.Registry() {
		if err := table.Read(t.Context(), former, rows); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	w, err := writer.Create(filepath.Join(dir, "dataset"), writer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.WriteSession(trace.NewSession()), w.Write(rows), w.Close()); err != nil {
		t.Fatal(err)
	}
	d, err := trace.Open(filepath.Join(dir, "dataset"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func addViews(t *testing.T, db *sql.DB, schema string, d *trace.Dataset) {
	t.Helper()
	views, err := analyze.Views(d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(fmt.Sprintf("CREATE SCHEMA %[1]s; USE %[1]s; %[2]s", schema, views)); err != nil {
		t.Fatal(err)
	}
}

func viewNames(t *testing.T, db *sql.DB) (names []string) {
	t.Helper()
	rows, err := db.Query("SELECT view_name FROM duckdb_views() WHERE schema_name = 'now'")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

// compareViews compares what a view is in both schemas, and returns how many rows it has.
func compareViews(t *testing.T, db *sql.DB, view string) (rows int) {
	t.Helper()
	former, now := "SELECT * FROM former."+view, "SELECT * FROM now."+view
	want := columnTypes(t, db, now)
	for _, query := range []string{former, former + " UNION ALL BY NAME " + now} {
		if got := columnTypes(t, db, query); !maps.Equal(got, want) {
			t.Errorf("%s has columns\n%v, want\n%v", query, got, want)
		}
	}
	columns := slices.DeleteFunc(slices.Sorted(maps.Keys(want)), func(name string) bool { return name == "filename" })
	former = fmt.Sprintf(`SELECT "%s" FROM former.%s`, strings.Join(columns, `", "`), view)
	now = strings.Replace(former, " FROM former.", " FROM now.", 1)
	var different int
	err := db.QueryRow(fmt.Sprintf("SELECT (SELECT count(*) FROM (%[1]s)), (SELECT count(*) FROM ((%[1]s EXCEPT ALL %[2]s) UNION ALL (%[2]s EXCEPT ALL %[1]s)))", former, now)).
		Scan(&rows, &different)
	if err != nil || different != 0 {
		t.Errorf("view %s: %d rows, %d differ, %v", view, rows, different, err)
	}
	return rows
}

// columnTypes returns the type of each column of a query.
func columnTypes(t *testing.T, db *sql.DB, query string) map[string]string {
	t.Helper()
	rows, err := db.Query(query + " LIMIT 0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	types := make(map[string]string)
	for _, c := range columns {
		types[c.Name()] = c.DatabaseTypeName()
	}
	if len(types) != len(columns) {
		t.Errorf("%s has a column twice", query)
	}
	return types
}
