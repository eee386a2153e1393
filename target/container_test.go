package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/test/measure"
)

// openPIDVariable makes the test binary open that process, print how that went, and exit: the tests run it with other
// rights.
const openPIDVariable = "TARGET_TEST_OPEN_PID"

type openResult struct {
	Opened, Permission, Foreign bool
	Message                     string
}

func TestMain(m *testing.M) {
	if pid, err := strconv.ParseInt(os.Getenv(openPIDVariable), 10, 32); err == nil {
		process, err := NewFinder().Open(context.Background(), int32(pid))
		result := openResult{Opened: err == nil, Permission: errors.Is(err, ErrPermission), Foreign: errors.Is(err, ErrForeignNamespace)}
		if err != nil {
			result.Message = err.Error()
		} else {
			process.Close()
		}
		json.NewEncoder(os.Stdout).Encode(result)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// openAs opens a process from a process with other attributes.
func openAs(t *testing.T, pid int32, attributes *syscall.SysProcAttr) openResult {
	t.Helper()
	directory, err := os.MkdirTemp("", "target-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	if err := os.Chmod(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	binary := measure.CopySelf(t, directory, "opener")
	command := exec.Command(binary)
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%d", openPIDVariable, pid))
	command.Dir = "/"
	command.SysProcAttr = attributes
	output, err := command.Output()
	if err != nil {
		t.Skip("cannot start a process with other rights: ", err)
	}
	var result openResult
	if err := json.Unmarshal(output, &result); err != nil {
		t.Fatalf("%q: %v", output, err)
	}
	return result
}

const nobody = 65534

func TestOpenWithoutRights(t *testing.T) {
	requireRoot(t)
	executable, _ := buildROSProgram(t)
	program := start(t, executable)
	result := openAs(t, program.pid, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}})
	if result.Opened || !result.Permission || !strings.Contains(result.Message, "CAP_SYS_PTRACE") || !strings.Contains(result.Message, "sudo") {
		t.Errorf("%+v", result)
	}
}

// The files of other users' processes need two capabilities. Which one is missing is said, and no more is asked for.
func TestOpenWithSomeCapabilities(t *testing.T) {
	requireRoot(t)
	executable, _ := buildROSProgram(t)
	program := start(t, executable)
	recording := []uintptr{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_SYS_PTRACE, unix.CAP_CHECKPOINT_RESTORE}
	for name, test := range map[string]struct {
		capabilities []uintptr
		opened       bool
		missing      string
	}{
		"none":                {nil, false, "CAP_SYS_PTRACE"},
		"only for reading":    {[]uintptr{unix.CAP_DAC_READ_SEARCH}, false, "CAP_SYS_PTRACE"},
		"none for reading":    {recording, false, "CAP_DAC_READ_SEARCH"},
		"CAP_DAC_READ_SEARCH": {append(recording[:4:4], unix.CAP_DAC_READ_SEARCH), true, ""},
		"CAP_DAC_OVERRIDE":    {append(recording[:4:4], unix.CAP_DAC_OVERRIDE), true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			result := openAs(t, program.pid, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, AmbientCaps: test.capabilities})
			if result.Opened != test.opened || result.Foreign || result.Permission == test.opened || !strings.Contains(result.Message, test.missing) {
				t.Errorf("%+v", result)
			}
		})
	}
}

func TestOpenFromOtherUserNamespace(t *testing.T) {
	requireRoot(t)
	executable, _ := buildROSProgram(t)
	program := start(t, executable)
	result := openAs(t, program.pid, &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: nobody, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: nobody, Size: 1}},
		Credential:  &syscall.Credential{Uid: 0, Gid: 0, NoSetGroups: true},
	})
	if result.Opened || !result.Foreign || !strings.Contains(result.Message, "namespace") {
		t.Errorf("%+v", result)
	}
}

// startInContainer runs a shell script that ends in exec of the program, in mount and PID namespaces of its own. It
// returns the program's PID here.
func startInContainer(t *testing.T, script string, arguments ...string) (*program, int32) {
	t.Helper()
	requireRoot(t)
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("unshare is not installed")
	}
	options := []string{"--pid", "--mount", "--mount-proc", "--fork", "--kill-child", "sh", "-ec", script, "sh"}
	program := startCommand(t, exec.Command(unshare, append(options, arguments...)...))
	return program, childOf(t, program.pid)
}

// inTmpfs mounts a file system that only the container sees, and runs the program from there.
const inTmpfs = `mount -t tmpfs tmpfs "$1"; cp "$2"/* "$1"; exec "$1"/ros_program`

