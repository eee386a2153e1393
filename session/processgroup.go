package session

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// awaitExit returns when a child of this process has exited. The child stays a zombie: until it is waited for, nobody else can be given
// its number, neither as a process nor as a process group.
func awaitExit(child int) {
	for {
		err := unix.Waitid(unix.P_PID, child, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// groupRuns reports whether any process of a process group still runs. Zombies do not.
func groupRuns(group int) bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return true // it cannot be told
	}
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue // gone meanwhile
		}
		if state, of, ok := parseStat(stat); ok && of == group && state != "Z" && state != "X" {
			return true
		}
	}
	return false
}

// parseStat returns a process's state and process group from /proc/PID/stat (proc_pid_stat(5)). The command's name, in parentheses, may
// hold anything, parentheses included.
func parseStat(stat []byte) (state string, group int, ok bool) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return "", 0, false
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 3 {
		return "", 0, false
	}
	group, err := strconv.Atoi(string(fields[2]))
	return string(fields[0]), group, err == nil
}
