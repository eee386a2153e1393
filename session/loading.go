package session

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// loadingTime is how long a program may take until it has mapped ROS 2's libraries: Python nodes import much before.
const loadingTime = 10 * time.Second

// lookForLoading looks at the processes that may just be loading their libraries: they were no ROS 2 processes when the
// targets were searched, and their exec was before the recording. Where a name selects, every process is looked at that
// is not recorded; else the young ones.
func (f *follower) lookForLoading() {
	entries, err := os.ReadDir("/proc")
	f.journal.warn(err)
	for _, entry := range entries {
		pid, err := strconv.ParseInt(entry.Name(), 10, 32)
		if err != nil || int(pid) == os.Getpid() {
			continue
		}
		if entry := f.processes.living(int32(pid)); entry != nil && entry.recorded && !entry.hasJustBegun() {
			continue
		}
		if f.configuration.name != nil || f.isYoung(int32(pid)) {
			f.looks.ask(int32(pid), canWait)
		}
	}
}

func (f *follower) isYoung(pid int32) bool {
	began, err := f.finder.StartTime(pid)
	return err == nil && isLoading(began)
}

// hasJustBegun reports whether the process may still be mapping its libraries.
func (p *process) hasJustBegun() bool { return isLoading(p.row.ProcessStart) }

// isLoading reports whether a process may still be mapping its libraries that began at an instant of CLOCK_BOOTTIME in
// nanoseconds.
func isLoading(began int64) bool { return readClock(unix.CLOCK_BOOTTIME)-began < int64(loadingTime) }
