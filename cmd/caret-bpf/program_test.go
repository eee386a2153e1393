package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/caret-bpf/caret-bpf/launch"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// programVariable makes the test binary the program itself, for tests of what needs a process: signals, standard
// output, namespaces.
const programVariable = "CARET_BPF_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" || len(os.Args) > 1 && (os.Args[1] == launch.Argument || os.Args[1] == loader.CalibrationArgument || os.Args[1] == forwardArgument) {
		main()
	}
	if folder := os.Getenv(bystanderVariable); folder != "" {
		if err := becomeBystander(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitFailure)
		}
		os.Exit(exitSuccess)
	}
	// The tests may run by sudo. They choose themselves on whose behalf.
	for _, variable := range []string{"SUDO_UID", "SUDO_GID", "PKEXEC_UID"} {
		_ = os.Unsetenv(variable)
	}
	os.Exit(m.Run())
}

// programCommand is the program with arguments, to be run as a process of its own.
func programCommand(arguments ...string) *exec.Cmd {
	c := exec.Command("/proc/self/exe", arguments...)
	c.Env = append(os.Environ(), programVariable+"=1")
	return c
}

// begunBy has a program begun by a shell script in a mount namespace of its own. The script gets the arguments first,
// and ends in exec "$@" when it has shifted them away.
func begunBy(c *exec.Cmd, script string, arguments ...string) {
	program := []string{fmt.Sprintf("/proc/%d/exe", os.Getpid())}
	c.Args = slices.Concat([]string{"sh", "-ec", script, "sh"}, arguments, program, c.Args[1:])
	c.Path = "/bin/sh"
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
}

// runProgram runs it to its end and returns its exit code, -1 if a signal ended it, and what it wrote to standard
// error.
func runProgram(t *testing.T, c *exec.Cmd) (code int, problems string) {
	t.Helper()
	var stderr bytes.Buffer
	c.Stderr = &stderr
	err := c.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), stderr.String()
}

func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: run the tests with sudo")
	}
}

// requireHostProcessIDs skips what recording refuses before it does anything else.
func requireHostProcessIDs(t *testing.T) {
	t.Helper()
	if err := loader.CheckPIDNamespace(); err != nil {
		t.Skip(err)
	}
}

// requireRecording skips what needs privileges, a kernel that records, and a stand-in.
func requireRecording(t *testing.T) {
	t.Helper()
	requireRoot(t)
	requireHostProcessIDs(t)
	if err := loader.Probe().Missing(); err != nil {
		t.Skip(err)
	}
	if _, err := os.Stat(filepath.Join("..", "..", "build", "testdata", standin.Jazzy, "ros_node")); err != nil {
		t.Skip("the stand-in is not built: make testdata")
	}
}

func TestOtherPIDNamespace(t *testing.T) {
	requireRoot(t)
	for name, arguments := range map[string][]string{
		"record":       {"record", "--all", "-o", t.TempDir() + "/dataset"},
		"record a PID": {"record", "-p", "4194304"},
		"check":        {"check"},
	} {
		t.Run(name, func(t *testing.T) {
			c := programCommand(arguments...)
			c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
			if code, problems := runProgram(t, c); code != exitKernel || !strings.Contains(problems, "--pid=host") {
				t.Errorf("exit code %d: %s", code, problems)
			}
		})
	}
}

// Who may not look into processes must not be told that there are none.
func TestListWithoutPrivileges(t *testing.T) {
	requireRoot(t)
	const nobody = 65534
	for name, arguments := range map[string][]string{"table": {"list"}, "JSON": {"list", "--json"}, "entities": {"list", "--entities"}} {
		t.Run(name, func(t *testing.T) {
			c := programCommand(arguments...)
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			var out bytes.Buffer
			c.Stdout = &out
			code, problems := runProgram(t, c)
			if code != exitPermission || out.Len() > 0 {
				t.Errorf("exit code %d, out: %s", code, out.String())
			}
			for _, wanted := range []string{"processes that could not be looked into: ", "run with sudo"} {
				if !strings.Contains(problems, wanted) {
					t.Errorf("no %q in %s", wanted, problems)
				}
			}
		})
	}
}

func TestOutputThatCannotBePrinted(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	reader, closed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closed.Close()
	_ = reader.Close()
	dir, _ := syntheticDataset(t)
	for name, test := range map[string]struct {
		stdout *os.File
		code   int
		says   string
	}{
		"a full device": {full, exitOutput, "no space left"},
		"a closed pipe": {closed, exitSuccess, ""},
	} {
		for _, command := range []string{"version", "help", "completion bash", "info " + dir, "latency callback --series " + dir, "latency callback --csv " + dir, "export perfetto -o - -q " + dir} {
			t.Run(name+", "+command, func(t *testing.T) {
				c := programCommand(strings.Fields(command)...)
				c.Stdout = test.stdout
				code, problems := runProgram(t, c)
				if code != test.code || !strings.Contains(problems, test.says) || test.says == "" && problems != "" {
					t.Errorf("exit code %d: %s", code, problems)
				}
			})
		}
	}
}

// Recordings differ, whoever reads in what.
func TestDifferenceThatNobodyReads(t *testing.T) {
	reader, closed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closed.Close()
	_ = reader.Close()
	synthetic, _ := syntheticDataset(t)
	c := programCommand("diff", relayDataset(t), synthetic)
	c.Stdout = closed
	if code, problems := runProgram(t, c); code != exitDiffers || strings.Contains(problems, "pipe") {
		t.Errorf("exit code %d: %s", code, problems)
	}
}

// A recording goes on when nobody reads what it says.
func TestRecordingWithClosedOutput(t *testing.T) {
	requireRoot(t)
	requireHostProcessIDs(t)
	if err := loader.Probe().Missing(); err != nil {
		t.Skip(err)
	}
	reader, closed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closed.Close()
	_ = reader.Close()
	folder := t.TempDir()
	c := programCommand("record", "-o", folder+"/recording", "--", "touch", folder+"/ran")
	c.Stdout, c.Stderr = closed, closed
	_ = c.Run()
	if code := c.ProcessState.ExitCode(); code != exitSuccess {
		t.Errorf("it ended by %v", c.ProcessState)
	}
	if _, err := os.Stat(folder + "/ran"); err != nil {
		t.Error("the command did not run")
	}
	dataset, err := trace.Open(folder + "/recording")
	if err != nil || dataset.Session() == nil || dataset.Session().Ending != trace.EndingTargetsExited {
		t.Errorf("the dataset did not end properly: %v", err)
	}
}

// pgrep finds more than ROS 2 processes: what else is in the list is warned of, and the rest looked at.
func TestSomePIDsCannotBeLookedAt(t *testing.T) {
	requireRecording(t)
	node := standin.StartReady(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS})
	pids := fmt.Sprint(os.Getpid(), " ", node.PID())
	for _, command := range []string{"probes", "list"} {
		code, out, problems := runCommand(command, "-p", pids)
		if code != exitSuccess || !strings.Contains(out, fmt.Sprint(node.PID())) {
			t.Errorf("%s: exit code %d: %s", command, code, out)
		}
		if !strings.Contains(problems, fmt.Sprintf("left out: PID %d", os.Getpid())) {
			t.Errorf("%s does not warn of the test's own PID: %s", command, problems)
		}
		if code, _, problems := runCommand(command, "-p", fmt.Sprint(os.Getpid(), ",4194304")); code != exitNoTarget || !strings.Contains(problems, "4194304") {
			t.Errorf("%s of no ROS 2 process: exit code %d: %s", command, code, problems)
		}
	}
	node.Stop()
}
