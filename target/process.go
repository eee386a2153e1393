package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/quota"
)

const maxAuxiliaryVector = 64 << 10

// ros2Libraries are the libraries by which a process is known to be one of ROS 2.
var ros2Libraries = []string{"librcl.so", "libtracetools.so"}

// Process is a process as it was when it was opened or last refreshed. It is not safe for concurrent use.
type Process struct {
	Identity
	// NamespacePID is the process's PID inside its own PID namespace, which is what its log messages show.
	NamespacePID int32
	// ParentPID is the parent's PID in this program's namespace; 0 when the parent is outside it.
	ParentPID int32
	// Command is the name of the main thread, at most 15 bytes.
	Command string
	// Executable is the program's path in the process's mount namespace.
	Executable string
	// CommandLine are the program's arguments, the program's name first.
	CommandLine []string
	// UID is the effective user ID.
	UID uint32
	// Modules are the ELF files that the process has mapped executable, in order of address.
	Modules []Module
	// Distro is the ROS 2 distribution, by the libraries; distros.Unknown where they do not tell.
	Distro distros.Distro
	// DistroEvidence says for people why Distro is what it is.
	DistroEvidence string
	// RMW is the RMW implementation ("rmw_fastrtps_cpp"), or "" while none is mapped.
	RMW string
	// MountNamespace and PIDNamespace are the namespaces' inode numbers.
	MountNamespace, PIDNamespace uint64

	finder          *Finder
	account         *quota.Account
	pidfd           int
	auxiliaryVector []byte
	// held are the files that are kept open; expected are those of the last call of Expected.
	held     map[*OpenFile]bool
	expected []ExpectedLibrary
	// known are the files that were named to Expect, changed those of them that Expected has found to be others.
	known, changed []KnownFile
	// headers are the answers of HeaderOffset that cannot change.
	headers map[string]messageHeader
}

// Changes is what Refresh found.
type Changes struct {
	// Added are modules mapped since the last time.
	Added []Module
	// Removed are modules no longer mapped.
	Removed []Module
}

// Empty reports whether nothing has changed.
func (c Changes) Empty() bool { return len(c.Added) == 0 && len(c.Removed) == 0 }

func (f *Finder) newProcess(ctx context.Context, pid int32) (*Process, error) {
	if pid <= 0 {
		return nil, fmt.Errorf("%w: %d", ErrInvalidPID, pid)
	}
	p := &Process{finder: f, pidfd: -1}
	if f.root == "/proc" {
		// The descriptor is taken first: what is read afterwards is of this process as long as it is alive.
		pidfd, err := unix.PidfdOpen(int(pid), 0)
		switch {
		case err == nil:
			p.pidfd = pidfd
		case errors.Is(err, unix.ESRCH):
			return nil, ErrNoProcess
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT): // a thread that is no process
			return nil, f.explainThread(pid)
		}
	}
	if err := p.open(ctx, pid); err != nil {
		// The files of a process that is exiting give all kinds of errors.
		if p.pidfd >= 0 && !p.pidfdAlive() && ctx.Err() == nil {
			err = ErrNoProcess
		}
		p.Close()
		return nil, err
	}
	return p, nil
}

// open reads a process, if there is room for it.
func (p *Process) open(ctx context.Context, pid int32) error {
	payer, err := p.finder.payer(pid)
	if err != nil {
		return err
	}
	account := p.finder.quota.Of(payer)
	if err := account.Take(quota.Processes, 1); err != nil {
		return err
	}
	p.account = account
	return p.load(ctx, pid)
}

// Identify tells a process from all others, and the name of its main thread, without looking into it.
func (f *Finder) Identify(pid int32) (Identity, string, error) {
	identity := Identity{PID: pid}
	stat, err := f.running(pid)
	if err != nil {
		return identity, "", processError(pid, err)
	}
	identity.StartTime = stat.startTime
	if identity.BootID, err = f.readBootID(); err != nil {
		return identity, "", processError(pid, fmt.Errorf("boot ID: %w", err))
	}
	return identity, stat.command, nil
}

func (f *Finder) explainThread(pid int32) error {
	text, err := f.readProcessFile(pid, "status", maxStatusSize)
	if err != nil {
		return ErrNoProcess
	}
	status, err := parseStatus(text)
	if err != nil || status.ThreadGroup == pid {
		return ErrNoProcess
	}
	return fmt.Errorf("%w: it is a thread of process %d", ErrNoProcess, status.ThreadGroup)
}

