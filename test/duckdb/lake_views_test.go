package duckdb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/dialect"
	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/export/lake/lakeviews"
)

// Partition keys may be words of SQL, and their values what folders cannot tell: each value finds its own recording.
// Views list the table of recordings before any other: it is what they miss first of a lake that is gone.
func TestViewsOfALake(t *testing.T) {
	vehicles := []string{"v12", "", "null", "NULL", "größe = 1 %", "__HIVE_DEFAULT_PARTITION__"}
	dir := filepath.Join(t.TempDir(), "lake")
	l, err := lake.Open(t.Context(), dir, lake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for _, vehicle := range vehicles {
		if _, err := l.Publish(t.Context(), lakeRecording(t, 100, vehicle), lake.Request{Keys: []string{"group", "vehicle"}}); err != nil {
			t.Fatal(err)
		}
	}
	sql, err := lakeviews.Views(dir, "duckdb", nil)
	if err != nil {
		t.Fatal(err)
	}
	db := openDuckDB(t)
	db.SetMaxOpenConns(1) // views live in the connection's database
	if _, err := db.Exec(sql); err != nil {
		t.Fatal(err)
	}
	count := func(query string) (count int, err error) {
		err = db.QueryRow(query).Scan(&count)
		return count, err
	}
	for _, vehicle := range vehicles {
		filter := "= '" + vehicle + "'"
		if vehicle == "" {
			filter = "IS NULL"
		}
		recordings, err := count(`SELECT count(DISTINCT recording_id) FROM callback_latency WHERE "group" IS NULL AND vehicle ` + filter)
		if err != nil || recordings != 1 {
			t.Errorf("vehicle %s: %d recordings, %v", filter, recordings, err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := count("SELECT count(latency) FROM callback_fact"); err == nil || !strings.Contains(err.Error(), "/"+lake.TableRecording+"/") {
		t.Errorf("the table of recordings is not listed first: %v", err)
	}
}

// Means are rounded as Go does, a half up, also of negative numbers, and exactly.
func TestMeansAreGos(t *testing.T) {
	db := openDuckDB(t)
	for numbers, want := range map[string]int64{
		"(-2), (-3)": -2, "(2), (3)": 3, "(-2), (-2), (-3)": -2, "(-2), (-3), (-3)": -3,
		"(9007199254740993), (9007199254740993), (NULL)": 9007199254740993,
	} {
		query, err := dialect.ByName("duckdb").Render(`SELECT {{mean "x"}} FROM (VALUES `+numbers+`) n(x)`, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got int64
		if err := db.QueryRow(query).Scan(&got); err != nil || got != want {
			t.Errorf("of %s: %d, want %d; %v", numbers, got, want, err)
		}
	}
}
