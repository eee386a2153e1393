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
// targets were searched, and their exec was before the recording. Where a name selects, every process is looked at;
// else the young ones.
func (f *follower) lookForLoading() {
	entries, err := os.ReadDir("/proc")
	f.journal.warn(err)
	for _, entry := range entries {
		pid, err := strconv.ParseInt(entry.Name(), 10, 32)
		if err != nil || int(pid) == os.Getpid() {
			continue
		}
		if f.configuration.name != nil || f.isYoung(int32(pid)) {
			f.looks.ask(int32(pid), canWait)
		}
	}
}

func (f *follower) isYoung(pid int32) bool {
	began, err := f.finder.StartTime(pid)
	var now unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return false
	}
	return now.Nano()-began < int64(loadingTime)
}
