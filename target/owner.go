package target

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// IsOf reports whether a process is a user's own, and lives. The kernel says that programs which run with more rights
// than their user has are root's (proc_pid_status(5), dumpable).
func (p *Process) IsOf(user uint32) bool {
	var stat unix.Stat_t
	err := unix.Stat(fmt.Sprintf("/proc/%d", p.PID), &stat)
	return err == nil && stat.Uid == user && p.Alive()
}
