package lakeviews_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/export/lake/lakeviews"
)

func TestWhatIsNoLake(t *testing.T) {
	for name, test := range map[string]struct {
		location, dialect string
		keys              []string
		want              error
	}{
		"an empty directory": {t.TempDir(), "duckdb", nil, lake.ErrNotLake},
		"no directory":       {filepath.Join(t.TempDir(), "none"), "spark", nil, lake.ErrNotLake},
		"another dialect":    {"s3://bucket/lake", "oracle", nil, analyze.ErrDialect},
		"a column as a key":  {"s3://bucket/lake", "trino", []string{"pid"}, lake.ErrPartition},
	} {
		if sql, err := lakeviews.Views(test.location, test.dialect, test.keys); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v; %.100s", name, err, test.want, sql)
		}
	}
}

// The partition keys of a directory are those of its folders with files. A key may have to be quoted.
func TestKeysAreFound(t *testing.T) {
	dir := t.TempDir()
	addFile(t, dir, lake.TableRecording, "date=2026-11-30", "Route=a")
	if err := os.MkdirAll(filepath.Join(dir, lake.TableRecording, "a=emptied"), 0o700); err != nil {
		t.Fatal(err)
	}
	sql, err := lakeviews.Views(dir, "duckdb", nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := `SELECT recording_id, "date", "Route", path, hop`; !strings.Contains(sql, want) {
		t.Errorf("no %s in\n%s", want, sql)
	}
	if _, err := lakeviews.Views(dir, "duckdb", []string{"date", "vehicle"}); !errors.Is(err, lake.ErrPartition) || !strings.Contains(err.Error(), "Route") {
		t.Errorf("with other keys: %v", err)
	}
	addFile(t, dir, lake.TableRecording, "date=2026-11-30")
	if _, err := lakeviews.Views(dir, "duckdb", nil); !errors.Is(err, lakeviews.ErrMixedKeys) {
		t.Errorf("of a lake with two sets of keys: %v", err)
	}
}

// addFile adds an empty file below folders.
func addFile(t *testing.T, folders ...string) {
	t.Helper()
	folder := filepath.Join(folders...)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "r-00000.parquet"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A table without files is an empty view, and the script says so.
func TestTablesWithoutFiles(t *testing.T) {
	dir := t.TempDir()
	addFile(t, dir, lake.TableRecording)
	addFile(t, dir, lake.TableCallbackFact)
	if err := os.MkdirAll(filepath.Join(dir, lake.TableLoss), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dialect := range analyze.Dialects() {
		sql, err := lakeviews.Views(dir, dialect, nil)
		if err != nil {
			t.Fatal(err)
		}
		for table, isEmpty := range map[string]bool{lake.TableRecording: false, lake.TableCallbackFact: false, lake.TableLoss: true, lake.TableHopFact: true} {
			if strings.Contains(sql, "no file of "+table+" ") != isEmpty || strings.Contains(sql, dir+"/"+table) == isEmpty {
				t.Errorf("%s: %s is empty: %v", dialect, table, !isEmpty)
			}
		}
	}
}

// Engines read object storage by functions and schemes of their own.
func TestObjectStorage(t *testing.T) {
	for dialect, want := range map[string]string{
		"duckdb":     "read_parquet('s3://bucket/lake/recording/**/*.parquet'",
		"spark":      "OPTIONS (path 's3a://bucket/lake/recording'",
		"clickhouse": "s3('s3://bucket/lake/recording/**/*.parquet', 'Parquet'",
		"trino":      "external_location = 's3://bucket/lake/recording'",
	} {
		for _, location := range []string{"s3://bucket/lake", "s3://bucket/lake/"} {
			sql, err := lakeviews.Views(location, dialect, nil)
			if err != nil || !strings.Contains(sql, want) {
				t.Errorf("%s of %s: %v, no %s", dialect, location, err, want)
			}
		}
	}
}

// Where engines list files in the order of FROM, the table of recordings comes first. Spark lists those of a table when
// it is told of the table: there the recordings are told of first.
func TestRecordingsComeFirst(t *testing.T) {
	for _, dialect := range []string{"duckdb", "spark"} {
		sql, err := lakeviews.Views("s3://bucket/lake", dialect, nil)
		if err != nil {
			t.Fatal(err)
		}
		tables, recordings := 0, strings.Index(sql, "lake/"+lake.TableRecording+"'")
		for _, table := range lake.Tables() {
			if table.Name == lake.TableRecording {
				continue
			}
			view, files := strings.Index(sql, " VIEW "+table.Name+" AS"), strings.Index(sql, "lake/"+table.Name)
			switch {
			case view < 0 || files < 0:
				t.Errorf("%s: there is no %s", dialect, table.Name)
			case dialect == "spark" && (recordings < 0 || files < recordings):
				t.Errorf("%s: %s is told of before the table of recordings", dialect, table.Name)
			case dialect != "spark" && (files < view || !strings.Contains(sql[view:files], "FROM recording) whole JOIN ")):
				t.Errorf("%s: %s does not come after the table of recordings", dialect, table.Name)
			}
			tables++
		}
		if tables == 0 {
			t.Errorf("%s: no tables of facts", dialect)
		}
	}
}
