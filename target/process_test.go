package target

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/elffile"
	"golang.org/x/sys/unix"
)

func TestOpen(t *testing.T) {
	executable, librcl := buildROSProgram(t)
	program := start(t, executable, "--ros-args", "an argument")
	process := openProcess(t, NewFinder(), program.pid)

	if process.PID != program.pid || process.NamespacePID <= 0 || process.ParentPID != int32(os.Getpid()) {
		t.Errorf("PID %d, in its namespace %d, parent %d", process.PID, process.NamespacePID, process.ParentPID)
	}
	if bootID, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err != nil || process.BootID != string(bytes.TrimSpace(bootID)) {
		t.Errorf("boot ID %q", process.BootID)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		t.Fatal(err)
	}
	if age := time.Duration(now.Nano() - process.StartTime); age < 0 || age > time.Hour {
		t.Errorf("started %v ago", age)
	}
	if process.Command != "ros_program" || process.Executable != executable {
		t.Errorf("command %q, executable %q", process.Command, process.Executable)
	}
	if !slices.Equal(process.CommandLine, []string{executable, "--ros-args", "an argument"}) {
		t.Errorf("command line %q", process.CommandLine)
	}
	if process.UID != uint32(os.Geteuid()) {
		t.Errorf("UID %d", process.UID)
	}
	if process.MountNamespace == 0 || process.PIDNamespace == 0 {
		t.Errorf("namespaces %d, %d", process.MountNamespace, process.PIDNamespace)
	}
	if !process.IsROS2() || !process.Alive() || process.RMW != "" {
		t.Errorf("ROS 2 %v, alive %v, RMW %q", process.IsROS2(), process.Alive(), process.RMW)
	}

	module, found := process.FindModule("librcl.so")
	if !found {
		t.Fatal("librcl.so not found")
	}
	var stat unix.Stat_t
	if err := unix.Stat(librcl, &stat); err != nil {
		t.Fatal(err)
	}
	if module.Path != librcl || module.Device != stat.Dev || module.Inode != stat.Ino || module.Soname != "librcl.so" || module.Deleted {
		t.Errorf("module %+v", module)
	}
	file, err := elffile.Open(librcl)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if id, err := file.BuildID(); err != nil || id == "" || module.BuildID != id || module.File.BuildID != id {
		t.Errorf("build-id %q, expected %q", module.BuildID, id)
	}
	if len(module.Mappings) < 2 {
		t.Errorf("mappings %+v", module.Mappings)
	}
	if _, found := process.FindModule("librc.so"); found {
		t.Error("found a library by a part of its name")
	}
}

// The address computed from a symbol's file offset holds the function's bytes.
func TestModuleAddress(t *testing.T) {
	executable, _ := buildROSProgram(t)
	program := start(t, executable)
	process := openProcess(t, NewFinder(), program.pid)
	module, _ := process.FindModule("librcl.so")
	file, err := process.OpenModule(t.Context(), module)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbol, err := file.Lookup("rcl_init")
	if err != nil {
		t.Fatal(err)
	}
	offset, err := file.FileOffset(symbol.Address)
	if err != nil {
		t.Fatal(err)
	}
	address, found := module.Address(offset)
	if !found {
		t.Fatalf("file offset %#x is not mapped in %+v", offset, module.Mappings)
	}
	expected := make([]byte, symbol.Size)
	if _, err := file.ReadAt(symbol.Address, expected); err != nil {
		t.Fatal(err)
	}
	memory, err := process.Memory()
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	inMemory := make([]byte, symbol.Size)
	if _, err := memory.ReadAt(address, inMemory); errors.Is(err, ErrNotResident) {
		t.Skip("the page was not mapped in")
	} else if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(inMemory, expected) {
		t.Errorf("% x in memory, % x in the file", inMemory, expected)
	}
	if _, found := module.Address(1 << 40); found {
		t.Error("an offset outside the file has an address")
	}
}

