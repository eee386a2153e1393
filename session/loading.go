package session

import (
	"os"
	"strconv"
)

// lookForLoading looks at every process there is, because one that is to be recorded by its name may just be loading its libraries:
// it was no ROS 2 process when the targets were searched, and its exec was before the recording.
func (s *Session) lookForLoading() {
	entries, err := os.ReadDir("/proc")
	s.warn(err)
	for _, entry := range entries {
		if pid, err := strconv.ParseInt(entry.Name(), 10, 32); err == nil && int(pid) != os.Getpid() {
			s.askToLook(int32(pid))
		}
	}
}
