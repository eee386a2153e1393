package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/test/measure"
	"github.com/caret-bpf/caret-bpf/trace"
)

// measuredRecorder is a recording program in a process of its own, whose time and memory are measured.
type measuredRecorder struct {
	b       *testing.B
	command *exec.Cmd
	dir     string
	started time.Time
	used    time.Duration // of processor time when the recording was open
}

// startMeasured starts to record a process. The program is a copy, so that nothing of it is in memory because a test
// runs.
func startMeasured(b *testing.B, program string, pid int, arguments ...string) *measuredRecorder {
	b.Helper()
	r := &measuredRecorder{b: b, dir: filepath.Join(b.TempDir(), "recording")}
	r.command = exec.Command(program, append([]string{"record", "--quiet", "-p", strconv.Itoa(pid), "-o", r.dir}, arguments...)...)
	r.command.Env = append(os.Environ(), programVariable+"=1")
	r.command.Stderr = os.Stderr
	r.started = time.Now()
	if err := r.command.Start(); err != nil {
		b.Fatal(err)
	}
	return r
}

// awaitRecording returns when the recording is open.
func (r *measuredRecorder) awaitRecording() {
	r.b.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(r.dir, trace.SessionFile))
		if err != nil {
			continue
		}
		if session, err := trace.DecodeSession(text); err == nil && session.State == trace.StateRecording {
			r.used = processorTime(r.b, r.command.Process.Pid)
			return
		}
	}
	r.b.Fatal("the recording did not begin")
}

func (r *measuredRecorder) signal(signal syscall.Signal) {
	r.b.Helper()
	if err := r.command.Process.Signal(signal); err != nil {
		r.b.Fatal(err)
	}
}

// stop interrupts the recorder and returns what it wrote into session.json.
func (r *measuredRecorder) stop() *trace.Session {
	r.b.Helper()
	r.signal(syscall.SIGINT)
	if err := r.command.Wait(); err != nil {
		r.b.Fatal(err)
	}
	data, err := trace.Open(r.dir)
	if err != nil {
		r.b.Fatal(err)
	}
	return data.Session()
}

// peakMemory is the most memory that the recorder, which has ended, ever had resident, in MiB.
func (r *measuredRecorder) peakMemory() float64 {
	return float64(r.command.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1024
}

// entered returns when a session came into a state.
func entered(b *testing.B, session *trace.Session, state trace.State) time.Time {
	b.Helper()
	index := slices.IndexFunc(session.History, func(c trace.StateChange) bool { return c.State == state })
	if index < 0 {
		b.Fatalf("the session was never %s", state)
	}
	return time.Unix(0, session.History[index].Timestamp)
}

// processorTime is what a running process has used.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	used, err := measure.ProcessorTime(pid)
	if err != nil {
		b.Fatal(err)
	}
	return used
}

// requireRecordingBench skips what needs privileges.
func requireRecordingBench(b *testing.B) {
	b.Helper()
	if os.Geteuid() != 0 {
		b.Skip("recording needs root")
	}
}
