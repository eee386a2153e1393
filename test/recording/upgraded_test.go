package recording

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestLibrariesAreUpgraded replaces libraries, as a package manager does, by others with their functions elsewhere, while
// a process that maps them is recorded by name. It goes on, another one begins with the new files, and both are recorded
// whole: each with the sites of its own files.
func TestLibrariesAreUpgraded(t *testing.T) {
	requireRecording(t)
	directory := copyStandIn(t)
	prefix := uniqueName("upgraded")
	start := func(flags string) *node {
		return &node{standin.Start(t, standin.Config{
			Distro: oneLayout.distro, RMW: oneLayout.rmw, Directory: directory, Arguments: strings.Fields(busy + flags + " --prefix " + prefix),
		}), t}
	}
	former := start("")
	former.WaitReady()
	r := record(t, session.Configuration{Name: prefix})
	r.waitForRows(trace.TableCallback, enough)
	upgrade(t, directory, "libtracetools.so", "ros_trace_callback_start")
	upgrade(t, directory, "librclcpp.so", "_ZN6rclcpp8Executor22execute_any_executableERNS_13AnyExecutableE",
		"-ltracetools", "-lstandin", "-lrmw_implementation", "-lrcl")
	r.waitForMoreRows(trace.TableCallback, 2*enough)

	next := start(" --start-delay 36000")
	waitUntilHeld(t, next.PID())
	// Files that nobody expected are probed when a process has mapped them.
	r.waitFor("both processes", func(s session.Status) bool { return s.Processes == 2 })
	r.waitForMessage(fmt.Sprintf("PID %d ", next.PID()), " probes in "+oneLayout.distro)
	released := monotonic()
	next.Signal(syscall.SIGUSR1)
	r.waitForMoreRows(trace.TableCallback, 4*enough)
	truthOfFormer := former.stop()
	r.waitForMoreRows(trace.TableCallback, 2*enough)
	data := r.stop()
	requireOwnText(t, next.PID())
	truthOfNext := next.stop()

	requireExactProcess(t, data, truthOfFormer, r.span(data, former.PID()), oracle.Circumstances{Found: true})
	whole := oracle.Span{OpenFrom: r.began, OpenTo: released, CloseFrom: r.closing, CloseTo: r.ended}
	requireExactProcess(t, data, truthOfNext, whole, oracle.Circumstances{Unarmed: true})
	oracle.RequireEntities(t, data, truthOfNext, whole)
	requireExited(t, data, former.PID(), true)
}

// upgrade replaces a library of a stand-in by one that does the same, with its functions elsewhere, of which one is
// named. The test is skipped where nothing can be linked.
func upgrade(t *testing.T, directory, library, function string, needs ...string) {
	t.Helper()
	name := strings.TrimSuffix(strings.TrimPrefix(library, "lib"), ".so")
	objects, err := filepath.Glob(filepath.Join(directory, "objects", "src", name, "*.o"))
	if err != nil || len(objects) == 0 {
		t.Skipf("what %s was linked from is not there: %v", library, err)
	}
	room := filepath.Join(t.TempDir(), "room.c")
	if err := os.WriteFile(room, []byte("__asm__(\".text\\n.zero 4096\\n\");\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(directory, library)
	arguments := []string{"-shared", "-fPIC", "-Wl,-soname," + library, "-Wl,-rpath,$ORIGIN", "-Wl,-z,now", "-pthread", "-L" + directory, "-o", path + ".new"}
	if out, err := exec.Command("g++", slices.Concat(arguments, []string{room}, objects, needs)...).CombinedOutput(); err != nil {
		t.Skipf("g++: %v\n%s", err, out)
	}
	former, _ := functionIn(t, path, function)
	if next, _ := functionIn(t, path+".new", function); next == former {
		t.Fatalf("%s is where it was in %s", function, library)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}
