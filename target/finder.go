package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/caret-bpf/caret-bpf/memoryhelper"
	"github.com/caret-bpf/caret-bpf/quota"
)

const (
	// maxMapsSize is what the largest number of mappings (vm.max_map_count) takes with paths of 200 bytes. A process can
	// have paths that are twenty times as long: the kernel takes seconds to write them, and everybody waits.
	maxMapsSize        = 16 << 20
	maxStatusSize      = 64 << 10
	maxCommandLineSize = 4 << 20 // and of the environment
	// What is kept of a command line. A program can have any memory of its own shown as its command line
	// (PR_SET_MM_MAP).
	maxKeptCommandLine = 16 << 10
	maxArguments       = 1024
)

// Finder finds processes. It remembers what it learned of files, so one Finder should serve all processes.
// It may be used by several goroutines at once.
type Finder struct {
	root   string
	opened *openFiles
	quota  *quota.Quota
	// trusted are users whose processes' memory is read here (see IsTrusted), that of all others by the helper.
	trusted []uint32
	helpers [helperCount]memoryhelper.Helper
	unshown unshown

	mutex    sync.Mutex
	files    map[fileVersion]fileFacts
	distinct distinctFiles
}

// helperCount is how many helpers read memory. Those whose pages come late keep only few others waiting.
const helperCount = 16

// helperOf is who reads the memory of a user's processes.
func (f *Finder) helperOf(user uint32) *memoryhelper.Helper { return &f.helpers[user%helperCount] }

// NewFinder looks for processes in /proc.
func NewFinder() *Finder { return NewFinderAt("/proc") }

// NewFinderAt looks for processes in another directory of the form of /proc.
func NewFinderAt(root string) *Finder {
	return &Finder{
		root: root, trusted: []uint32{0, uint32(os.Geteuid())}, opened: &openFiles{open: map[fileVersion]*OpenFile{}},
		quota: quota.New(quotaTotals()),
		files: map[fileVersion]fileFacts{}, distinct: distinctFiles{map[string]*alikeFiles{}, maxRememberedFiles},
	}
}

// Trust says that, beside root's and the recorder's own, the processes of users do not harm who reads their memory. It
// is to be called before a memory is opened.
func (f *Finder) Trust(users ...uint32) { f.trusted = append(f.trusted, users...) }

func (f *Finder) trusts(user uint32) bool { return slices.Contains(f.trusted, user) }

// Open looks at the process with that ID. Errors: ErrNoProcess, ErrNotROS2, ErrPermission, ErrForeignNamespace, and
// that of ctx when it ends. The Process must be closed.
func (f *Finder) Open(ctx context.Context, pid int32) (*Process, error) {
	process, err := f.Inspect(ctx, pid)
	if err != nil {
		return nil, err
	}
	if !process.IsROS2() {
		defer process.Close()
		return nil, fmt.Errorf("PID %d (%s): %w: it maps neither librcl.so nor libtracetools.so (Python nodes load them "+
			"when rclpy initializes; statically linked programs cannot be recorded)", pid, process.Command, ErrNotROS2)
	}
	return process, nil
}

// Inspect is Open for any process, ROS 2 or not (yet).
func (f *Finder) Inspect(ctx context.Context, pid int32) (*Process, error) {
	process, err := f.newProcess(ctx, pid)
	if err != nil {
		return nil, processError(pid, err)
	}
	return process, nil
}

// ByPIDs opens the processes of a list of IDs as ParsePIDs reads it. The processes that could be opened are
// returned together with the errors of those that could not; if there are none, all these errors are the last result.
// When ctx ends its error comes alone.
func (f *Finder) ByPIDs(ctx context.Context, list string) (processes []*Process, refused []error, err error) {
	pids, err := ParsePIDs(list)
	if err != nil {
		return nil, nil, err
	}
	for _, pid := range pids {
		process, err := f.Open(ctx, pid)
		if ctx.Err() != nil {
			closeAll(append(processes, process))
			return nil, nil, ctx.Err()
		}
		if err != nil {
			refused = append(refused, err)
			continue
		}
		processes = append(processes, process)
	}
	if len(processes) == 0 {
		return nil, refused, errors.Join(refused...)
	}
	return processes, refused, nil
}

