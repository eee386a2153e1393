// Package measure has what benchmarks share.
package measure

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Median returns the value in the middle, of an even number the upper one of the two. There must be one.
func Median[V cmp.Ordered](values []V) V {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// ProcessorTime returns what all threads of a process have used, those that have ended included.
func ProcessorTime(pid int) (time.Duration, error) {
	// The clock of a process's scheduled time: CPUCLOCK_SCHED, see clock_getcpuclockid(3). What /proc tells is as old as
	// the last tick.
	const scheduled = 2
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &used); err != nil {
		return 0, fmt.Errorf("the processor time of process %d: %w", pid, err)
	}
	return time.Duration(used.Nano()), nil
}

// CopySelf copies the running program, a test binary, to a file in a directory.
func CopySelf(tb testing.TB, directory, name string) (path string) {
	tb.Helper()
	source, err := os.Open("/proc/self/exe")
	if err != nil {
		tb.Fatal(err)
	}
	defer source.Close()
	path = filepath.Join(directory, name)
	program, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := io.Copy(program, source); err != nil {
		tb.Fatal(err)
	}
	if err := program.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}
