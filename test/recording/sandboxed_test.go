package recording

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// sandboxVariable is the environment variable that makes the test binary execute its arguments in a sandbox.
const sandboxVariable = "RECORDING_TEST_SANDBOX"

// From the first of these numbers to the last, kernels have only the system calls with which their own probes leave a
// program (uretprobe, uprobe). A filter that does not know them kills a program with such a probe, but for kernels that
// let them pass.
const firstOfKernel, lastOfKernel = 335, 423

// runSandboxed becomes another program, which is killed if it makes one of these system calls. Without a program it
// makes one itself.
func runSandboxed(program []string) error {
	runtime.LockOSThread() // which has the filter, and the program with it
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jf: 2, K: firstOfKernel},
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jt: 1, K: lastOfKernel + 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	list := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, number := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&list)))
	if number != 0 {
		return number
	}
	if len(program) == 0 {
		_, _, number = unix.RawSyscall(lastOfKernel, 0, 0, 0)
		return fmt.Errorf("a forbidden call was answered: %w", number)
	}
	if err := os.Unsetenv(sandboxVariable); err != nil {
		return err
	}
	return unix.Exec(program[0], program, os.Environ())
}

// TestSandboxedProcess records programs whose system calls are filtered. They do not notice, and everything is recorded
// as of any other.
func TestSandboxedProcess(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		n := startSandboxed(t, l, busy)
		n.WaitReady()
		requireFiltered(t, n)
		r := record(t, session.Configuration{PIDs: n.pidText()})
		r.waitForRows(trace.TableCallback, 4*enough)
		data := r.stop()
		r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
	})
}

// TestSandboxedProcessStarts records such a program by name, from its first event on.
func TestSandboxedProcessStarts(t *testing.T) {
	requireRecording(t)
	requireLong(t)
	prefix := uniqueName("sandboxed")
	r := record(t, session.Configuration{Name: prefix})
	n := startSandboxed(t, oneLayout, busy+" --start-delay 36000 --prefix "+prefix)
	waitUntilHeld(t, n.PID())
	requireFiltered(t, n)
	r.waitForMessage(fmt.Sprintf("PID %d ", n.PID()), " probes in "+oneLayout.distro)
	released := monotonic()
	n.Signal(syscall.SIGUSR1)
	r.waitForRows(trace.TableCallback, 4*enough)
	truth, data := n.stop(), r.stop()
	whole := oracle.Span{OpenFrom: r.began, OpenTo: released, CloseFrom: r.closing, CloseTo: r.ended}
	requireExactProcess(t, data, truth, whole, oracle.Circumstances{})
}

// startSandboxed starts a stand-in in the sandbox. The test is skipped where there is none.
func startSandboxed(t *testing.T, l layout, flags string) *node {
	t.Helper()
	requireSandbox(t)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &node{standin.Start(t, standin.Config{
		Distro: l.distro, RMW: l.rmw, Arguments: strings.Fields(flags), By: []string{own}, Environment: []string{sandboxVariable + "=1"},
	}), t}
}

// requireFiltered requires that a process is in the sandbox.
func requireFiltered(t *testing.T, n *node) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.PID()))
	if err != nil || !strings.Contains(string(status), "\nSeccomp:\t2\n") {
		t.Errorf("no system call of the process is filtered: %v\n%s", err, status)
	}
}

// requireSandbox requires that the sandbox kills who makes a forbidden call. It skips the test where there are no
// filters.
func requireSandbox(t *testing.T) {
	t.Helper()
	command := exec.Command("/proc/self/exe")
	command.Env = append(os.Environ(), sandboxVariable+"=1")
	out, err := command.CombinedOutput()
	if strings.Contains(string(out), unix.EINVAL.Error()) {
		t.Skipf("the kernel filters no system calls: %s", out)
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || !exit.Sys().(syscall.WaitStatus).Signaled() || exit.Sys().(syscall.WaitStatus).Signal() != unix.SIGSYS {
		t.Fatalf("who makes a forbidden call is not killed: %v, %s", err, out)
	}
}
