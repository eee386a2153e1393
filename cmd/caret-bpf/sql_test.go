package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
)

// Views of each dialect are printed and written under names of their own.
func TestViewsOfEachDialect(t *testing.T) {
	dir := chainsDataset(t, 100)
	for _, dialect := range analyze.Dialects() {
		code, printed, problems := runCommand("sql", dir, "--dialect", dialect)
		if code != exitSuccess || !strings.Contains(printed, "communication_latency") {
			t.Errorf("%s: code %d, %s", dialect, code, problems)
		}
		if code, _, problems := runCommand("sql", dir, "--dialect", dialect, "--write"); code != exitSuccess {
			t.Errorf("%s: code %d, %s", dialect, code, problems)
		}
		if written, err := os.ReadFile(filepath.Join(dir, analyze.ViewsFileIn(dialect))); err != nil || string(written) != printed {
			t.Errorf("%s: %v, what is written differs from what is printed", dialect, err)
		}
	}
}

func TestViewsOfALake(t *testing.T) {
	lake := t.TempDir()
	if code, _, problems := runCommand("publish", chainsDataset(t, 100), "--to", lake); code != exitSuccess {
		t.Fatal(problems)
	}
	if code, printed, problems := runCommand("sql", "--lake", lake, "--dialect", "trino"); code != exitSuccess || !strings.Contains(printed, "callback_fact") {
		t.Errorf("code %d, %s", code, problems)
	}
}

func TestWrongUsageOfSQL(t *testing.T) {
	dir := chainsDataset(t, 100)
	for _, test := range []struct {
		arguments []string
		code      int
		says      string
	}{
		{[]string{"sql"}, exitUsage, "name one dataset"},
		{[]string{"sql", dir, "--dialect", "oracle"}, exitUsage, "duckdb, spark, clickhouse, trino"},
		{[]string{"sql", dir, "--lake", dir}, exitUsage, "--lake goes with no dataset"},
		{[]string{"sql", dir, "--partition", "date"}, exitUsage, "--partition goes with --lake"},
		{[]string{"sql", "--lake", "s3://fleet/ros", "--partition", "pid"}, exitUsage, "pid"},
		{[]string{"sql", "--lake", dir}, exitDataset, "publish --to"},
		{[]string{"sql", "../../trace/testdata/format1", "--dialect", "spark"}, exitFailure, "--dialect duckdb"},
	} {
		if code, _, problems := runCommand(test.arguments...); code != test.code || !strings.Contains(problems, test.says) {
			t.Errorf("%v: code %d, want %d: %s", test.arguments, code, test.code, problems)
		}
	}
}
