package recording

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// newSmallDisk mounts a file system in memory. The test is skipped where that cannot be.
func newSmallDisk(t *testing.T, size string) string {
	t.Helper()
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mounting a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return disk
}

// writeLarge writes a file of so many MiB.
func writeLarge(t *testing.T, path string, mebibytes int) {
	t.Helper()
	if err := os.WriteFile(path, make([]byte, mebibytes<<20), 0o640); err != nil {
		t.Fatal(err)
	}
}

// TestMinFree: a recording ends with an error when too little is left of the disk, and is whole; the next one does not
// begin, and leaves nothing. With a bound of what the folder keeps, a recording that has ended goes instead: when the
// next one begins, and while it goes on.
func TestMinFree(t *testing.T) {
	requireRecording(t)
	disk := newSmallDisk(t, "128m")
	output := func(day string) string { return filepath.Join(disk, "caret-bpf-202611"+day+"-000000") }
	n := startReadyNode(t, oneLayout, "--rate 200")
	settings := session.Configuration{PIDs: n.pidText(), SegmentPeriod: time.Second, MinFreeBytes: 64 << 20, Output: output("01")}

	r := record(t, settings)
	r.waitForRows(trace.TableCallback, enough)
	large := filepath.Join(disk, "large")
	writeLarge(t, large, 80)
	if err := r.waitForEnd(); !errors.Is(err, session.ErrFreeSpace) {
		t.Fatalf("it ends with %v", err)
	}
	requireEnding(t, oracle.ReadDataset(t, r.dir), trace.EndingFreeSpace)

	settings.Output = output("02")
	refused, _ := begin(t, settings)
	if err := refused.waitForEnd(); !errors.Is(err, session.ErrFreeSpace) {
		t.Errorf("the next one ends with %v", err)
	}
	if _, err := os.Lstat(settings.Output); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the next one is there: %v", err)
	}

	if err := os.Rename(large, filepath.Join(output("01"), trace.TableCallback, "99999999.parquet")); err != nil {
		t.Fatal(err)
	}
	settings.Output, settings.KeepTotalBytes = output("03"), 1<<40
	r = record(t, settings)
	if _, err := os.Lstat(output("01")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the former recording is there when the next one has begun: %v", err)
	}
	former, err := os.MkdirTemp(disk, "") // which nobody removes before it is whole
	if err != nil {
		t.Fatal(err)
	}
	ended := trace.NewSession()
	ended.Recorder.Name = "caret-bpf"
	ended.Enter(trace.StateStopped, time.Now())
	tracetest.AddSession(t, former, ended)
	if err := os.Mkdir(filepath.Join(former, trace.TableCallback), 0o750); err != nil {
		t.Fatal(err)
	}
	writeLarge(t, filepath.Join(former, trace.TableCallback, "99999999.parquet"), 80)
	if err := os.Rename(former, output("02")); err != nil {
		t.Fatal(err)
	}
	r.waitForMessage("removed " + output("02"))
	r.waitFor("a former recording that was removed", func(s session.Status) bool { return s.Former.Removed == 2 && s.Former.Kept == 0 })
	r.waitForMoreRows(trace.TableCallback, enough)
	r.stop()
	n.stop()
}