func closeAll(processes []*Process) {
	for _, process := range processes {
		if process != nil {
			_ = process.Close()
		}
	}
}

// ByName opens the ROS 2 processes whose command or command line (arguments joined by spaces) the pattern matches.
// None is no error. See All for the error.
func (f *Finder) ByName(ctx context.Context, pattern *regexp.Regexp) ([]*Process, error) {
	return f.all(ctx, func(pid int32) (bool, error) {
		if stat, err := f.stat(pid); err == nil && pattern.MatchString(stat.command) {
			return true, nil
		}
		commandLine, err := f.readCommandLine(ctx, pid)
		return err == nil && pattern.MatchString(strings.Join(commandLine, " ")), err
	})
}

// All opens every ROS 2 process. Processes that may not be looked into are left out; they make the error, which comes
// together with the processes that were found. When ctx ends its error comes alone.
func (f *Finder) All(ctx context.Context) ([]*Process, error) {
	return f.all(ctx, func(int32) (bool, error) { return true, nil })
}

func (f *Finder) all(ctx context.Context, wanted func(pid int32) (bool, error)) ([]*Process, error) {
	pids, err := f.pids()
	if err != nil {
		return nil, err
	}
	var found search
	defer func() {
		if err != nil {
			closeAll(found.processes)
		}
	}()
	for pid, inTime := range f.inTurns(pids) {
		if !inTime {
			found.leaveOut(fmt.Errorf("PID %d was not looked at, because those of its user take long: %w", pid, quota.ErrUsedUp))
			continue
		}
		var process *Process
		isWanted, problem := wanted(pid)
		if isWanted {
			process, problem = f.openIfROS2(ctx, pid)
		}
		if process != nil {
			found.processes = append(found.processes, process)
		}
		if err = ctx.Err(); err != nil {
			return nil, err
		}
		found.note(f, pid, problem)
	}
	return found.processes, found.told()
}

// runsProgram tells what may be a ROS 2 process from parts of the kernel, which nobody can look into, as far as
// everybody may know.
func (f *Finder) runsProgram(pid int32) bool {
	stat, err := f.stat(pid)
	if err != nil {
		return !isGone(err)
	}
	return stat.runsProgram()
}

// StartTime returns when a process began, in nanoseconds since boot (field 22 of proc_pid_stat(5), so a multiple of 10
// ms).
func (f *Finder) StartTime(pid int32) (int64, error) {
	stat, err := f.stat(pid)
	return stat.startTime, err
}

// GroupRuns reports whether any process of a process group still runs; true where that cannot be told. Zombies do not
// run.
func (f *Finder) GroupRuns(group int32) bool {
	pids, err := f.pids()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(pids, func(pid int32) bool {
		stat, err := f.stat(pid) // it may be gone meanwhile
		return err == nil && stat.group == group && !stat.exited()
	})
}

// openIfROS2 is Open, but cheap for the many processes that are nothing of ROS 2: those are nil.
func (f *Finder) openIfROS2(ctx context.Context, pid int32) (*Process, error) {
	if maps, err := f.mapsROS2(ctx, pid); err != nil || !maps {
		return nil, err
	}
	return f.Open(ctx, pid)
}

// mapsROS2 reports whether a process maps libraries of ROS 2.
func (f *Finder) mapsROS2(ctx context.Context, pid int32) (bool, error) {
	text, err := f.readMapFile(ctx, pid, "maps", maxMapsSize)
	if err != nil {
		return false, processError(pid, err)
	}
	mentioned := func(library string) bool { return bytes.Contains(text, []byte("/"+library)) }
	if !slices.ContainsFunc(ros2Libraries, mentioned) {
		return false, nil
	}
	mappings, err := parseMaps(text)
	return slices.ContainsFunc(mappings, isROS2Mapping), err
}

