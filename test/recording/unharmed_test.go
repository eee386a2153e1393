package recording

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// busy is the load of a node that a recorder must not harm. It notices every message that is lost or changed.
const busy = "--nodes 2 --topics 2 --threads 3 --rate 100 --chain --service-rate 50 --depth 1000 --expect-all"

// TestAttachingDoesNoHarm attaches to a busy node and detaches from it 200 times, with -short only a few times.
func TestAttachingDoesNoHarm(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		times := 20
		switch {
		case testing.Short():
			times = 3
		case l == oneLayout:
			times = 200
		}
		n := startReadyNode(t, l, busy)
		attachAgainAndAgain(t, n, times)
		requireOwnText(t, n.PID())
		n.stop()
	})
}

// attachAgainAndAgain attaches a node's whole plan and detaches it, with the gate open all the time.
func attachAgainAndAgain(t *testing.T, n *node, times int) {
	t.Helper()
	process, err := target.NewFinder().Open(t.Context(), int32(n.PID()))
	if err != nil {
		t.Fatal(err)
	}
	defer process.Close()
	plan, err := probes.NewPlan(t.Context(), process, probes.Options{Expected: true})
	if err != nil {
		t.Fatal(err)
	}
	l, err := loader.New(t.Context(), loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	read := make(chan error, 1)
	records := 0
	go func() {
		read <- l.Read(context.Background(), func(batch [][]byte) error {
			records += len(batch)
			return nil
		}, time.Second)
	}()
	if _, _, err := l.OpenGate(); err != nil {
		t.Fatal(err)
	}
	for i := range times {
		attachment, problems, err := l.Attach(t.Context(), int32(n.PID()), plan.Sites)
		if err != nil || len(problems) > 0 {
			t.Fatalf("attaching for the %dth time: %v, %v", i+1, err, problems)
		}
		if i == 0 && len(changedText(t, n.PID())) == 0 {
			t.Error("attaching changed nothing: a comparison of the text shows nothing")
		}
		if err := attachment.Close(); err != nil {
			t.Fatalf("detaching for the %dth time: %v", i+1, err)
		}
	}
	if _, _, err := l.CloseGate(); err != nil {
		t.Fatal(err)
	}
	if err := l.Detach(); err != nil {
		t.Fatal(err)
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	if records == 0 {
		t.Error("nothing happened while attached")
	}
}

// TestKilledRecorderDoesNoHarm kills the recorder of a busy node 20 times, with -short only a few times, at all stages
// of its life.
func TestKilledRecorderDoesNoHarm(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		times := 4
		switch {
		case testing.Short():
			times = 2
		case l == oneLayout:
			times = 20
		}
		n := startReadyNode(t, l, busy)
		for i := range times {
			recorder := startRecorder(t, session.Configuration{PIDs: n.pidText()})
			// Each time it gets a little further, the first times not even to the beginning of the recording.
			if i > (times-1)/4 {
				recorder.waitUntilOpen()
			}
			time.Sleep(time.Duration(i) * 7 * time.Millisecond)
			recorder.kill()
			waitForOwnText(t, n.PID())
		}
		n.stop()
	})
}

// TestKilledRecordingIsReadable kills a recorder that has closed segments: every one of them must be there, and what
// they hold must be all that happened.
func TestKilledRecordingIsReadable(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--rate 100 --topics 2 --polled-rate 20")
	began := monotonic()
	recorder := startRecorder(t, session.Configuration{PIDs: n.pidText(), SegmentPeriod: 200 * time.Millisecond})
	recorder.waitUntilOpen()
	opened := monotonic()
	closed := waitForSegments(t, recorder.dir, 6)
	recorder.kill()
	for _, path := range closed {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("a closed segment is gone: %v", err)
		}
	}
	d, err := trace.Open(recorder.dir)
	if err != nil {
		t.Fatal(err)
	}
	if !d.Killed() {
		t.Error("the recording does not say that it was killed")
	}
	data := oracle.ReadDataset(t, recorder.dir)
	truth := n.stop()

	s := oracle.Span{OpenFrom: began, OpenTo: opened, CloseTo: monotonic()}
	if first, ok := data.FirstRow(n.PID()); ok {
		s.OpenTo = min(s.OpenTo, first)
	}
	// Each table's last segment may be missing. Whatever was over before the last row of both is there: up to the end of a
	// callback of the node's only thread.
	var callbacks, publishes uint64
	for _, row := range data.Callbacks {
		callbacks = max(callbacks, uint64(row.CallbackEndTimestamp.Value-data.Session.Clock.RealtimeOffset))
	}
	for _, row := range data.Publishes {
		publishes = max(publishes, uint64(row.RMWPublishTimestamp.Value-data.Session.Clock.RealtimeOffset))
	}
	for _, c := range truth.Callbacks {
		if c.End.After <= min(callbacks, publishes) {
			s.CloseFrom = max(s.CloseFrom, c.End.After)
		}
	}
	result := oracle.RequireExact(t, data, truth, s, oracle.Circumstances{Found: true, Torn: true})
	if result.Compared[trace.LostCallback] < enough {
		t.Errorf("only %d callbacks were there", result.Compared[trace.LostCallback])
	}
	if nodes := data.NodesOf(t, truth); len(nodes) != len(truth.Nodes) || nodes[0].NodeName != truth.Nodes[0].Name {
		t.Errorf("nodes %+v, want %+v", nodes, truth.Nodes)
	}
}

