package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// least are the capabilities that recording processes of other users takes where there is uprobe_multi.
var least = []uintptr{
	unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_SYS_PTRACE, unix.CAP_CHECKPOINT_RESTORE, unix.CAP_DAC_READ_SEARCH, unix.CAP_SETUID, unix.CAP_SETGID,
}

// recordedRows are enough to compare.
const recordedRows = 100

// recordedBy is the program that records, which is asked at its control socket.
type recordedBy struct {
	*recorder
	output string
	client *control.Client
}

// newRecordedBy is a recorder, not started, whose output belongs to a user.
func newRecordedBy(t *testing.T, user int, arguments ...string) *recordedBy {
	t.Helper()
	folder := folderOf(t, user, 0o755)
	output, socket := filepath.Join(folder, "recording"), filepath.Join(folder, "socket")
	command := programCommand(append([]string{"record", "-o", output, "--control", socket}, arguments...)...)
	return &recordedBy{&recorder{t: t, command: command}, output, control.NewClient(socket)}
}

// awaitCallbacks returns when it has recorded so many.
func (r *recordedBy) awaitCallbacks(count uint64) {
	r.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		status, err := r.client.Status(context.Background())
		if err != nil {
			r.t.Fatal(err)
		}
		if status.Rows[trace.TableCallback] >= count {
			return
		}
	}
	r.t.Fatal("it does not record")
}

// recordExactly records a process until that ends, and requires that everything is recorded that happened in it, and
// nothing else. The function ends the process, and returns what happened. Names may be missing where the recorder said
// that it had no time to look for them, as on a slow emulated machine.
func (r *recordedBy) recordExactly(end func() *oracle.Truth, known oracle.Circumstances) *oracle.Dataset {
	r.t.Helper()
	span := oracle.Span{OpenFrom: now(r.t)}
	r.start()
	r.waitFor("recording to")
	span.OpenTo = now(r.t)
	r.awaitCallbacks(recordedRows)
	truth := end()
	if code := r.exitCode(); code != exitSuccess {
		r.t.Fatalf("exit code %d", code)
	}
	span.CloseFrom = now(r.t)
	span.CloseTo = span.CloseFrom
	data := oracle.ReadDataset(r.t, r.output)
	if first, ok := data.FirstRow(truth.Header.PID); ok {
		span.OpenTo = min(span.OpenTo, first)
	}
	known.Unnamed = known.Unnamed || slices.ContainsFunc(data.Session.Warnings, func(warning string) bool { return strings.Contains(warning, "was cut short") })
	oracle.RequireExact(r.t, data, truth, span, known)
	return data
}

func now(t *testing.T) uint64 {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	return uint64(now.Nano())
}

// asNobody runs a program without root's rights, and with exactly these capabilities.
func asNobody(capabilities []uintptr) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, AmbientCaps: capabilities}
}

// Nobody with the capabilities that `check` names, and without CAP_SYS_ADMIN, records everything of a process of
// root's. Without any of them, the recorder says which it is.
func TestLeastPrivilege(t *testing.T) {
	requireRecording(t)
	if loader.Probe().UprobeMulti != nil {
		t.Skip("trace events belong to root")
	}
	node := standin.Start(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "100"}})
	node.WaitReady()
	for _, test := range []struct {
		without uintptr
		code    int
		says    string
	}{
		{unix.CAP_BPF, exitPermission, "CAP_BPF missing"},
		{unix.CAP_PERFMON, exitPermission, "CAP_PERFMON missing"},
		{unix.CAP_SYS_PTRACE, exitPermission, "looking into another process needs CAP_SYS_PTRACE"},
		{unix.CAP_DAC_READ_SEARCH, exitPermission, "needs CAP_DAC_READ_SEARCH"},
		{unix.CAP_CHECKPOINT_RESTORE, exitSuccess, "asking which files the process has mapped: permission denied: CAP_CHECKPOINT_RESTORE missing"},
		{unix.CAP_SETUID, exitSuccess, "taking the identity of another user needs CAP_SETUID and CAP_SETGID: user: operation not permitted"},
		{unix.CAP_SETGID, exitSuccess, "taking the identity of another user needs CAP_SETUID and CAP_SETGID: groups: operation not permitted"},
	} {
		c := programCommand("record", "-p", strconv.Itoa(node.PID()), "--max-rows", "1", "-o", filepath.Join(folderOf(t, nobody, 0o755), "recording"))
		c.SysProcAttr = asNobody(slices.DeleteFunc(slices.Clone(least), func(capability uintptr) bool { return capability == test.without }))
		if code, problems := runProgram(t, c); code != test.code || !strings.Contains(problems, test.says) {
			t.Errorf("without %d: exit code %d, no %q in %s", test.without, code, test.says, problems)
		}
	}

	r := newRecordedBy(t, nobody, "-p", strconv.Itoa(node.PID()))
	r.command.SysProcAttr = asNobody(least)
	data := r.recordExactly(func() *oracle.Truth { return oracle.NewTruth(t, node.Stop()) }, oracle.Circumstances{})
	for _, warning := range data.Session.Warnings {
		if !strings.Contains(warning, "kernel.perf_event_paranoid is") || paranoia(t) <= 2 { // what is mapped is looked for
			t.Errorf("the recorder warns: %s", warning)
		}
	}
}

