// Package otheruser runs programs with the rights of other users, for tests.
package otheruser

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
)

// Start starts a program that does nothing, with the rights of a user and by a command that runs another one, such as
// unshare. It returns the process when that has begun, which it ends with the test. The test is skipped without root,
// and where the command fails: there may be no user namespaces.
func Start(t *testing.T, user uint32, by ...string) (pid int) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("starting processes of other users needs root")
	}
	arguments := slices.Concat(by, []string{"sh", "-c", "echo ready; exec sleep 1000"})
	command := exec.Command(arguments[0], arguments[1:]...)
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	command.Dir = "/"
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	if _, err := io.ReadFull(output, make([]byte, len("ready"))); err != nil {
		t.Skip("no user namespaces: ", err)
	}
	return command.Process.Pid
}
