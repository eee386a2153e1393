package duckdb

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// lakeRecording is a recording of a vehicle, of so many callbacks.
func lakeRecording(t *testing.T, callbacks int, vehicle string) *trace.Dataset {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "rec")
	tracetest.AddSystem(t, dir, callbacks)
	session := trace.NewSession()
	session.Host.BootID, session.Attributes = "boot of "+vehicle, map[string]string{"vehicle": vehicle}
	tracetest.AddSession(t, dir, session)
	return tracetest.Open(t, dir)
}

// TestLakeIsRead: DuckDB reads the rows of a lake, whatever vehicles are called, by the columns in the files and by the
// folders, and for one vehicle no files of others.
func TestLakeIsRead(t *testing.T) {
	vehicles := []string{"v12", "12", "", "../../x", "a=b/c", "größe = 1 %", "__HIVE_DEFAULT_PARTITION__", "%2F", " "}
	dir := t.TempDir()
	l, err := lake.Open(t.Context(), dir, lake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	want := make(map[string]int64)
	for i, vehicle := range vehicles {
		d := lakeRecording(t, 100+100*i, vehicle)
		if _, err := l.Publish(t.Context(), d, lake.Request{}); err != nil {
			t.Fatal(err)
		}
		segments, _, err := d.Segments(trace.TableCallback)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range segments {
			db := openDuckDB(t)
			var rows int64
			if err := db.QueryRow("SELECT count(*) FROM read_parquet('" + s.Path + "')").Scan(&rows); err != nil {
				t.Fatal(err)
			}
			want[vehicle] += rows
		}
	}
	db := openDuckDB(t)
	for _, options := range []string{"", ", hive_partitioning = false", ", hive_partitioning = true, hive_types_autocast = false"} {
		got := make(map[string]int64)
		query := fmt.Sprintf("SELECT vehicle, date::VARCHAR, count(*) FROM read_parquet('%s/callback_fact/**/*.parquet'%s) WHERE recording_id IN (SELECT recording_id FROM read_parquet('%s/recording/**/*.parquet')) GROUP BY ALL", dir, options, dir)
		rows, err := db.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var vehicle, date sql.NullString
			var count int64
			if err := rows.Scan(&vehicle, &date, &count); err != nil {
				t.Fatal(err)
			}
			if date.String != "2025-10-09" || vehicle.Valid == (vehicle.String == "") {
				t.Errorf("with %q: vehicle %v on %v", options, vehicle, date)
			}
			got[vehicle.String] = count
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("with %q: %v, want %v", options, got, want)
		}
	}
	var plan, text string
	err = db.QueryRow(fmt.Sprintf("EXPLAIN ANALYZE SELECT count(*) FROM read_parquet('%s/callback_fact/**/*.parquet', hive_partitioning = true, hive_types_autocast = false) WHERE vehicle = 'v12'", dir)).Scan(&plan, &text)
	if err != nil {
		t.Fatal(err)
	}
	if only := fmt.Sprintf("Scanning Files: 1/%d", len(vehicles)); !strings.Contains(text, only) {
		t.Errorf("files of other vehicles are read:\n%s", text)
	}
}