// CountROS2 counts the processes that map libraries of ROS 2, as far as they may be looked into and those of their user
// do not take long.
func (f *Finder) CountROS2(ctx context.Context) int {
	count := 0
	pids, _ := f.pids() // none where they cannot be read
	for pid, inTime := range f.inTurns(pids) {
		if ctx.Err() != nil {
			break
		}
		if !inTime {
			continue
		}
		if maps, err := f.mapsROS2(ctx, pid); err == nil && maps {
			count++
		}
	}
	return count
}

func isROS2Mapping(mapping Mapping) bool {
	name := filepath.Base(strings.TrimSuffix(mapping.Path, deletedSuffix))
	return mapping.fileBacked() && slices.ContainsFunc(ros2Libraries, func(library string) bool {
		return isVersionOf(name, library)
	})
}

func (f *Finder) pids() ([]int32, error) {
	directory, err := os.Open(f.root)
	if err != nil {
		return nil, err
	}
	defer directory.Close()
	names, err := directory.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var pids []int32
	for _, name := range names {
		if pid, err := strconv.ParseInt(name, 10, 32); err == nil && pid > 0 {
			pids = append(pids, int32(pid))
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// ParsePIDs reads process IDs separated by commas or white space, as pgrep prints them, and drops repetitions.
// ErrInvalidPID if anything else is in the list, or nothing.
func ParsePIDs(list string) ([]int32, error) {
	fields := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r' })
	if len(fields) == 0 {
		return nil, fmt.Errorf("%w: the list is empty", ErrInvalidPID)
	}
	var pids []int32
	for _, field := range fields {
		pid, err := parsePID(field)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func (f *Finder) processPath(pid int32, name string) string {
	return filepath.Join(f.root, strconv.Itoa(int(pid)), name)
}

// readMapFile is readProcessFile for files that the kernel may need the process's memory map for: to open them, or to
// read them.
func (f *Finder) readMapFile(ctx context.Context, pid int32, name string, limit int64) ([]byte, error) {
	read := func() ([]byte, error) { return f.readProcessFile(pid, name, limit) }
	return patiently(ctx, f, pid, read, func([]byte) {})
}

// readProcessFile reads what the kernel shows of a process without waiting for it.
func (f *Finder) readProcessFile(pid int32, name string, limit int64) ([]byte, error) {
	return f.readFile(filepath.Join(strconv.Itoa(int(pid)), name), limit)
}

// readFile reads a file of the proc file system, of which it believes no size.
func (f *Finder) readFile(name string, limit int64) ([]byte, error) {
	file, err := os.Open(filepath.Join(f.root, name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%w: %s: longer than %d bytes", ErrTooLong, file.Name(), limit)
	}
	return data, err
}

func (f *Finder) readMaps(ctx context.Context, pid int32) ([]Mapping, error) {
	text, err := f.readMapFile(ctx, pid, "maps", maxMapsSize)
	if err != nil {
		return nil, err
	}
	return parseMaps(text)
}

// CommandLine returns the arguments of a process. Errors: ErrNotShown, ErrNoProcess, and that of ctx when it ends.
func (f *Finder) CommandLine(ctx context.Context, pid int32) ([]string, error) {
	arguments, err := f.readCommandLine(ctx, pid)
	return arguments, processError(pid, err)
}

func (f *Finder) readCommandLine(ctx context.Context, pid int32) ([]string, error) {
	// What is longer is cut, so it is not too long.
	read := func() ([]byte, error) {
		file, err := os.Open(f.processPath(pid, "cmdline"))
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return io.ReadAll(io.LimitReader(file, maxKeptCommandLine+1))
	}
	text, err := patiently(ctx, f, pid, read, func([]byte) {})
	if err != nil || len(text) == 0 {
		return nil, err
	}
	cut := len(text) > maxKeptCommandLine
	arguments := strings.SplitN(strings.TrimSuffix(string(text[:min(len(text), maxKeptCommandLine)]), "\x00"), "\x00", maxArguments+1)
	if cut || len(arguments) > maxArguments {
		arguments = append(arguments[:min(len(arguments), maxArguments)], "…")
	}
	return arguments, nil
}
