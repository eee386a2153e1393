// Package selfexec begins this program once more, as a helper process with a task of its own.
//
// A package that has such a task asks in its init function whether the program is the helper. The program is one as
// soon as it is begun under the helper's name, whatever else it does.
package selfexec

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// FirstFile is the descriptor of the first file that a helper is given. The others follow.
const FirstFile = 3

// Is reports whether the program was begun as the helper of that name.
func Is(name string) bool { return len(os.Args) == 1 && os.Args[0] == name }

// Start begins the helper of that name. It has no environment, no descriptors but those of files, and a process group
// of its own: Ctrl-C is for the one who began it. The caller waits for the command.
func Start(name string, files ...*os.File) (*exec.Cmd, error) {
	// Go opens nothing that it hands on. What this program was given by whoever began it is not for the helper.
	if err := unix.CloseRange(FirstFile, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return nil, fmt.Errorf("keeping descriptors from %s: %w", name, err)
	}
	command := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{name}, Dir: "/", Env: []string{}, ExtraFiles: files,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	return command, command.Start()
}
