package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// nobody is a user without privileges.
const nobody = 65534

// showPrivileges is a command that shows what it inherited.
var showPrivileges = []string{"--", "sh", "-c", "cat /proc/self/status; ls -l /proc/self/fd"}

// TestPrivilegesOfCommand records a command by recorders that hold more than the command may.
func TestPrivilegesOfCommand(t *testing.T) {
	requireRecording(t)
	recording := []uintptr{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_SYS_PTRACE, unix.CAP_CHECKPOINT_RESTORE, unix.CAP_DAC_OVERRIDE}
	const none = "0000000000000000"
	for name, test := range map[string]struct {
		user    uint32
		output  int // whose the output is
		ambient []uintptr
		env     []string
		want    map[string]string // of /proc/self/status
	}{
		"root": {
			ambient: recording,
			want:    map[string]string{"Uid": "0\t0\t0\t0", "CapInh": none, "CapAmb": none, "CapEff": boundingSet(t), "NoNewPrivs": "0"},
		},
		"the user who called sudo": {
			output: nobody, ambient: recording, env: []string{fmt.Sprint("SUDO_UID=", nobody), fmt.Sprint("SUDO_GID=", nobody)},
			want: map[string]string{
				"Uid": "65534\t65534\t65534\t65534", "Gid": "65534\t65534\t65534\t65534", "CapInh": none, "CapPrm": none, "CapEff": none,
				"CapBnd": none, "CapAmb": none, "NoNewPrivs": "1",
			},
		},
		"a user with capabilities": {
			user: nobody, output: nobody, ambient: recording,
			want: map[string]string{"Uid": "65534\t65534\t65534\t65534", "CapInh": none, "CapPrm": none, "CapEff": none, "CapAmb": none, "NoNewPrivs": "1"},
		},
		"a user with CAP_SETPCAP, too": {
			user: nobody, output: nobody, ambient: append([]uintptr{unix.CAP_SETPCAP}, recording...),
			want: map[string]string{"CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none, "NoNewPrivs": "1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := folderOf(t, test.output, 0o755)
			c := programCommand(append([]string{"record", "-q", "-o", filepath.Join(folder, "recording")}, showPrivileges...)...)
			c.Env = append(c.Env, test.env...)
			c.SysProcAttr = &syscall.SysProcAttr{
				Credential: &syscall.Credential{Uid: test.user, Gid: test.user}, AmbientCaps: test.ambient,
			}
			secret := secretFile(t)
			c.ExtraFiles = []*os.File{secret, secret, secret, secret} // the first two numbers are used for the command anyway
			requirePrivileges(t, c, test.want)
		})
	}
}

// TestPrivilegesUnderSudo records a command by sudo itself. Its rules lie in a mount namespace of the test.
func TestPrivilegesUnderSudo(t *testing.T) {
	requireRecording(t)
	for _, tool := range []string{"sudo", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	if _, err := os.Stat("/etc/sudoers.d"); err != nil {
		t.Skip(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const script = `mount -t tmpfs -o mode=750 none /etc/sudoers.d && echo '#65534 ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/test && chmod 440 /etc/sudoers.d/test &&
exec setpriv --reuid 65534 --regid 65534 --clear-groups sudo -n "$@"`
	arguments := []string{"-c", script, "sh", programVariable + "=1", program, "record", "-q", "-o", filepath.Join(folderOf(t, nobody, 0o700), "recording")}
	c := exec.Command("sh", append(arguments, showPrivileges...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	const none = "0000000000000000"
	requirePrivileges(t, c, map[string]string{
		"Uid": "65534\t65534\t65534\t65534", "Gid": "65534\t65534\t65534\t65534", "CapInh": none, "CapPrm": none, "CapEff": none,
		"CapBnd": none, "CapAmb": none, "NoNewPrivs": "1",
	})
}

// requirePrivileges runs a recorder of showPrivileges and compares what that shows.
func requirePrivileges(t *testing.T, recorder *exec.Cmd, want map[string]string) {
	t.Helper()
	var out bytes.Buffer
	recorder.Stdout = &out
	if code, problems := runProgram(t, recorder); code != exitSuccess {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	shown := make(map[string]string)
	for line := range strings.Lines(out.String()) {
		if name, value, ok := strings.Cut(line, ":\t"); ok {
			shown[name] = strings.TrimSpace(value)
		}
		link, target, ok := strings.Cut(strings.TrimSpace(line), " -> ")
		if !ok || strings.HasPrefix(target, "/proc/") { // the folder that is listed
			continue
		}
		if number := link[strings.LastIndex(link, " ")+1:]; number != "0" && number != "1" && number != "2" {
			t.Errorf("descriptor %s is open: %s", number, target)
		}
	}
	for name, value := range want {
		if shown[name] != value {
			t.Errorf("%s is %q, want %q", name, shown[name], value)
		}
	}
}

// secretFile is an open file that only root can open.
func secretFile(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "secret"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// boundingSet returns the test's own bounding set, which root's programs have as their effective one.
func boundingSet(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "CapBnd:\t")
	set, _, _ := strings.Cut(after, "\n")
	return set
}
