package attachguard

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/selfexec"
)

// name is that by which the program knows that it is to look on.
const name = "caret-bpf-attach-guard"

// Descriptors that the guard gets.
const (
	recorderDescriptor = selfexec.FirstFile     // a pidfd
	reportDescriptor   = selfexec.FirstFile + 1 // one line for each connection that was ended
)

func init() {
	if selfexec.Is(name) {
		guard()
		os.Exit(0)
	}
}

// The recorder's threads are looked at so often, and so often while one process after the other keeps its map.
const (
	lookInterval   = time.Second
	urgentInterval = 100 * time.Millisecond
)

// guard looks on until the recorder has ended, with all that the kernel has to do for that.
func guard() {
	pid, ok := pidOf(recorderDescriptor)
	if !ok {
		return
	}
	// Who ends the recorder may tell all of its processes. The guard is needed until it has detached everything.
	signal.Ignore(unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	report := os.NewFile(reportDescriptor, "report")
	w := watch{proc: "/proc", recorder: pid}
	for interval := lookInterval; !hasEnded(recorderDescriptor, interval); {
		for _, line := range w.look() {
			_, _ = fmt.Fprintln(report, line) // a recorder that was killed does not read it
		}
		interval = lookInterval
		if w.isUrgent() {
			interval = urgentInterval
		}
	}
}

// pidOf is the process of a pidfd (pidfd_open(2)).
func pidOf(fd int) (pid int, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		if value, found := bytes.CutPrefix(line, []byte("Pid:")); found {
			pid, err = strconv.Atoi(string(bytes.TrimSpace(value)))
			return pid, err == nil && pid > 0
		}
	}
	return 0, false
}

// hasEnded waits for so long for the end of a process with all its threads.
func hasEnded(pidfd int, patience time.Duration) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
	return err == nil && n > 0
}