// loadAttempts is how often a process is read that executes one program after the other meanwhile. Refresh notices what
// comes later.
const loadAttempts = 3

// load reads a process. What is read before an exec and after it would be a mixture of two programs.
func (p *Process) load(ctx context.Context, pid int32) error {
	for range loadAttempts {
		if err := p.read(ctx, pid); err != nil {
			return err
		}
		if err := p.checkReplaced(ctx); !errors.Is(err, ErrReplaced) {
			return err
		}
	}
	return nil
}

func (p *Process) read(ctx context.Context, pid int32) error {
	ctx = p.PaidBy(ctx)
	f := p.finder
	p.PID = pid
	var err error
	if p.BootID, err = f.readBootID(); err != nil {
		return fmt.Errorf("boot ID: %w", err)
	}
	stat, err := p.stat()
	if err != nil {
		return p.explainMissing(err)
	}
	p.Command, p.ParentPID, p.StartTime = stat.command, stat.parent, stat.startTime
	status, err := p.Status()
	if err != nil {
		return err
	}
	if status.ThreadGroup != pid {
		return f.explainThread(pid)
	}
	p.NamespacePID, p.UID = status.NamespacePID, status.UID
	if p.CommandLine, err = f.readCommandLine(ctx, pid); err != nil {
		return err
	}
	if p.auxiliaryVector, err = p.finder.readMapFile(ctx, pid, "auxv", maxAuxiliaryVector); err != nil {
		return err
	}
	if p.Executable, err = os.Readlink(f.processPath(pid, "exe")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for name, namespace := range map[string]*uint64{"mnt": &p.MountNamespace, "pid": &p.PIDNamespace} {
		link, err := os.Readlink(f.processPath(pid, "ns/"+name))
		if err != nil {
			return err
		}
		if *namespace, err = parseNamespaceLink(link); err != nil {
			return err
		}
	}
	if p.Modules, err = p.readModules(ctx, nil); err != nil {
		return err
	}
	p.classify(ctx)
	// Once more: an exec between the first time and the auxiliary vector is not seen by that.
	if stat, err = p.stat(); err != nil || !p.Alive() {
		return ErrNoProcess
	}
	p.Command = stat.command
	return nil
}

// explainMissing tells a process that is gone from one that the proc file system hides (mount option hidepid).
func (p *Process) explainMissing(err error) error {
	if !isGone(err) || p.pidfd < 0 || !p.pidfdAlive() {
		return err
	}
	return fmt.Errorf("%w: /proc hides the processes of other users (hidepid); run with sudo", ErrPermission)
}

// classify sets what follows from the modules.
func (p *Process) classify(ctx context.Context) {
	p.Distro, p.DistroEvidence = p.detectDistro(ctx, p.mappedLibrary)
	p.RMW = rmwImplementation(p.Modules)
}

// Close frees what Alive needs, and lets go of the process's files. The Process's fields stay valid.
func (p *Process) Close() error {
	for opened := range p.held {
		opened.Release()
	}
	p.held = nil
	p.account.Give(quota.Processes, 1)
	p.account = nil
	if p.pidfd < 0 {
		return nil
	}
	err := unix.Close(p.pidfd)
	p.pidfd = -1
	return err
}

// IsROS2 reports whether the process maps librcl or libtracetools.
func (p *Process) IsROS2() bool {
	return slices.ContainsFunc(ros2Libraries, func(name string) bool {
		_, found := p.FindModule(name)
		return found
	})
}

// WillRunROS2 reports whether the process runs a program that needs libraries of ROS 2, mapped or not.
func (p *Process) WillRunROS2() bool {
	return slices.ContainsFunc(p.Modules, func(m Module) bool { return m.NeedsROS2 })
}

// isOfROS2 reports whether a library is one of those by which programs are linked with ROS 2, or one of its own.
func isOfROS2(soname string) bool {
	return strings.HasPrefix(soname, "librcl") || slices.ContainsFunc(ros2Libraries, func(library string) bool { return isVersionOf(soname, library) })
}

// FindModule is the module whose soname or file name is that library, versions aside: "librcl.so" finds librcl.so
// and librcl.so.9.2, but not librcl_action.so.
func (p *Process) FindModule(library string) (Module, bool) {
	index := slices.IndexFunc(p.Modules, func(m Module) bool { return m.isLibrary(library) })
	if index < 0 {
		return Module{}, false
	}
	return p.Modules[index], true
}

// Alive reports whether the process still exists (with any of its threads). It is exact: another process with the
// same PID is not taken for it.
func (p *Process) Alive() bool {
	if p.pidfd >= 0 {
		return p.pidfdAlive()
	}
	stat, err := p.stat()
	return err == nil && stat.startTime == p.StartTime
}

func (p *Process) pidfdAlive() bool {
	poll := []unix.PollFd{{Fd: int32(p.pidfd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && n == 0
	}
}

// Refresh reads the process anew and returns how its modules differ from the last time. Calling it again without a
// change in the process changes nothing. ErrNoProcess when the process has exited, ErrReplaced when it has
// executed another program (its Identity is the same; it must be opened again), and the error of ctx when it ends.
func (p *Process) Refresh(ctx context.Context) (Changes, error) {
	changes, err := p.refresh(ctx)
	if err != nil {
		return Changes{}, processError(p.PID, err)
	}
	return changes, nil
}

func (p *Process) refresh(ctx context.Context) (Changes, error) {
	ctx = p.PaidBy(ctx)
	if !p.Alive() {
		return Changes{}, ErrNoProcess
	}
	if err := p.checkReplaced(ctx); err != nil {
		return Changes{}, err
	}
	modules, err := p.readModules(ctx, p.Modules)
	if err != nil {
		return Changes{}, err
	}
	// An exec or exit in between would make all modules look removed.
	if err := p.checkReplaced(ctx); err != nil {
		return Changes{}, err
	}
	changes := Changes{Added: missingFrom(p.Modules, modules), Removed: missingFrom(modules, p.Modules)}
	p.Modules = modules
	p.releaseUnneeded()
	if !changes.Empty() {
		p.classify(ctx)
	}
	return changes, nil
}

// checkReplaced compares the auxiliary vector, in which the kernel puts addresses that it draws at every exec.
func (p *Process) checkReplaced(ctx context.Context) error {
	vector, err := p.finder.readMapFile(ctx, p.PID, "auxv", maxAuxiliaryVector)
	if err != nil {
		return err
	}
	if !bytes.Equal(vector, p.auxiliaryVector) {
		if !p.Alive() || len(vector) == 0 {
			return ErrNoProcess
		}
		return ErrReplaced
	}
	return nil
}

// missingFrom are the modules that old does not have: other files, the same file mapped elsewhere, or one that could
// not be opened.
func missingFrom(old, modules []Module) []Module {
	var missing []Module
	places := byPlace(old)
	for _, module := range modules {
		if index, found := places[module.place()]; !found || (old[index].opened == nil) != (module.opened == nil) {
			missing = append(missing, module)
		}
	}
	return missing
}

// Mappings are all memory mappings of the process as they are now, in order of address.
func (p *Process) Mappings() ([]Mapping, error) {
	mappings, err := p.finder.readMaps(context.Background(), p.PID)
	if err == nil && !p.Alive() {
		err = ErrNoProcess
	}
	return mappings, processError(p.PID, err)
}

// Status reads what the kernel says of the process now.
func (p *Process) Status() (Status, error) {
	text, err := p.readFile("status", maxStatusSize)
	if err != nil {
		return Status{}, processError(p.PID, err)
	}
	return parseStatus(text)
}

// Environment is a variable of the environment that the process was started with. What the process has changed
// since does not show.
func (p *Process) Environment(name string) (value string, found bool, err error) {
	text, err := p.finder.readMapFile(context.Background(), p.PID, "environ", maxCommandLineSize)
	if err != nil {
		return "", false, processError(p.PID, err)
	}
	for variable := range strings.SplitSeq(string(text), "\x00") {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value, true, nil
		}
	}
	return "", false, nil
}

func (p *Process) stat() (processStat, error) { return p.finder.running(p.PID) }

// running is stat for a process that has not exited.
func (f *Finder) running(pid int32) (processStat, error) {
	stat, err := f.stat(pid)
	if err == nil && stat.exited() {
		err = ErrNoProcess
	}
	return stat, err
}

// stat reads /proc/PID/stat.
func (f *Finder) stat(pid int32) (processStat, error) {
	text, err := f.readProcessFile(pid, "stat", maxStatusSize)
	if err != nil {
		return processStat{}, err
	}
	return parseStat(text)
}

func (p *Process) readFile(name string, limit int64) ([]byte, error) {
	return p.finder.readProcessFile(p.PID, name, limit)
}
