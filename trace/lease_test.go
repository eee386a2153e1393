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

// TestLeasesAreNotWaitedFor: the owner of a file can make each open of it wait for lease-break-time (45 s), again and
// again.
func TestLeasesAreNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	tracetest.AddSession(t, dir, trace.NewSession())
	tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Clock](3, 1))
	leased := tracetest.AddSegment(t, dir, 1, tracetest.Random[trace.Clock](5, 2))
	lease(t, leased)
	lease(t, filepath.Join(dir, trace.SessionFile))

	d := open(t, dir)
	if !strings.Contains(d.Warning(), trace.ErrLeased.Error()) {
		t.Errorf("warning %q", d.Warning())
	}
	rows, err := trace.Count(t.Context(), d, trace.TableClock)
	var damaged *trace.SegmentError
	if !errors.As(err, &damaged) || damaged.Path != leased || !errors.Is(err, trace.ErrLeased) || !strings.Contains(err.Error(), "lslocks") {
		t.Errorf("error %v, want one of %s", err, leased)
	}
	if rows != 3 {
		t.Errorf("%d rows, want the 3 of the other segment", rows)
	}
}

// lease takes a lease on a file, which the test does not give up when it is asked to.
func lease(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skipf("the file system gives no leases: %v", err)
	}
}