// paranoia is the level of kernel.perf_event_paranoid: above 2, as Debian has it, perf_event_open wants CAP_SYS_ADMIN.
func paranoia(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		t.Fatal(err)
	}
	level, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return level
}

// No thread of a recorder that root runs, and no process that it has started, has more than its recording needs.
func TestRecorderShedsPrivileges(t *testing.T) {
	requireRecording(t)
	node := standin.Start(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "100"}})
	node.WaitReady()
	pid := strconv.Itoa(node.PID())
	few := append([]uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE}, least...)
	starting := append([]uintptr{unix.CAP_KILL, unix.CAP_SETPCAP}, few...)
	for name, test := range map[string]struct {
		user      int
		arguments []string
		want      []uintptr
	}{
		"root":               {0, []string{"-p", pid}, few},
		"sudo":               {nobody, []string{"-p", pid}, few},
		"with a trigger":     {0, []string{"-p", pid, "--trigger", "manual do=run:/bin/true"}, starting},
		"processes to come":  {nobody, []string{"--name", "ros_node"}, starting},
		"settings in a pipe": {0, []string{"--config", "/proc/self/fd/0"}, few},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "processes to come" {
				t.Skip("each takes a minute on an emulated machine")
			}
			r := newRecordedBy(t, test.user, test.arguments...)
			r.command.Stdin = strings.NewReader("pid: " + pid + "\n")
			if test.user != 0 {
				r.command.Env = append(r.command.Env, fmt.Sprint("SUDO_UID=", test.user), fmt.Sprint("SUDO_GID=", test.user))
			}
			r.start()
			r.waitFor("recording to")
			var want capabilitySet
			for _, number := range test.want {
				want |= 1 << number
			}
			threads := 0
			for _, process := range append(childrenOf(t, r.command.Process.Pid), r.command.Process.Pid) {
				all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", process))
				for _, path := range all {
					text, err := os.ReadFile(path)
					if err != nil {
						continue // it has ended
					}
					threads++
					requireShed(t, path, string(text), want)
				}
			}
			if threads < 5 {
				t.Errorf("only %d threads were seen", threads)
			}
			r.signal(syscall.SIGINT)
			if code := r.exitCode(); code != exitSuccess {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// requireShed compares what a thread has with what it may have. Those that make output have taken a user's identity,
// and nothing that counts beside. Those that read files which a process names have its user's, and may read all files.
func requireShed(t *testing.T, path, status string, want capabilitySet) {
	t.Helper()
	fields := make(map[string]string)
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.TrimSpace(value)
	}
	text := fmt.Sprintf("%016x", uint64(want))
	const none = "0000000000000000"
	reading := fmt.Sprintf("%016x", 1<<unix.CAP_DAC_READ_SEARCH)
	for name, allowed := range map[string][]string{
		"CapBnd": {text}, "CapPrm": {text}, "CapEff": {text, none, reading}, "CapInh": {none}, "CapAmb": {none}, "NoNewPrivs": {"1"},
	} {
		if !slices.Contains(allowed, fields[name]) {
			t.Errorf("%s: %s is %s, want %q", path, name, fields[name], allowed)
		}
	}
}

// childrenOf are the processes that a process has started.
func childrenOf(t *testing.T, parent int) (children []int) {
	t.Helper()
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			children = append(children, child)
		}
	}
	return children
}

