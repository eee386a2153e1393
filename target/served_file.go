package target

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/quota"
)

// maxMountTable is several times what machines with a thousand containers have.
const maxMountTable = 16 << 20

// mount is a line of /proc/PID/mountinfo.
type mount struct {
	id, device uint64
	fileSystem string
}

// isServed reports whether a program answers for the file system. virtiofs is answered by the host of this machine, and
// goes by its own name.
func (m mount) isServed() bool {
	return m.fileSystem == "fuse" || strings.HasPrefix(m.fileSystem, "fuse.")
}

// errServedFile: a program answers for the file's file system. Who waits for an answer that never comes cannot be
// killed.
var errServedFile = fmt.Errorf("%w: a program answers for its file system (FUSE)", ErrNotRead)

// errForeignMount: who mounted the file's file system may have a program answer for what is below it.
var errForeignMount = fmt.Errorf("%w: its file system was mounted in another user namespace, as those of rootless containers are, "+
	"or is mounted nowhere any more; run the container as root, or mount the libraries from the host", ErrNotRead)

// handleMount is where a file is that is open with O_PATH, as the kernel has noted it: its file system is not asked.
type handleMount struct {
	id       uint64 // of the mount, while the file is held
	device   uint64
	onDisk   bool // on a block device, which only who administers the machine mounts
	fileType uint32
}

func mountOf(handle int) (handleMount, error) {
	var stat unix.Statx_t
	err := unix.Statx(handle, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID|unix.STATX_TYPE, &stat)
	if err != nil {
		return handleMount{}, err
	}
	return handleMount{
		id: stat.Mnt_id, device: unix.Mkdev(stat.Dev_major, stat.Dev_minor), onDisk: stat.Dev_major != 0,
		fileType: uint32(stat.Mode) & unix.S_IFMT,
	}, nil
}

// refuseServed returns an error that wraps ErrNotRead if a program answers for the file system of a file, which is open
// with O_PATH, or may do so.
func (p *Process) refuseServed(ctx context.Context, handle int) error {
	m, err := mountOf(handle)
	if err != nil {
		return err
	}
	return p.refuseMount(ctx, m, p.mountsAreForeign())
}

// refuseMount is refuseServed for what is known of the file. It asks the kernel only: what it has noted of the file,
// and what is mounted where the process and this program are.
//
// Tables are long where much is mounted. They are read anew for each file: the kernel gives the number of a mount that
// is gone to another one, but not while the file is held. The user of the process pays.
//
// Users may mount FUSE and overlayfs in user namespaces of theirs. An overlay of theirs on FUSE hands requests on with
// their own rights, whoever asks, and does not say what it is made of.
func (p *Process) refuseMount(ctx context.Context, m handleMount, foreign bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.onDisk || m.device == memoryDevice() { // memfd_create: the kernel's own mount, which is in no table
		return nil
	}
	found := foundMount{id: m.id, device: m.device, foreign: foreign}
	for path, mounts := range map[string]*[]mount{"/proc/self/mountinfo": &found.own, p.finder.processPath(p.PID, "mountinfo"): &found.target} {
		text, err := readTable(path)
		if err != nil {
			continue // the process is gone, or the other table tells
		}
		if err := quota.From(ctx).Take(quota.Work, int64(len(text))); err != nil {
			return err
		}
		*mounts = parseMounts(text)
	}
	return found.refuse()
}

// foundMount is what is known of the mount that a file was found in.
type foundMount struct {
	id, device uint64
	// own and target are the tables of mounts of this program and of the process.
	own, target []mount
	// foreign says that somebody may have made the mounts of target who administers only a user namespace of his own.
	foreign bool
}

func (f foundMount) refuse() error {
	var at *mount
	for _, table := range [][]mount{f.target, f.own} {
		for i, m := range table {
			if m.isServed() && (m.device == f.device || m.id == f.id) {
				return errServedFile
			}
			if m.id == f.id {
				at = &table[i]
			}
		}
	}
	switch {
	case at == nil:
		return errForeignMount
	case at.fileSystem != "overlay" || !f.foreign:
		return nil
	case slices.ContainsFunc(f.own, func(m mount) bool { return m.device == at.device }):
		return nil // who administers the machine has mounted it, and a container got it
	}
	return errForeignMount
}

// mountsAreForeign reports whether the process's mount namespace belongs to another user namespace than this program's,
// true where that cannot be told.
func (p *Process) mountsAreForeign() bool {
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return true
	}
	mounts, err := unix.Open(p.finder.processPath(p.PID, "ns/mnt"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer unix.Close(mounts)
	owner, err := unix.IoctlRetInt(mounts, unix.NS_GET_USERNS)
	if err != nil {
		return true
	}
	defer unix.Close(owner)
	link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", owner))
	return err != nil || link != own
}

// memoryDevice is that of files that have no path (memfd_create).
var memoryDevice = sync.OnceValue(func() uint64 {
	fd, err := unix.MemfdCreate("", unix.MFD_CLOEXEC)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return 0
	}
	return stat.Dev
})

func readTable(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readAll(file, maxMountTable)
}

// parseMounts reads "id parent major:minor root mount-point options … - type …" (proc_pid_mountinfo(5)), and leaves out
// what is not so.
func parseMounts(text []byte) []mount {
	var mounts []mount
	for line := range bytes.Lines(text) {
		before, after, found := strings.Cut(string(line), " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 3 || len(kind) == 0 {
			continue
		}
		major, minor, _ := strings.Cut(fields[2], ":")
		id, err := strconv.ParseUint(fields[0], 10, 64)
		majorNumber, majorErr := strconv.ParseUint(major, 10, 32)
		minorNumber, minorErr := strconv.ParseUint(minor, 10, 32)
		if err == nil && majorErr == nil && minorErr == nil {
			mounts = append(mounts, mount{id, unix.Mkdev(uint32(majorNumber), uint32(minorNumber)), kind[0]})
		}
	}
	return mounts
}

// openMapped opens a link in map_files, with O_PATH.
func (f *Finder) openMapped(ctx context.Context, pid int32, path string) (fd int, err error) {
	open := func() (int, error) { return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0) }
	return patiently(ctx, f, pid, open, func(late int) { unix.Close(late) })
}

// OpenMapping opens the file behind a mapping for reading, as long as there is exactly this mapping: a regular file,
// for which no program answers.
func (p *Process) OpenMapping(mapping Mapping) (*os.File, error) {
	handle, err := p.findMapping(mapping)
	if err != nil {
		return nil, err
	}
	defer handle.Close()
	if err := p.refuseServed(p.PaidBy(context.Background()), int(handle.Fd())); err != nil {
		return nil, fmt.Errorf("%s: %w", mapping.Path, err)
	}
	return openFound(handle, unix.S_IFREG)
}

// findMapping opens the file behind a mapping with O_PATH.
func (p *Process) findMapping(mapping Mapping) (*os.File, error) {
	path := p.finder.processPath(p.PID, fmt.Sprintf("map_files/%x-%x", mapping.Start, mapping.End))
	fd, err := p.finder.openMapped(context.Background(), p.PID, path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), mapping.Path), nil
}
