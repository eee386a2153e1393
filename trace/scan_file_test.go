package trace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

func TestScanFile(t *testing.T) {
	dir := t.TempDir()
	tracetest.AddSegment(t, dir, 0, []trace.Attribute{{Key: "vehicle", Value: "v1"}, {Key: "route", Value: "city"}})
	files, err := filepath.Glob(filepath.Join(dir, trace.TableAttribute, "*.parquet"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	var keys []string
	type columns struct {
		Key     string `column:"key"`
		Missing string `column:"missing,null"`
	}
	err = trace.ScanFile(t.Context(), files[0], func(rows []columns) error {
		for _, row := range rows {
			keys = append(keys, row.Key+row.Missing)
		}
		return nil
	})
	if err != nil || len(keys) != 2 {
		t.Errorf("%q, %v", keys, err)
	}
	type required struct {
		Missing string `column:"missing"`
	}
	if err := trace.ScanFile(t.Context(), files[0], func([]required) error { return nil }); !errors.Is(err, trace.ErrCorruptSegment) {
		t.Errorf("a missing column: %v", err)
	}
	stop := errors.New("stop")
	if err := trace.ScanFile(t.Context(), files[0], func([]columns) error { return stop }); err != stop {
		t.Errorf("an error of the function: %v", err)
	}
	if err := os.Truncate(files[0], 20); err != nil {
		t.Fatal(err)
	}
	if err := trace.ScanFile(t.Context(), files[0], func([]columns) error { return nil }); !errors.Is(err, trace.ErrTruncatedSegment) {
		t.Errorf("a truncated file: %v", err)
	}
	if err := trace.ScanFile(t.Context(), files[0]+"x", func([]columns) error { return nil }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
