package loader

import (
	"bufio"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
	ros "github.com/caret-bpf/caret-bpf/target"
)

// requireRoot skips what needs to attach.
func requireRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("attaching needs root: run the tests with sudo")
	}
}

// built are the compiled programs of testdata, for all tests.
var built struct {
	folder          string
	library, caller func() error
}

func TestMain(m *testing.M) {
	if os.Getenv(recorderTarget) != "" {
		os.Exit(runRecorder())
	}
	if os.Getenv(remapper) != "" {
		os.Exit(runRemapper())
	}
	if len(os.Args) > 1 && os.Args[1] == CalibrationArgument {
		if err := BecomeCalibrated(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	folder, err := os.MkdirTemp("", "loader-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	built.folder = folder
	built.library = sync.OnceValue(func() error {
		return compile("-shared", "-fPIC", "-o", filepath.Join(folder, "library"), "testdata/tracepoints.c")
	})
	built.caller = sync.OnceValue(func() error {
		return compile("-pthread", "-o", filepath.Join(folder, "caller"), "testdata/caller.c", "-ldl")
	})
	return m.Run()
}

func compile(arguments ...string) error {
	// Without optimization every function begins with a push.
	arguments = append([]string{"-O0", "-fno-omit-frame-pointer"}, arguments...)
	if out, err := exec.Command("gcc", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("gcc %q: %w\n%s", arguments, err, out)
	}
	return nil
}

// buildLibrary makes a library of its own of testdata/tracepoints.c, with the given name.
func buildLibrary(t testing.TB, name string) string {
	t.Helper()
	if err := built.library(); err != nil {
		t.Fatal(err)
	}
	library, err := os.ReadFile(filepath.Join(built.folder, "library"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, library, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// target is a running testdata/caller.c.
type target struct {
	t       testing.TB
	command *exec.Cmd
	stdin   io.WriteCloser
	stdout  *bufio.Reader
	pid     int32
}

func startTarget(t testing.TB) *target {
	t.Helper()
	if err := built.caller(); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(filepath.Join(built.folder, "caller"))
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	target := &target{t, command, stdin, bufio.NewReader(stdout), int32(command.Process.Pid)}
	t.Cleanup(target.kill)
	return target
}

// startTargetWith starts a target that has loaded the library.
func startTargetWith(t testing.TB, library string) *target {
	t.Helper()
	target := startTarget(t)
	target.do("load " + library)
	return target
}

// do has the target carry out a command and waits for it.
func (c *target) do(command string) {
	c.t.Helper()
	if err := c.try(command); err != nil {
		c.t.Fatal(err)
	}
}

func (c *target) try(command string) error {
	if _, err := fmt.Fprintln(c.stdin, command); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	answer, err := c.stdout.ReadString('\n')
	if err != nil || answer != "ok\n" {
		return fmt.Errorf("%s: answer %q, %w", command, answer, err)
	}
	return nil
}

// callbacks has each of some threads do some callbacks. When it returns, the kernel has told of their ends: the target
// is answered when they let go of their memory, which is before.
func (c *target) callbacks(count, threads int) {
	c.t.Helper()
	c.do(fmt.Sprintf("run %d %d", count, threads))
	c.awaitThreads()
}

// awaitThreads waits until the kernel has told of the ends of all threads that have done callbacks.
func (c *target) awaitThreads() {
	c.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		left, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", c.pid))
		if err == nil && len(left) == 1 {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("threads of the target that have ended are still there: %v, %v", left, err)
		}
	}
}

func (c *target) kill() {
	_ = c.command.Process.Kill()
	_ = c.command.Wait()
}

// mappingOf returns the target's text mapping of a file, and the path under /proc that opens it.
func (c *target) mappingOf(library string) (mapping, string) {
	c.t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.pid))
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		if m, ok := parseMapping(line); ok && m.executable && strings.Contains(line, library) {
			return m, fmt.Sprintf("/proc/%d/map_files/%x-%x", c.pid, m.start, m.end)
		}
	}
	c.t.Fatalf("PID %d has not mapped %s", c.pid, library)
	return mapping{}, ""
}

// text returns the target's memory of the library's text.
func (c *target) text(library string) []byte {
	c.t.Helper()
	m, _ := c.mappingOf(library)
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", c.pid))
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = memory.Close() }()
	text := make([]byte, m.end-m.start)
	if _, err := memory.ReadAt(text, int64(m.start)); err != nil {
		c.t.Fatal(err)
	}
	return text
}

// site returns a plan's site for a function of the library that the target has mapped, past an endbr64.
func (c *target) site(library, function string, event abi.Event) probes.Site {
	c.t.Helper()
	m, path := c.mappingOf(library)
	site := fileSite(c.t, path, function, event)
	site.Library, site.File.Inode = filepath.Base(library), m.inode
	return site
}

// callbackSites are the two sites that a callback of the target hits.
func (c *target) callbackSites(library string) []probes.Site {
	c.t.Helper()
	return []probes.Site{
		c.site(library, "ros_trace_callback_start", abi.EventCallbackStart),
		c.site(library, "ros_trace_callback_end", abi.EventCallbackEnd),
	}
}

// openTest opens a file as a plan does, until the test ends.
func openTest(t testing.TB, path string) *ros.OpenFile {
	t.Helper()
	opened, err := ros.NewFinder().OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Release)
	return opened
}

// fileSite returns a site for a function of an ELF file, without the file's identity.
func fileSite(t testing.TB, path, function string, event abi.Event) probes.Site {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, symbol := range symbols {
		if symbol.Name != function {
			continue
		}
		site := probes.Site{Event: event, Symbol: function, Path: path, Opened: openTest(t, path), Address: symbol.Value}
		for _, segment := range file.Progs {
			if segment.Type == elf.PT_LOAD && segment.Flags&elf.PF_X != 0 {
				site.Offset = symbol.Value - segment.Vaddr + segment.Off
			}
		}
		start := make([]byte, len(endbr64))
		if _, err := file.Section(".text").ReadAt(start, int64(symbol.Value-file.Section(".text").Addr)); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if string(start) == string(endbr64) {
			site.Offset += uint64(len(endbr64))
			site.Address += uint64(len(endbr64))
		}
		return site
	}
	t.Fatalf("%s has no function %s", path, function)
	return probes.Site{}
}
