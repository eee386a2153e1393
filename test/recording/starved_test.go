package recording

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestStoppedRecorder stops the recorder (SIGSTOP) while a node runs as fast as it can. The node does not wait for it,
// what did not fit the buffer is counted to the last record, and then the recording goes on.
func TestStoppedRecorder(t *testing.T) {
	requireRecording(t)
	requireLong(t)
	keepFromRunning(t, time.Duration(often(2, 60))*time.Second, func(r *recorder, _ *node) (end func()) {
		r.signal(syscall.SIGSTOP)
		return func() { r.signal(syscall.SIGCONT) }
	})
}

// TestStarvedRecorder has the recorder run on a CPU that others want for themselves, and only where these leave it
// something: some milliseconds a second. The same holds then.
func TestStarvedRecorder(t *testing.T) {
	requireRecording(t)
	requireLong(t)
	requireTwoCPUs(t)
	keepFromRunning(t, time.Duration(often(3, 60))*time.Second, func(r *recorder, n *node) (end func()) {
		first, others := splitCPUs(t)
		schedule(t, n.PID(), unix.SCHED_NORMAL, others)
		hogs := []int{startHog(t), startHog(t)}
		for _, hog := range hogs {
			schedule(t, hog, unix.SCHED_NORMAL, first)
		}
		schedule(t, r.command.Process.Pid, unix.SCHED_IDLE, first)
		return func() {
			schedule(t, r.command.Process.Pid, unix.SCHED_NORMAL, others)
			for _, hog := range hogs {
				if err := syscall.Kill(hog, syscall.SIGKILL); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// splitCPUs returns the first of the CPUs on which this process may run, and the others.
func splitCPUs(t *testing.T) (first, others *unix.CPUSet) {
	t.Helper()
	first, others = new(unix.CPUSet), new(unix.CPUSet)
	if err := unix.SchedGetaffinity(0, others); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; first.Count() == 0; cpu++ {
		if others.IsSet(cpu) {
			first.Set(cpu)
			others.Clear(cpu)
		}
	}
	return first, others
}

// startHog starts a process that takes all processor time it can get.
func startHog(t *testing.T) (pid int) {
	t.Helper()
	hog := exec.Command("sh", "-c", "while :; do :; done")
	if err := hog.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = hog.Process.Kill()
		_ = hog.Wait()
	})
	return hog.Process.Pid
}

// schedule has all threads of a process run by a policy, on some CPUs. Those that begin meanwhile take after the one
// that has begun them, so it looks once more until there are no others.
func schedule(t *testing.T, pid int, policy uint32, on *unix.CPUSet) {
	t.Helper()
	for done := map[int]bool{}; ; {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		if err != nil || len(threads) == 0 {
			t.Fatalf("process %d has %d threads, %v", pid, len(threads), err)
		}
		more := false
		for _, thread := range threads {
			tid, err := strconv.Atoi(filepath.Base(thread))
			if err != nil {
				t.Fatal(err)
			}
			if done[tid] {
				continue
			}
			done[tid], more = true, true
			err = errors.Join(unix.SchedSetAttr(tid, &unix.SchedAttr{Policy: policy}, 0), unix.SchedSetaffinity(tid, on))
			if err != nil && !errors.Is(err, unix.ESRCH) { // the thread has ended
				t.Fatal(err)
			}
		}
		if !more {
			return
		}
	}
}

func (r *recorder) signal(signal syscall.Signal) {
	r.t.Helper()
	if err := r.command.Process.Signal(signal); err != nil {
		r.t.Fatal(err)
	}
}

// keepFromRunning keeps the recorder from running for a while, in the way that is given, while a node runs as fast as
// it can.
func keepFromRunning(t *testing.T, long time.Duration, hold func(r *recorder, n *node) (end func())) {
	t.Helper()
	limit := long + 4*time.Second
	n := startReadyNode(t, oneLayout, "--nodes 2 --topics 2 --threads 3 --rate 1000")
	began := monotonic()
	recorder := startRecorder(t, session.Configuration{PIDs: n.pidText(), BufferBytes: 1 << 20, Duration: limit})
	recorder.waitUntilOpen()
	opened := monotonic()
	time.Sleep(time.Second)
	end := hold(recorder, n)
	time.Sleep(long)
	end()
	if err := recorder.command.Wait(); err == nil { // runRecorder ends with 1 in any case
		t.Error("the recorder ended otherwise")
	}
	ended := monotonic()
	data, truth := oracle.ReadDataset(t, recorder.dir), n.stop()
	requireEnding(t, data, trace.EndingDuration)
	if lost := data.Lost(); lost[trace.LostCallback] == 0 {
		t.Errorf("nothing was lost: %v", lost)
	}
	span := oracle.Span{OpenFrom: began, OpenTo: opened, CloseFrom: opened + uint64(limit) - uint64(time.Second), CloseTo: ended}
	oracle.RequireExact(t, data, truth, span, oracle.Circumstances{Found: true})
	// The node was not slowed down: its timers came as often while the recorder did not run.
	beside, during := 0, 0
	for _, c := range truth.Callbacks {
		switch at := c.Start.Before; {
		case at > opened && at < opened+uint64(time.Second):
			beside++
		case at > opened+uint64(1500*time.Millisecond) && at < opened+uint64(1500*time.Millisecond)+uint64(long)-uint64(time.Second):
			during++
		}
	}
	if perSecond := float64(during) / (long - time.Second).Seconds(); perSecond < 0.7*float64(beside) {
		t.Errorf("%.0f callbacks a second while the recorder did not run, %d beside", perSecond, beside)
	}
}
