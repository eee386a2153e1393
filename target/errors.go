package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/quota"
)

// Errors that callers decide on. They are wrapped with the process and the remedy; compare with errors.Is.
var (
	// ErrNoProcess: the process has exited or never existed.
	ErrNoProcess = errors.New("no such process")
	// ErrReplaced: the process runs another program than before (exec).
	ErrReplaced = errors.New("process runs another program now")
	// ErrNotROS2: the process maps none of the ROS 2 libraries.
	ErrNotROS2 = errors.New("not a ROS 2 process")
	// ErrPermission: this process lacks the capability to look into the other.
	ErrPermission = errors.New("permission denied")
	// ErrForeignNamespace: the process belongs to a namespace over which this one has no rights.
	ErrForeignNamespace = errors.New("process is in a namespace that cannot be looked into")
	// ErrInvalidPID: not a list of process IDs.
	ErrInvalidPID = errors.New("not a process ID")
	// ErrNotResident: the memory is not mapped or not in RAM. It is not touched, so that the target does not page.
	ErrNotResident = errors.New("memory is not resident")
	// ErrTooLong: what the kernel shows of the process is more than is read.
	ErrTooLong = errors.New("it has more to show than is read")
	// ErrNotRead: files that the process names (message definitions, the libraries that it will map) could not be read for
	// it.
	ErrNotRead = errors.New("files that the process names are not read")
	// ErrTooManyFiles: no more files can be opened.
	ErrTooManyFiles = errors.New("too many open files")
	// ErrFileClosed: nobody needed the file any more, so it was closed.
	ErrFileClosed = errors.New("the file was let go of")
	// ErrFileWritten: the file was written since it was opened.
	ErrFileWritten = errors.New("the file was written meanwhile")
)

// processError makes the error that a user sees of what went wrong with one process.
func processError(pid int32, err error) error {
	switch {
	case err == nil:
		return nil
	case isSentinel(err):
		return fmt.Errorf("PID %d: %w", pid, err)
	case isGone(err):
		return fmt.Errorf("PID %d: %w", pid, ErrNoProcess)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("PID %d: %w", pid, explainDenial(pid, err))
	}
	return fmt.Errorf("PID %d: %w", pid, err)
}

func isSentinel(err error) bool {
	for _, sentinel := range []error{ErrNoProcess, ErrReplaced, ErrNotROS2, ErrPermission, ErrForeignNamespace, ErrNotResident, ErrNotRead, ErrNotShown, ErrTooLong, ErrTooManyFiles, quota.ErrUsedUp} {
		if errors.Is(err, sentinel) {
			return true
		}
	}
	return false
}

// isGone: files of a process that exits disappear, or answer "no such process" when they are open already.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// explainDenial tells a missing capability from a namespace in which it does not count. Two checks are passed by who
// opens a process's files in /proc: the right to trace it, and the mode of the file, which some have for its owner
// only.
func explainDenial(pid int32, err error) error {
	if holdsCapability(unix.CAP_SYS_PTRACE) {
		if mayTrace(pid) && !holdsCapability(unix.CAP_DAC_READ_SEARCH) && !holdsCapability(unix.CAP_DAC_OVERRIDE) {
			return fmt.Errorf("%w (%w): it belongs to another user, and reading the files that /proc shows to their owners only "+
				"needs CAP_DAC_READ_SEARCH; run with sudo", ErrPermission, err)
		}
		return fmt.Errorf("%w (%w): it belongs to another user namespace, or a security module protects it; "+
			"run caret-bpf on the host, outside any container", ErrForeignNamespace, err)
	}
	return fmt.Errorf("%w (%w): looking into another process needs CAP_SYS_PTRACE, that of another user also CAP_DAC_READ_SEARCH, "+
		"and opening its files CAP_CHECKPOINT_RESTORE (or CAP_SYS_ADMIN); run with sudo", ErrPermission, err)
}

// mayTrace reports whether this process may look into another one: its namespaces are shown to nobody else, whatever
// their mode.
func mayTrace(pid int32) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d/ns/user", pid))
	return err == nil
}
