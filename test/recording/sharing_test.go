package recording

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/knownfiles"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// mapperVariable is the environment variable that makes the test binary a process that maps files and does nothing
// else.
const mapperVariable = "RECORDING_TEST_MAPPER"

func runMapper(paths []string) {
	for _, path := range paths {
		file, err := os.Open(path)
		if err == nil {
			_, err = unix.Mmap(int(file.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("ok")
	time.Sleep(time.Hour)
}

// startMapper starts a process that maps files and has the name in its command line.
func startMapper(t *testing.T, name string, paths ...string) *exec.Cmd {
	t.Helper()
	command := exec.Command("/proc/self/exe", append([]string{name}, paths...)...)
	command.Env = append(os.Environ(), mapperVariable+"=1")
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	answer := make([]byte, len("ok"))
	if _, err := stdout.Read(answer); err != nil || string(answer) != "ok" {
		t.Fatalf("%q, %v", answer, err)
	}
	return command
}

// uniqueName is the beginning of node names that no other test has.
func uniqueName(kind string) string { return fmt.Sprintf("/%s_%d", kind, syscall.Getpid()) }

// TestForeignLibrariesFalsifyNobody records a process together with one, found first, that maps the libraries of
// another distribution beside the very ones of the former: what the former does is recorded as it is.
func TestForeignLibrariesFalsifyNobody(t *testing.T) {
	requireRecording(t)
	jazzy, humble := standin.Directory(t, standin.Jazzy, false), standin.Directory(t, standin.Humble, false)
	library := func(directory, name string) string { return filepath.Join(directory, name) }
	for name, test := range map[string]struct {
		maps []string
		says string
	}{
		"the libraries contradict each other": {
			[]string{library(humble, "librclcpp.so"), library(jazzy, "libtracetools.so"), library(jazzy, "librcl.so")},
			"another distribution",
		},
		"one fits both": {
			[]string{buildIron(t), library(jazzy, "libtracetools.so")},
			"in another form",
		},
	} {
		t.Run(name, func(t *testing.T) {
			prefix := uniqueName("victim")
			startMapper(t, prefix, test.maps...)
			n := startReadyNode(t, oneLayout, "--rate 50 --nodes 2 --prefix "+prefix)
			r := record(t, session.Configuration{Name: prefix})
			r.waitForRows(trace.TableCallback, enough)
			data := r.stop()
			truth := n.stop()
			oracle.RequireExact(t, data, truth, r.span(data, truth.Header.PID), oracle.Circumstances{Found: true})
			if !r.said(test.says) {
				t.Errorf("the recorder does not say %q", test.says)
			}
		})
	}
}

// TestExceptionsWithSharedLinks: what a thread publishes after an exception has left its callback is not of that
// callback, without a step of the executor between them. A process whose links are shared by others has this one link
// for itself.
func TestExceptionsWithSharedLinks(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		prefix := uniqueName("thrower")
		n := startReadyNode(t, l, behaviours["static_throw"]+" --prefix "+prefix)
		r := record(t, session.Configuration{Name: prefix})
		r.waitForRows(trace.TableCallback, enough)
		data := r.stop()
		truth := n.stop()
		oracle.RequireExact(t, data, truth, r.span(data, truth.Header.PID), oracle.Circumstances{Found: true})
	})
}

// buildIron builds a library that says that its process is of Iron.
func buildIron(t *testing.T) string {
	t.Helper()
	return buildLibrary(t, "librclcpp.so", "void _ZN6rclcpp8Executor13execute_timerESt10shared_ptrINS_9TimerBaseEE(void) {}\n"+
		"void _ZN6rclcpp9executors25ExecutorEntitiesCollectorD1Ev(void) {}\n")
}

// buildLibrary builds a library of that name from a text in C.
func buildLibrary(t *testing.T, name, text string) string {
	t.Helper()
	directory := t.TempDir()
	source, library := filepath.Join(directory, "library.c"), filepath.Join(directory, name)
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-Wl,-soname,"+name, "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return library
}

// copyStandIn makes a stand-in of the test's own.
func copyStandIn(t *testing.T, distro string) (directory string) {
	t.Helper()
	directory = filepath.Join(t.TempDir(), "standin")
	if err := os.CopyFS(directory, os.DirFS(standin.Directory(t, distro, false))); err != nil {
		t.Fatal(err)
	}
	return directory
}

// TestWrittenFileIsLeft writes a library while it is probed for every process: it is not any more.
func TestWrittenFileIsLeft(t *testing.T) {
	requireRecording(t)
	const unused = "rcl_set_ros_time_override" // is probed, and not called
	directory := copyStandIn(t, oneLayout.distro)
	library := filepath.Join(directory, "librcl.so")
	prefix := uniqueName("written")
	n := &node{standin.Start(t, standin.Config{
		Distro: oneLayout.distro, RMW: oneLayout.rmw, Directory: directory, Arguments: strings.Fields("--rate 20 --prefix " + prefix),
	}), t}
	n.WaitReady()
	before := textOf(t, n.PID(), library)
	r := record(t, session.Configuration{Name: prefix})
	if slices.Equal(textOf(t, n.PID(), library), before) {
		t.Error("the library is not probed")
	}
	overwriteFunction(t, library, unused)
	r.waitForMessage("a file is probed no more")
	written := textOf(t, n.PID(), library)
	r.stop()
	if !slices.Equal(textOf(t, n.PID(), library), written) {
		t.Error("the library was still probed")
	}
	n.stop()
}

// overwriteFunction writes into a library, in place, another function than was there.
func overwriteFunction(t *testing.T, library, name string) {
	t.Helper()
	offset, size := functionIn(t, library, name)
	opened, err := os.OpenFile(library, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if _, err := opened.WriteAt(make([]byte, size), int64(offset)); err != nil {
		t.Fatal(err)
	}
}

// functionIn returns where a function lies in the file of a library, and how large it is.
func functionIn(t *testing.T, library, name string) (offset, size uint64) {
	t.Helper()
	file, err := elffile.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbol, err := file.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	if offset, err = file.FileOffset(symbol.Address); err != nil {
		t.Fatal(err)
	}
	return offset, symbol.Size
}

// TestFilesOfOthersAreProbedApart records by name a process whose libraries a stranger could have written: it is
// probed for itself, other processes that map them are not, the user is told, and in the end no file stays open. The
// recorder's environment, which is the caller's, changes nothing.
func TestFilesOfOthersAreProbedApart(t *testing.T) {
	requireRecording(t)
	const stranger = 4343
	directory := copyStandIn(t, oneLayout.distro)
	if err := os.Chown(directory, stranger, stranger); err != nil {
		t.Fatal(err)
	}
	start := func(prefix string) *node {
		return &node{standin.Start(t, standin.Config{
			Distro: oneLayout.distro, RMW: oneLayout.rmw, Directory: directory,
			Arguments: strings.Fields("--rate 50 --start-delay 36000 --prefix " + prefix),
		}), t}
	}
	bystander := start("/bystander")
	waitUntilHeld(t, bystander.PID())
	untouched := textOf(t, bystander.PID(), directory)
	prefix := uniqueName("apart")
	t.Setenv("LD_LIBRARY_PATH", directory)
	r := record(t, session.Configuration{Name: prefix})
	if !r.said("the environment: what processes do first in") {
		t.Error("the environment's libraries were not looked for")
	}
	if !slices.Equal(textOf(t, bystander.PID(), directory), untouched) {
		t.Error("another process is probed because the environment leads to its libraries")
	}
	n := start(prefix)
	waitUntilHeld(t, n.PID())
	r.waitForMessage(fmt.Sprintf("PID %d (ros_node): ", n.PID()))
	if !slices.Equal(textOf(t, bystander.PID(), directory), untouched) {
		t.Error("another process is probed")
	}
	if slices.Equal(textOf(t, n.PID(), directory), untouched) {
		t.Error("the process is not probed")
	}
	released := monotonic()
	n.Signal(syscall.SIGUSR1)
	r.waitForMoreRows(trace.TableCallback, enough)
	truth := n.stop()
	data := r.stop()
	requireExactProcess(t, data, truth, oracle.Span{OpenFrom: r.began, OpenTo: released, CloseFrom: r.closing, CloseTo: r.ended}, oracle.Circumstances{})
	if !r.said("is not probed for all processes") || !r.said("files that were probed for each process alone: ") {
		t.Error("the user is not told")
	}
	for _, site := range data.Session.Plan.Sites {
		if ofROS := strings.HasPrefix(site.File, "librcl") || strings.HasPrefix(site.File, "libtracetools"); ofROS && !slices.Equal(site.PIDs, []int{n.PID()}) {
			t.Errorf("%s in %s is probed for PIDs %v", site.Event, site.File, site.PIDs)
		}
	}
	for _, path := range openFiles(t) {
		if strings.HasPrefix(path, directory) {
			t.Errorf("%s is still open", path)
		}
	}
}

// textOf is what a process has in memory of the text of the files in a directory.
func textOf(t *testing.T, pid int, directory string) []byte {
	t.Helper()
	mappings, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	texts := map[string][]byte{}
	for line := range strings.Lines(string(mappings)) {
		var from, to uint64
		var permissions string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &permissions); err != nil {
			t.Fatal(err)
		}
		path := line[strings.LastIndexByte(line, ' ')+1:]
		if !strings.Contains(permissions, "x") || !strings.HasPrefix(path, directory) {
			continue
		}
		text := make([]byte, to-from)
		if _, err := memory.ReadAt(text, int64(from)); err != nil {
			t.Fatal(err)
		}
		texts[path] = append(texts[path], text...)
	}
	var all []byte
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, texts[path]...)
	}
	return all
}

// openFiles are the paths of what this process has open.
func openFiles(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, entry := range entries {
		if path, err := os.Readlink(filepath.Join("/proc/self/fd", entry.Name())); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// TestFilesOfOthersAreNotKept records a process that maps a file which another user could have written: the next
// recording is not told of it, but of the others.
func TestFilesOfOthersAreNotKept(t *testing.T) {
	requireRecording(t)
	l := layout{standin.Jazzy, standin.RMWs()[0]}
	core := filepath.Join(standin.Directory(t, l.distro, false), "librcl.so")
	others := filepath.Join(t.TempDir(), "library.so")
	content, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(others, content, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(others, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	name, cache := uniqueName("keeps"), t.TempDir()
	startMapper(t, name, core, filepath.Join(filepath.Dir(core), "libtracetools.so"), others)
	record(t, session.Configuration{Name: name}, func(o *session.Options) { o.Cache = cache }).stop()
	list, err := knownfiles.Load(cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]bool{}
	for _, installation := range list.Installations {
		for _, file := range installation.Files {
			kept[file.Path] = true
		}
	}
	if !kept[core] || kept[others] {
		t.Errorf("kept: %v", kept)
	}
}
