package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/loader"
)

func TestCheckedState(t *testing.T) {
	for want, line := range map[string]checked{
		"works":                              {Works: true, Required: true, For: "something"},
		"MISSING":                            {Required: true},
		"missing for other users' processes": {For: "other users' processes"},
		"missing, has a fallback":            {},
	} {
		if got := line.state(); got != want {
			t.Errorf("%+v is %q, not %q", line, got, want)
		}
	}
}

func TestCheckLimits(t *testing.T) {
	failure := errors.New("too low")
	lines, err := checkLimits([]loader.Limit{{Name: "files", Err: failure}, {Name: "memory", Required: true}})
	if err != nil || len(lines) != 2 || lines[0].state() != "missing for many processes" || lines[0].Remedy != "too low" || lines[1].state() != "works" {
		t.Errorf("%+v, %v", lines, err)
	}
	lines, err = checkLimits([]loader.Limit{{Name: "memory", Required: true, Err: failure}})
	if !errors.Is(err, failure) || lines[0].state() != "MISSING" {
		t.Errorf("%+v, %v", lines, err)
	}
}

// The kernel, its BTF, each capability and each limit have a line, whoever asks.
func TestCheckNamesEverything(t *testing.T) {
	_, out, _ := runCommand("check")
	for _, name := range []string{
		"Linux ", "kernel BTF", "hash maps without preallocation (Linux 6.1)", "uprobe_multi", "CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE",
		"CAP_CHECKPOINT_RESTORE", "CAP_DAC_READ_SEARCH", "CAP_SETUID", "CAP_SETGID", "CAP_SYS_ADMIN", "CAP_DAC_OVERRIDE", "CAP_KILL", "CAP_SETPCAP", "CAP_CHOWN", "CAP_NET_BIND_SERVICE",
		"open files (", "kernel lockdown (", "ring buffer (16M",
	} {
		if !strings.Contains(out, name) {
			t.Errorf("no %q in\n%s", name, out)
		}
	}
}

// Without capabilities there is a fallback for few things, and none for the processes of others.
func TestCheckWithoutCapabilities(t *testing.T) {
	requireRoot(t)
	requireHostProcessIDs(t)
	path, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := programCommand()
	c.Args = []string{path, "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", program, "check"}
	c.Path = path
	var out strings.Builder
	c.Stdout = &out
	if code, problems := runProgram(t, c); code != exitPermission || !strings.Contains(problems, "CAP_BPF") {
		t.Errorf("exit code %d: %s", code, problems)
	}
	for _, want := range []string{"CAP_BPF MISSING", "CAP_SYS_PTRACE missing for other users' processes", "CAP_DAC_READ_SEARCH missing for other users' processes"} {
		if !strings.Contains(squeeze(out.String()), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// Attaching through tracefs where it is not mounted is a matter of the machine, which `check` tells of.
func TestTracefsIsNotMounted(t *testing.T) {
	requireRecording(t)
	c := programCommand("record", "--all", "--force-tracefs", "-o", t.TempDir()+"/recording")
	begunBy(c, `mount -t tmpfs none /sys/kernel/tracing; [ ! -d /sys/kernel/debug ] || mount -t tmpfs none /sys/kernel/debug; exec "$@"`)
	if code, problems := runProgram(t, c); code != exitKernel || !strings.Contains(problems, "mount -t tracefs") {
		t.Errorf("exit code %d: %s", code, problems)
	}
}
