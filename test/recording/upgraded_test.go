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

// TestLibrariesAreUpgraded replaces libraries, as a package manager does, by others with their functions elsewhere,
// while a process that maps them is recorded by name. It goes on, another one begins with the new files, and both are
// recorded whole: each with the sites of its own files.
func TestLibrariesAreUpgraded(t *testing.T) {
	forEachDistro(t, func(t *testing.T, l layout) {
		directory := copyStandIn(t, l.distro)
		prefix := uniqueName("upgraded_" + l.distro)
		former := startIn(t, l, directory, busy+" --prefix "+prefix)
		former.WaitReady()
		r := record(t, session.Configuration{Name: prefix})
		r.waitForRows(trace.TableCallback, enough)
		upgrade(t, directory)
		r.waitForMoreRows(trace.TableCallback, 2*enough)

		next, released := r.releaseNext(t, l, directory, prefix)
		truthOfFormer := former.stop()
		r.waitForMoreRows(trace.TableCallback, 2*enough)
		data := r.stop()
		requireExactProcess(t, data, truthOfFormer, r.span(data, former.PID()), oracle.Circumstances{Found: true})
		requireExited(t, data, former.PID(), true)
		r.requireWhole(t, data, next, released)
	})
}

// TestExpectedLibrariesAreUpgraded does the same with libraries that are probed because an earlier recording has seen
// them, before any process maps them.
func TestExpectedLibrariesAreUpgraded(t *testing.T) {
	forEachDistro(t, func(t *testing.T, l layout) {
		directory, cache := copyStandIn(t, l.distro), t.TempDir()
		prefix := uniqueName("expected_" + l.distro)
		cached := func(o *session.Options) { o.Cache = cache }
		former := startIn(t, l, directory, busy+" --prefix "+prefix)
		former.WaitReady()
		earlier := record(t, session.Configuration{Name: prefix}, cached)
		earlier.waitForRows(trace.TableCallback, enough)
		earlier.stop()
		former.stop()

		r := record(t, session.Configuration{Name: prefix}, cached)
		if !r.said("files of earlier recordings: ", " before anybody maps it") {
			t.Error("nothing is expected")
		}
		upgrade(t, directory)
		next, released := r.releaseNext(t, l, directory, prefix)
		r.requireWhole(t, r.stop(), next, released)
	})
}

// startIn starts a stand-in of a folder.
func startIn(t *testing.T, l layout, directory, flags string) *node {
	t.Helper()
	return &node{standin.Start(t, standin.Config{Distro: l.distro, RMW: l.rmw, Directory: directory, Arguments: strings.Fields(flags)}), t}
}

// releaseNext starts a stand-in, and has it begin when its files are probed. It returns when something of it is
// recorded, and since when it may go on.
func (r *recording) releaseNext(t *testing.T, l layout, directory, prefix string) (n *node, released uint64) {
	t.Helper()
	n = startIn(t, l, directory, busy+" --start-delay 36000 --prefix "+prefix)
	waitUntilHeld(t, n.PID())
	r.waitForMessage(fmt.Sprintf("PID %d ", n.PID()), " probes in "+l.distro)
	released = monotonic()
	n.Signal(syscall.SIGUSR1)
	r.waitForMoreRows(trace.TableCallback, 4*enough)
	return n, released
}

// requireWhole requires that everything of a process was recorded since it was released. Its files may have been mapped
// before they were probed.
func (r *recording) requireWhole(t *testing.T, data *oracle.Dataset, n *node, released uint64) {
	t.Helper()
	requireOwnText(t, n.PID())
	truth := n.stop()
	whole := oracle.Span{OpenFrom: r.began, OpenTo: released, CloseFrom: r.closing, CloseTo: r.ended}
	requireExactProcess(t, data, truth, whole, oracle.Circumstances{Unarmed: true})
	oracle.RequireEntities(t, data, truth, whole)
	if r.said("for each process alone") {
		t.Error("it is said that later processes may lack something")
	}
}

// upgrade replaces libraries of a stand-in by others that do the same. The test is skipped where nothing can be linked.
func upgrade(t *testing.T, directory string) {
	t.Helper()
	upgradeLibrary(t, directory, "libtracetools.so", "ros_trace_callback_start")
	upgradeLibrary(t, directory, "librclcpp.so", "_ZN6rclcpp8Executor22execute_any_executableERNS_13AnyExecutableE",
		"-ltracetools", "-lstandin", "-lrmw_implementation", "-lrcl")
}

// upgradeLibrary replaces a library by one with its functions elsewhere, of which one is named.
func upgradeLibrary(t *testing.T, directory, library, function string, needs ...string) {
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
