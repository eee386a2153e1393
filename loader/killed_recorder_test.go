package loader

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
	ros "github.com/caret-bpf/caret-bpf/target"
)

// recorderTarget is the environment variable that makes the test binary a recorder to be killed: PID, and a site's
// offset and path.
const recorderTarget = "LOADER_TEST_RECORDER_TARGET"

// runRecorder attaches through tracefs, says so and waits for its end.
func runRecorder() int {
	var process int32
	var offset uint64
	var path string
	if _, err := fmt.Sscan(os.Getenv(recorderTarget), &process, &offset, &path); err != nil {
		fmt.Println(err)
		return 1
	}
	l, err := New(context.Background(), Options{ForceTracefs: true})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	opened, err := ros.NewFinder().OpenFile(path)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	_, _, err = l.Attach(context.Background(), process, []probes.Site{{
		Event: abi.EventCallbackStart, Symbol: "ros_trace_callback_start", Offset: offset, Opened: opened, Required: true,
	}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("attached")
	time.Sleep(time.Hour)
	return 1
}

// eventGroups returns the recorders' trace event groups.
func eventGroups(t *testing.T, root string) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, "events"))
	if err != nil {
		t.Fatal(err)
	}
	groups := make(map[string]bool)
	for _, entry := range entries {
		if _, ours := parseEventGroup(entry.Name()); ours {
			groups[entry.Name()] = true
		}
	}
	return groups
}

func TestKilledRecorderLeavesNothing(t *testing.T) {
	requireRoot(t)
	root := requireTracefs(t)
	library := buildLibrary(t, "libtracepoints.so")
	target := startTargetWith(t, library)
	before := target.text(library)
	site := target.callbackSites(library)[0]
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for round := range rounds {
		recorder := exec.Command("/proc/self/exe")
		recorder.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s", recorderTarget, target.pid, site.Offset, site.Path))
		output, err := recorder.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := recorder.Start(); err != nil {
			t.Fatal(err)
		}
		answer, err := bufio.NewReader(output).ReadString('\n')
		if err != nil || answer != "attached\n" {
			t.Fatalf("the recorder says %q, %v", answer, err)
		}
		_, startTime, err := processState(recorder.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		group := recorderIdentity{recorder.Process.Pid, startTime}.eventGroup()
		if !eventGroups(t, root)[group] {
			t.Errorf("no event group %s while the recorder runs", group)
		}

		// A living recorder is left alone.
		alive := newRecording(t, way{options: Options{ForceTracefs: true}})
		alive.attach(target.pid, target.callbackSites(library)...)
		if !eventGroups(t, root)[group] {
			t.Errorf("the event group %s of a living recorder was removed", group)
		}

		if err := recorder.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = recorder.Wait()
		next, err := New(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if warnings := next.Warnings(); len(warnings) > 0 {
			t.Errorf("warnings %v", warnings)
		}
		if eventGroups(t, root)[group] {
			t.Errorf("the event group %s of a killed recorder is still there", group)
		}
		target.callbacks(10, 2)
		alive.expectHits(target.pid, 20)
		for _, l := range []*Loader{next, alive.loader} {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		_, ownStart, err := processState(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		// Others are of recorders that run beside the test.
		left := eventGroups(t, root)
		for _, group := range []string{group, recorderIdentity{os.Getpid(), ownStart}.eventGroup()} {
			if left[group] {
				t.Fatalf("round %d: the event group %s is left", round, group)
			}
		}
		if !bytes.Equal(target.text(library), before) {
			t.Fatal("the text is not what it was before the first recorder")
		}
	}
}

func TestEventOfDeadRecorderThatIsInUseIsRemoved(t *testing.T) {
	requireRoot(t)
	root := requireTracefs(t)
	library := buildLibrary(t, "libtracepoints.so")
	// No process has this start time.
	dead := recorderIdentity{pid: os.Getpid(), startTime: 1}
	definition := fmt.Sprintf("p:%s/event %s:%#x", dead.eventGroup(), library,
		fileSite(t, library, "ros_trace_callback_start", abi.EventCallbackStart).Offset)
	if err := writeUprobeEvents(root, definition); err != nil {
		t.Fatal(err)
	}
	enable := filepath.Join(root, "events", dead.eventGroup(), "event", "enable")
	if err := os.WriteFile(enable, []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	if err := removeStaleEvents(root); err != nil {
		t.Error(err)
	}
	if eventGroups(t, root)[dead.eventGroup()] {
		t.Error("the event is still there")
	}
	events, err := os.ReadFile(uprobeEvents(root))
	if err != nil || strings.Contains(string(events), dead.eventGroup()) {
		t.Errorf("uprobe_events: %q, %v", events, err)
	}
}

// TestRecordersRemoveStaleEventsTogether: two recorders that start at once find the same leftovers.
func TestRecordersRemoveStaleEventsTogether(t *testing.T) {
	requireRoot(t)
	root := requireTracefs(t)
	library := buildLibrary(t, "libtracepoints.so")
	offset := fileSite(t, library, "ros_trace_callback_start", abi.EventCallbackStart).Offset
	for start := range uint64(20) {
		dead := recorderIdentity{pid: os.Getpid(), startTime: start + 1}
		if err := writeUprobeEvents(root, fmt.Sprintf("p:%s/event %s:%#x", dead.eventGroup(), library, offset)); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 4)
	for range cap(ended) {
		go func() { ended <- removeStaleEvents(root) }()
	}
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	for start := range uint64(20) {
		if group := (recorderIdentity{pid: os.Getpid(), startTime: start + 1}).eventGroup(); eventGroups(t, root)[group] {
			t.Errorf("%s is left", group)
		}
	}
}
