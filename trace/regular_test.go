package trace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// special puts something at a path that is no file of a dataset. Reading some of it would not end.
var special = map[string]func(path string) error{
	"a pipe":               func(path string) error { return unix.Mkfifo(path, 0o600) },
	"a link to a device":   func(path string) error { return os.Symlink("/dev/zero", path) },
	"a folder":             func(path string) error { return os.Mkdir(path, 0o700) },
	"a file of the kernel": func(path string) error { return os.Symlink("/proc/self/status", path) },
	"a link to itself":     func(path string) error { return os.Symlink(path, path) },
}

func TestSpecialFilesInADataset(t *testing.T) {
	for name, place := range special {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Clock](3, 1))
			if err := place(filepath.Join(dir, trace.SessionFile)); err != nil {
				t.Fatal(err)
			}
			d, err := trace.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if d.Session() != nil || !strings.Contains(d.Warning(), trace.SessionFile) {
				t.Errorf("a session was read: %+v, %q", d.Session(), d.Warning())
			}
			bad := filepath.Join(dir, trace.TableClock, "zz.parquet")
			if err := place(bad); err != nil {
				t.Fatal(err)
			}
			rows, err := trace.Count(t.Context(), d, trace.TableClock)
			var damaged *trace.SegmentError
			if !errors.As(err, &damaged) || damaged.Path != bad {
				t.Errorf("error %v, want one of %s", err, bad)
			}
			if rows != 3 {
				t.Errorf("%d rows, want the 3 of the whole segment", rows)
			}
		})
	}
}

// A file of many bytes takes no memory where it lies, and must not where it is read.
func TestLongSessionIsNotRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, trace.SessionFile)
	write(t, path, "{}")
	if err := os.Truncate(path, 3<<30); err != nil {
		t.Fatal(err)
	}
	if _, err := trace.Open(dir); err == nil || errors.Is(err, trace.ErrNotDataset) || !strings.Contains(err.Error(), "more than") {
		t.Errorf("error %v, want one that tells the limit", err)
	}
}