func TestOpenRefuses(t *testing.T) {
	executable, _ := buildROSProgram(t)
	plain := start(t, buildProgram(t, t.TempDir()))
	threaded := start(t, executable)
	thread, err := strconv.ParseInt(threaded.do("thread"), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	zombie := exec.Command("true")
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, zombie.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	finder := NewFinder()
	for name, test := range map[string]struct {
		pid     int32
		err     error
		mention string
	}{
		"exited":       {int32(zombie.Process.Pid), ErrNoProcess, "PID"},
		"never used":   {1<<22 + 5, ErrNoProcess, "PID"},
		"no number":    {0, ErrInvalidPID, "PID"},
		"not ROS 2":    {plain.pid, ErrNotROS2, "librcl.so"},
		"a thread":     {int32(thread), ErrNoProcess, "thread of process " + strconv.Itoa(int(threaded.pid))},
		"kernel's own": {2, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if test.err == nil {
				if process, err := finder.Open(t.Context(), test.pid); err == nil {
					process.Close()
					t.Error("opened")
				}
				return
			}
			process, err := finder.Open(t.Context(), test.pid)
			if !errors.Is(err, test.err) {
				t.Fatalf("%+v, error %v, expected %v", process, err, test.err)
			}
			if !regexp.MustCompile(regexp.QuoteMeta(test.mention)).MatchString(err.Error()) {
				t.Errorf("the message %q does not mention %q", err, test.mention)
			}
		})
	}
	zombie.Wait()

	inspected, err := finder.Inspect(t.Context(), plain.pid)
	if err != nil || inspected.IsROS2() {
		t.Errorf("Inspect: %+v, %v", inspected, err)
	}
	inspected.Close()
}

func TestParsePIDs(t *testing.T) {
	for list, expected := range map[string][]int32{
		"1":               {1},
		"12\n34\n56\n":    {12, 34, 56},
		" 7,8, 9\t10 ":    {7, 8, 9, 10},
		"5 5,5\n6 5":      {5, 6},
		"":                nil,
		" , ":             nil,
		"12x":             nil,
		"-4":              nil,
		"0":               nil,
		"99999999999":     nil,
		"1 component":     nil,
		"1;2":             nil,
		"2147483647":      {2147483647},
		"\u0661":          nil,
		"1\r\n2":          {1, 2},
		"+3":              {3},
		"0x10":            nil,
		"1.5":             nil,
		"4294967297":      nil,
		"18446744073709 ": nil,
	} {
		pids, err := ParsePIDs(list)
		if !slices.Equal(pids, expected) || (err == nil) != (expected != nil) || err != nil && !errors.Is(err, ErrInvalidPID) {
			t.Errorf("%q: %v, %v", list, pids, err)
		}
	}
}

func TestSelections(t *testing.T) {
	executable, _ := buildROSProgram(t)
	first := start(t, executable, "--node", "talker_of_this_test")
	second := start(t, executable, "--node", "listener_of_this_test")
	plain := start(t, buildProgram(t, t.TempDir()), "talker_of_this_test")
	finder := NewFinder()
	pidsOf := func(processes []*Process) []int32 {
		var pids []int32
		for _, process := range processes {
			pids = append(pids, process.PID)
			process.Close()
		}
		return pids
	}

	list := strconv.Itoa(int(second.pid)) + "," + strconv.Itoa(int(plain.pid)) + "\n" + strconv.Itoa(int(second.pid))
	processes, refused, err := finder.ByPIDs(t.Context(), list)
	if pids := pidsOf(processes); !slices.Equal(pids, []int32{second.pid}) || err != nil || len(refused) != 1 || !errors.Is(refused[0], ErrNotROS2) {
		t.Errorf("ByPIDs: %v, %v, %v", pids, refused, err)
	}
	processes, refused, err = finder.ByPIDs(t.Context(), fmt.Sprint(plain.pid, " ", math.MaxInt32))
	if len(processes) > 0 || len(refused) != 2 || !errors.Is(err, ErrNotROS2) || !errors.Is(err, ErrNoProcess) {
		t.Errorf("ByPIDs where none can be recorded: %v, %v, %v", processes, refused, err)
	}
	if _, _, err := finder.ByPIDs(t.Context(), "all of them"); !errors.Is(err, ErrInvalidPID) {
		t.Errorf("ByPIDs of words: %v", err)
	}

	// Other users' processes may be denied; that is told by the error and does not hide those that were found.
	processes, _ = finder.ByName(t.Context(), regexp.MustCompile("--node talker_of_this_test"))
	if pids := pidsOf(processes); !slices.Equal(pids, []int32{first.pid}) {
		t.Errorf("ByName by argument: %v", pids)
	}
	processes, _ = finder.ByName(t.Context(), regexp.MustCompile("^ros_program$"))
	if pids := pidsOf(processes); !slices.Contains(pids, first.pid) || !slices.Contains(pids, second.pid) || slices.Contains(pids, plain.pid) {
		t.Errorf("ByName by command: %v", pids)
	}
	processes, _ = finder.All(t.Context())
	if pids := pidsOf(processes); !slices.Contains(pids, first.pid) || !slices.Contains(pids, second.pid) || slices.Contains(pids, plain.pid) {
		t.Errorf("All: %v", pids)
	}
}

