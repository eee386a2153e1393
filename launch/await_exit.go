package launch

import "golang.org/x/sys/unix"

// awaitExit returns when a child of this process has exited. The child stays a zombie: until it is waited for, nobody
// else can be given its number, neither as a process nor as a process group.
func awaitExit(child int) {
	for {
		err := unix.Waitid(unix.P_PID, child, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}