func TestProcessInContainer(t *testing.T) {
	executable, librcl := buildROSProgram(t)
	rmw := buildLibrary(t, filepath.Dir(executable), "librmw_cyclonedds_cpp.so", functions("rmw_publish"))
	mountPoint := t.TempDir()
	program, pid := startInContainer(t, inTmpfs, mountPoint, filepath.Dir(executable))
	process := openProcess(t, NewFinder(), pid)
	if process.NamespacePID != 1 || process.PID == 1 {
		t.Errorf("PID %d, in its namespace %d", process.PID, process.NamespacePID)
	}
	own, err := NewFinder().Inspect(t.Context(), int32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if process.MountNamespace == own.MountNamespace || process.PIDNamespace == own.PIDNamespace {
		t.Errorf("namespaces %d and %d are those of this process", process.MountNamespace, process.PIDNamespace)
	}

	module, found := process.FindModule("librcl.so")
	if !found || module.Path != filepath.Join(mountPoint, "librcl.so") {
		t.Fatalf("module %+v", module)
	}
	if _, err := os.Stat(module.Path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the path leads somewhere here too: %v", err)
	}
	file, err := process.OpenModule(t.Context(), module)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	original := learnPath(t, NewFinder(), librcl)
	if original.err != nil {
		t.Fatal(original.err)
	}
	defer original.opened.Release()
	if id, err := file.BuildID(); err != nil || id != original.facts.buildID || id != module.BuildID {
		t.Errorf("build-id %q, %v", id, err)
	}

	if found := expectedPaths(t, process); !slices.Contains(found, "rmw "+filepath.Join(mountPoint, filepath.Base(rmw))) {
		t.Errorf("expected libraries %q", found)
	}
	program.must("loaded", "load %s", filepath.Join(mountPoint, filepath.Base(rmw)))
	changes, err := process.Refresh(t.Context())
	if err != nil || len(changes.Added) != 1 || process.RMW != "rmw_cyclonedds_cpp" {
		t.Errorf("%+v, %v", changes, err)
	}
}

// overOverlay mounts the folder $1 as the lower layer at $2, changes what $3 says, and runs the program from there.
const overOverlay = `mkdir -p "$2/upper" "$2/work" "$2/merged"
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/merged"
cd "$2/merged"; eval "$3"; exec ./ros_program`

// One file seen through two overlay mounts is one for the kernel's probes, whatever its device numbers are; a copy
// of it is another.
func TestOneFileUnderSeveralOverlays(t *testing.T) {
	requireRoot(t)
	if text, err := os.ReadFile("/proc/filesystems"); err != nil || !strings.Contains(string(text), "overlay") {
		t.Skip("the kernel has no overlay file system loaded")
	}
	executable, _ := buildROSProgram(t)
	lower := filepath.Dir(executable)
	moduleOf := func(finder *Finder, pid int32) Module {
		t.Helper()
		module, found := openProcess(t, finder, pid).FindModule("librcl.so")
		if !found || module.BuildID == "" {
			t.Fatalf("module %+v", module)
		}
		return module
	}
	direct := start(t, executable)
	_, first := startInContainer(t, overOverlay, lower, t.TempDir(), "true")
	_, second := startInContainer(t, overOverlay, lower, t.TempDir(), "true")
	_, copied := startInContainer(t, overOverlay, lower, t.TempDir(), "cp librcl.so copy; mv copy librcl.so")

	pids := map[string]int32{"direct": direct.pid, "first": first, "second": second}
	for _, order := range [][]string{{"direct", "first", "second"}, {"second", "first", "direct"}} {
		finder := NewFinder()
		modules := map[string]Module{}
		for _, name := range order {
			modules[name] = moduleOf(finder, pids[name])
		}
		if modules["first"].Device == modules["second"].Device {
			t.Log("this kernel shows one device for both overlays")
		}
		if modules["first"].File != modules["second"].File || modules["first"].File != modules["direct"].File {
			t.Errorf("one file has several identities: %+v", modules)
		}
		if other := moduleOf(finder, copied); other.File == modules["first"].File {
			t.Errorf("a copy has the identity of the original: %+v", other.File)
		}
		// Asking again gives the same answer.
		if again := moduleOf(finder, second); again.File != modules["second"].File {
			t.Errorf("%+v, before %+v", again.File, modules["second"].File)
		}
	}
}

func TestCachedFrame(t *testing.T) {
	requireRoot(t)
	directory := t.TempDir()
	paths := []string{filepath.Join(directory, "a"), filepath.Join(directory, "b"), filepath.Join(directory, "link")}
	for _, path := range paths[:2] {
		if err := os.WriteFile(path, make([]byte, os.Getpagesize()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Link(paths[0], paths[2]); err != nil {
		t.Fatal(err)
	}
	finder := NewFinder()
	var frames []uint64
	for _, path := range paths {
		opened, err := finder.OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		frame, ok := cachedFrame(opened)
		opened.Release()
		if !ok {
			t.Skip("page frame numbers are not shown")
		}
		frames = append(frames, frame)
		if _, ok := cachedFrame(opened); ok {
			t.Error("a file that was closed has a frame")
		}
	}
	if frames[0] == frames[1] || frames[0] != frames[2] {
		t.Errorf("frames %v", frames)
	}
}
