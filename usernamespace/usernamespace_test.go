package usernamespace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// start starts a program with the rights of a user that prints a line and waits, and returns its directory in /proc.
func start(t *testing.T, user uint32, arguments ...string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("starting processes of other users needs root")
	}
	command := exec.Command(arguments[0], append(arguments[1:], "sh", "-c", "echo ready; exec sleep 1000")...)
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
	return filepath.Join("/proc", strconv.Itoa(command.Process.Pid))
}

func numberOf(t *testing.T, process string) uint32 {
	t.Helper()
	link, err := os.Readlink(filepath.Join(process, "ns/user"))
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseUint(strings.Trim(link, "user:[]"), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(number)
}

func TestOf(t *testing.T) {
	if got, err := Of("/proc/self"); got != (Namespace{Own: true}) || err != nil {
		t.Errorf("this program: %+v, %v", got, err)
	}
	if _, err := Of(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no process: %v", err)
	}
	const user = 4242
	for name, test := range map[string]struct {
		user      uint32
		arguments []string
		nested    bool
	}{
		"a user's":    {user, []string{"unshare", "--user", "--map-root-user"}, false},
		"root's":      {0, []string{"unshare", "--user", "--map-root-user"}, false},
		"in a user's": {user, []string{"unshare", "--user", "--map-root-user", "unshare", "--user", "--map-root-user"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			process := start(t, test.user, test.arguments...)
			got, err := Of(process)
			if err != nil || got.Own || got.Creator != test.user || (got.Number == numberOf(t, process)) == test.nested {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestPayer(t *testing.T) {
	const user, subordinate, number = 1000, 100000, 4026532123
	trusts := func(user uint32) bool { return user == 0 }
	for name, test := range map[string]struct {
		namespace Namespace
		want      uint32
	}{
		"this program's": {Namespace{Own: true}, subordinate},
		"a user's":       {Namespace{Number: number, Creator: user}, user},
		"root's":         {Namespace{Number: number}, number},
	} {
		if got := test.namespace.Payer(subordinate, trusts); got != test.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}