func TestRefresh(t *testing.T) {
	executable, _ := buildROSProgram(t)
	rmw := buildLibrary(t, t.TempDir(), "librmw_cyclonedds_cpp.so", "int rmw_publish(void) { return 0; }")
	program := start(t, executable)
	process := openProcess(t, NewFinder(), program.pid)
	mustRefresh := func() Changes {
		t.Helper()
		changes, err := process.Refresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return changes
	}

	if changes := mustRefresh(); !changes.Empty() {
		t.Errorf("changes without a change: %+v", changes)
	}
	program.must("loaded", "load %s", rmw)
	changes := mustRefresh()
	if len(changes.Added) != 1 || changes.Added[0].Path != rmw || len(changes.Removed) != 0 {
		t.Errorf("after dlopen: %+v", changes)
	}
	if process.RMW != "rmw_cyclonedds_cpp" {
		t.Errorf("RMW %q", process.RMW)
	}
	if changes := mustRefresh(); !changes.Empty() {
		t.Errorf("the same change again: %+v", changes)
	}
	program.must("unloaded", "unload")
	changes = mustRefresh()
	if len(changes.Removed) != 1 || changes.Removed[0].Path != rmw || len(changes.Added) != 0 || process.RMW != "" {
		t.Errorf("after dlclose: %+v, RMW %q", changes, process.RMW)
	}
	if !process.Alive() {
		t.Error("not alive")
	}

	before := process.Identity
	program.must("ready", "exec %s", executable)
	if _, err := process.Refresh(t.Context()); !errors.Is(err, ErrReplaced) {
		t.Errorf("after exec: %v", err)
	}
	if again := openProcess(t, NewFinder(), program.pid); again.Identity != before {
		t.Errorf("identity after exec %+v, before %+v", again.Identity, before)
	}

	program.stop()
	if _, err := process.Refresh(t.Context()); !errors.Is(err, ErrNoProcess) {
		t.Errorf("after exit: %v", err)
	}
	if process.Alive() {
		t.Error("alive after exit")
	}
	if _, err := process.Mappings(); !errors.Is(err, ErrNoProcess) {
		t.Errorf("mappings after exit: %v", err)
	}
}

func TestDeletedAndReplacedLibrary(t *testing.T) {
	executable, librcl := buildROSProgram(t)
	program := start(t, executable)
	finder := NewFinder()
	before, _ := openProcess(t, finder, program.pid).FindModule("librcl.so")

	if err := os.Remove(librcl); err != nil {
		t.Fatal(err)
	}
	buildLibrary(t, filepath.Dir(librcl), "librcl.so", "int rcl_init(void) { return 1; }\nint added_by_an_upgrade(void) { return 0; }")

	process := openProcess(t, finder, program.pid)
	module, found := process.FindModule("librcl.so")
	if !found || !module.Deleted || module.Path != librcl {
		t.Fatalf("module %+v", module)
	}
	if os.Geteuid() != 0 {
		t.Skip("opening a deleted file needs CAP_CHECKPOINT_RESTORE")
	}
	if module.BuildID != before.BuildID || module.Inode != before.Inode || module.File != before.File {
		t.Errorf("the module is %+v, was %+v", module, before)
	}
	file, err := process.OpenModule(t.Context(), module)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Lookup("added_by_an_upgrade"); !errors.Is(err, elffile.ErrSymbolNotFound) {
		t.Errorf("the file that replaced the mapped one was opened: %v", err)
	}
	if _, err := file.Lookup("rcl_init"); err != nil {
		t.Error(err)
	}
}

func TestEnvironment(t *testing.T) {
	executable, _ := buildROSProgram(t)
	t.Setenv("ROS_DISTRO", "jazzy")
	t.Setenv("RMW_IMPLEMENTATION", "")
	program := start(t, executable)
	process := openProcess(t, NewFinder(), program.pid)
	for name, expected := range map[string]struct {
		value string
		found bool
	}{
		"ROS_DISTRO": {"jazzy", true}, "RMW_IMPLEMENTATION": {"", true}, "ROS": {"", false}, "NO_SUCH_VARIABLE": {"", false},
	} {
		if value, found, err := process.Environment(name); err != nil || value != expected.value || found != expected.found {
			t.Errorf("%s: %q, %v, %v", name, value, found, err)
		}
	}
}

func TestStatusOfThisProcess(t *testing.T) {
	process, err := NewFinder().Inspect(t.Context(), int32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer process.Close()
	status, err := process.Status()
	if err != nil || status.ThreadGroup != int32(os.Getpid()) || status.UID != uint32(os.Geteuid()) {
		t.Errorf("%+v, %v", status, err)
	}
}