// What runs as another user is ended all the same.
func TestCommandOfAnotherUserEnds(t *testing.T) {
	requireRecording(t)
	c := bySudo("record", "-q", "-d", "100ms", "-o", filepath.Join(folderOf(t, nobody, 0o755), "recording"), "--", "sh", "-c", "echo $$; exec sleep 100")
	c.WaitDelay = 10 * time.Second // a command that goes on holds the output
	var out bytes.Buffer
	c.Stdout = &out
	if code, problems := runProgram(t, c); code != exitSuccess {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("the command runs: %v", err)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// Who calls sudo gets the socket by which ctl finds the recording, though the recorder has given up what it does not
// need.
func TestControlSocketOfWhoCalledSudo(t *testing.T) {
	requireRecording(t)
	node := standin.Start(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "50"}})
	node.WaitReady()
	r := newRecordedBy(t, nobody, "-p", strconv.Itoa(node.PID()), "--control", "auto")
	r.command.Env = append(r.command.Env, fmt.Sprint("SUDO_UID=", nobody), fmt.Sprint("SUDO_GID=", nobody))
	r.start()
	r.waitFor("recording to")
	var stat unix.Stat_t
	socket := filepath.Join(rootsSockets, strconv.Itoa(r.command.Process.Pid)+socketExtension)
	if err := unix.Stat(socket, &stat); err != nil || stat.Uid != nobody || stat.Mode&0o777 != 0o600 {
		t.Errorf("%s: user %d, mode %o, %v", socket, stat.Uid, stat.Mode, err)
	}
	node.Stop() // which ends the recording
	if code := r.exitCode(); code != exitSuccess {
		t.Errorf("exit code %d", code)
	}
}

// What a recording does not use, its recorder does not keep.
func TestNeededCapabilities(t *testing.T) {
	always := []string{
		"CAP_BPF", "CAP_CHECKPOINT_RESTORE", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_PERFMON", "CAP_SETGID", "CAP_SETUID", "CAP_SYS_ADMIN", "CAP_SYS_PTRACE",
	}
	for name, test := range map[string]struct {
		f             recordFlags
		configuration session.Configuration
		more          []string
	}{
		"processes":         {configuration: session.Configuration{PIDs: "1"}},
		"a command":         {configuration: session.Configuration{Command: []string{"ls"}}, more: []string{"CAP_KILL", "CAP_SETPCAP"}},
		"processes to come": {configuration: session.Configuration{All: true}, more: []string{"CAP_KILL", "CAP_SETPCAP"}},
		"uploads":           {configuration: session.Configuration{PIDs: "1", Upload: "s3://fleet"}, more: []string{"CAP_KILL", "CAP_SETPCAP"}},
		"triggers":          {configuration: session.Configuration{PIDs: "1", Triggers: []string{"exit"}}, more: []string{"CAP_KILL", "CAP_SETPCAP"}},
		"a socket for sudo": {recordFlags{control: "auto"}, session.Configuration{PIDs: "1"}, []string{"CAP_CHOWN"}},
		"a reserved port":   {recordFlags{metrics: "127.0.0.1:80"}, session.Configuration{PIDs: "1"}, []string{"CAP_NET_BIND_SERVICE"}},
		"another port":      {recordFlags{metrics: "[::1]:9464"}, session.Configuration{PIDs: "1"}, nil},
		"a socket":          {recordFlags{metrics: "unix:/run/metrics"}, session.Configuration{PIDs: "1"}, nil},
	} {
		needed := neededFor(test.f, test.configuration)
		var got []string
		for _, p := range privileges(true) {
			if needed.has(p.number) {
				got = append(got, p.name)
			}
		}
		slices.Sort(got)
		want := append(slices.Clone(always), test.more...)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// docs/recording.md has each capability, and no other.
func TestPrivilegesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/recording.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n| capability |")
	table, _, _ = strings.Cut(table, "\n\n")
	var documented, used []string
	for line := range strings.Lines(table) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for word := range strings.SplitSeq(cell, ", ") {
			if strings.HasPrefix(word, "CAP_") {
				documented = append(documented, word)
			}
		}
	}
	for _, p := range privileges(true) {
		used = append(used, p.name)
	}
	slices.Sort(documented)
	slices.Sort(used)
	if !slices.Equal(documented, used) {
		t.Errorf("documented are %v, used %v", documented, used)
	}
}
