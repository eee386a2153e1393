package attachguard

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A stranger's processes have much memory populated, one after the other. Attaching goes on, and it is told why.
func TestAttachingGoesOnBesideWork(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as a stranger may work")
	}
	library, program := writeLibrary(t), filepath.Join(t.TempDir(), "worker")
	if out, err := exec.Command("gcc", "-O1", "-static", "-o", program, "testdata/worker.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	for _, path := range []string{filepath.Dir(filepath.Dir(library)), filepath.Dir(library), filepath.Dir(filepath.Dir(program)), filepath.Dir(program)} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var told []string
	guard, err := Start(func(line string) { told = append(told, line) })
	if err != nil {
		t.Fatal(err)
	}
	workers := []*exec.Cmd{startWorker(t, program, library), startWorker(t, program, library), startWorker(t, program, library)}
	fd, err := attach(library)
	guard.Close()
	if err != nil {
		t.Skip("cannot attach: ", err)
	}
	unix.Close(fd)
	for _, worker := range workers {
		// Attaching waits for one after the other. The last one may have reached its end, on a fast machine.
		want := fmt.Sprintf("PID %d (\"worker\") of user %d, which kept its memory map locked by work", worker.Process.Pid, user)
		isTold := slices.ContainsFunc(told, func(line string) bool {
			return strings.Contains(line, want) && strings.HasSuffix(line, "it was killed")
		})
		if _ = worker.Wait(); !isTold && worker.ProcessState.ExitCode() != 0 {
			t.Errorf("%v: told: %q", worker.ProcessState, told)
		}
	}
	if len(told) == 0 {
		t.Skip("the machine did the work before long")
	}
}

// startWorker starts a stranger's process, and returns when it works.
func startWorker(t *testing.T, program, library string) *exec.Cmd {
	t.Helper()
	worker := exec.Command(program, library)
	worker.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = worker.Process.Kill() })
	for w := (&watch{proc: "/proc"}); !populates(worker.Process.Pid) || !w.works(holder{pid: worker.Process.Pid}); time.Sleep(time.Millisecond) {
		if worker.Process.Signal(syscall.Signal(0)) != nil {
			t.Fatal("the worker has ended")
		}
	}
	return worker
}

// populates reports whether a process has mapped a terabyte.
func populates(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	pages, _ := strconv.Atoi(strings.Fields(string(text) + " 0")[0])
	return err == nil && pages > 1<<28
}

// fakeProc is a directory like /proc, in which a recorder waits for a map and the arguments of a process are not shown.
type fakeProc struct {
	root     string
	recorder int
	holder   *exec.Cmd
}

func newFakeProc(t *testing.T, owner string, state byte) *fakeProc {
	t.Helper()
	p := &fakeProc{root: t.TempDir(), recorder: 1, holder: exec.Command("sleep", "1000")}
	if err := p.holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.holder.Process.Kill(); _ = p.holder.Wait() })
	pid := strconv.Itoa(p.holder.Process.Pid)
	p.write(t, "1/task/1/stack", "[<0>] register_for_each_vma+0x26b/0x480\n")
	p.write(t, "1/task/1/stat", "1 (x) D 1")
	p.write(t, pid+"/task/"+pid+"/stat", pid+" (a) S b) "+string(state)+" 1")
	p.write(t, pid+"/status", "Uid:\t"+owner+"\t0\n")
	p.write(t, pid+"/comm", "fake\n")
	if err := unix.Mkfifo(filepath.Join(p.root, pid, "cmdline"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.answer)
	return p
}

func (p *fakeProc) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(p.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// answer lets whoever asks for the arguments have them: none.
func (p *fakeProc) answer() {
	path := filepath.Join(p.root, strconv.Itoa(p.holder.Process.Pid), "cmdline")
	if file, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0); err == nil { // ENXIO: nobody asks
		file.Close()
	}
}

// looks has a watch look until it tells something, at most so often.
func looks(w *watch, times int) (told []string) {
	for range times {
		if told = w.look(); len(told) > 0 {
			return told
		}
	}
	return nil
}

func TestWhoIsKilled(t *testing.T) {
	tests := []struct {
		name, owner string
		state       byte
		allowed     time.Duration
		want        bool
	}{
		{"a stranger's that works", "1001", 'R', 0, true},
		{"a stranger's that waits, for a disk say", "1001", 'D', 0, false},
		{"a stranger's, before long", "1001", 'R', time.Hour, false},
		{"root's", "0", 'R', 0, false},
		{"the caller's", "1000", 'R', 0, false},
		{"nobody knows whose", "x", 'R', 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			proc := newFakeProc(t, test.owner, test.state)
			w := &watch{proc: proc.root, recorder: proc.recorder, spared: []uint32{0, 1000}, workAllowed: test.allowed}
			told := looks(w, 4)
			if got := len(told) == 1 && strings.HasSuffix(told[0], "it was killed"); got != test.want {
				t.Errorf("told: %q", told)
			}
			if !test.want {
				_ = proc.holder.Process.Kill()
			}
			if _ = proc.holder.Wait(); test.want && proc.holder.ProcessState.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
				t.Errorf("the process: %v", proc.holder.ProcessState)
			}
		})
	}
}

// Who lets his map go in between is not killed: the recorder goes on.
func TestWhoAnswersLives(t *testing.T) {
	proc := newFakeProc(t, "1001", 'R')
	w := &watch{proc: proc.root, recorder: proc.recorder, spared: []uint32{0}}
	for range 5 {
		if told := w.look(); len(told) > 0 {
			t.Fatalf("told: %q", told)
		}
		for pid := proc.holder.Process.Pid; ; time.Sleep(time.Millisecond) {
			proc.answer()
			if _, awaited := w.holders.arguments.unansweredFor()[pid]; !awaited {
				break
			}
		}
	}
}

func TestThreadState(t *testing.T) {
	for stat, want := range map[string]byte{"1 (a) R 1": 'R', "1 (a) S b) D 1": 'D', "1 (a)": 0, "": 0, "1 (a) ": 0} {
		if got := threadState([]byte(stat)); got != want {
			t.Errorf("%q: %q", stat, got)
		}
	}
}