// waitForSegments waits until a recording has so many closed segments, and returns their paths.
func waitForSegments(t *testing.T, dir string, count int) []string {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		paths, err := filepath.Glob(filepath.Join(dir, "*", "*.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		if len(paths) >= count {
			return paths
		}
	}
	t.Fatal("the recording closes no segments")
	return nil
}

// recorderVariable makes the test binary a recorder with the configuration that is its value.
const recorderVariable = "RECORDING_TEST_RECORDER"

// runRecorder records until it is killed.
func runRecorder() error {
	var configuration session.Configuration
	if err := json.Unmarshal([]byte(os.Getenv(recorderVariable)), &configuration); err != nil {
		return err
	}
	observer := session.Observer{Recording: func(*session.Handle) { fmt.Println("recording") }}
	if file := os.Getenv(countsVariable); file != "" {
		countInto(file, &observer)
	}
	return session.Run(context.Background(), configuration, session.Options{Version: "test", Observer: observer})
}

// recorder is a recorder in a process of its own.
type recorder struct {
	t       *testing.T
	command *exec.Cmd
	dir     string
	output  io.Reader
}

func startRecorder(t *testing.T, configuration session.Configuration) *recorder {
	t.Helper()
	r := &recorder{t: t, dir: filepath.Join(t.TempDir(), "recording")}
	configuration.Output = r.dir
	r.command = recorderCommand(context.Background(), t, configuration)
	r.command.Stderr = os.Stderr
	var err error
	if r.output, err = r.command.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := r.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.kill)
	return r
}

// recorderCommand returns the command that records in a process of its own.
func recorderCommand(ctx context.Context, t *testing.T, configuration session.Configuration) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(configuration)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, program)
	command.Env = append(os.Environ(), recorderVariable+"="+string(text))
	return command
}

func (r *recorder) waitUntilOpen() {
	r.t.Helper()
	if line, err := bufio.NewReader(r.output).ReadString('\n'); err != nil || line != "recording\n" {
		r.t.Fatalf("the recorder said %q: %v", line, err)
	}
}

// kill kills the recorder as kill -9 does and waits until it is gone.
func (r *recorder) kill() {
	_ = r.command.Process.Kill()
	_ = r.command.Wait()
}

// waitForOwnText waits until a process has its own text again: the kernel detaches some time after the recorder's end.
func waitForOwnText(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); len(changedText(t, pid)) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			break
		}
	}
	requireOwnText(t, pid)
}

// requireOwnText requires that a process's text is what its files say.
func requireOwnText(t *testing.T, pid int) {
	t.Helper()
	for _, change := range changedText(t, pid) {
		t.Error(change)
	}
}

// changedText compares all executable mappings of files, byte for byte, and says where they differ from their files.
func changedText(t *testing.T, pid int) []string {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	var changes []string
	compared := 0
	for line := range strings.Lines(string(maps)) {
		var start, end, offset int64
		var permissions, device, path string
		var inode uint64
		n, _ := fmt.Sscanf(line, "%x-%x %s %x %s %d %s", &start, &end, &permissions, &offset, &device, &inode, &path)
		if n < 7 || inode == 0 || !strings.Contains(permissions, "x") {
			continue
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file = file[offset:min(int64(len(file)), offset+end-start)]
		text := make([]byte, len(file))
		if _, err := memory.ReadAt(text, start); err != nil {
			t.Fatalf("reading %s of process %d: %v", path, pid, err)
		}
		compared++
		if !bytes.Equal(text, file) {
			at := 0
			for text[at] == file[at] {
				at++
			}
			changes = append(changes, fmt.Sprintf("%s at offset %#x: process %d has %#x, the file has %#x", path, int(offset)+at, pid, text[at], file[at]))
		}
	}
	if compared < 10 {
		t.Fatalf("process %d has only %d executable mappings", pid, compared)
	}
	return changes
}
