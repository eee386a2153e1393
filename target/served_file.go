package target

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const maxMountTable = 64 << 20

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

// refuseServed returns errServedFile if a program answers for the file system of a file, which is open with O_PATH. It
// asks the kernel only: what it has noted of the file, and what is mounted where the process and this program are.
func (p *Process) refuseServed(handle int) error {
	var stat unix.Statx_t
	if err := unix.Statx(handle, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &stat); err != nil {
		return err
	}
	if stat.Dev_major != 0 {
		return nil // on a block device, which only who administers the machine mounts
	}
	device := unix.Mkdev(stat.Dev_major, stat.Dev_minor)
	for _, table := range []string{p.finder.processPath(p.PID, "mountinfo"), "/proc/self/mountinfo"} {
		text, err := readTable(table)
		if err != nil {
			continue // the process is gone, or the other table tells
		}
		mounts := parseMounts(text)
		if slices.ContainsFunc(mounts, func(m mount) bool { return m.isServed() && (m.device == device || m.id == stat.Mnt_id) }) {
			return errServedFile
		}
		if slices.ContainsFunc(mounts, func(m mount) bool { return m.id == stat.Mnt_id }) {
			return nil
		}
	}
	return nil
}

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

// OpenMapping opens the file behind a mapping for reading, as long as there is exactly this mapping: a regular file,
// for which no program answers.
func (p *Process) OpenMapping(mapping Mapping) (*os.File, error) {
	path := p.finder.processPath(p.PID, fmt.Sprintf("map_files/%x-%x", mapping.Start, mapping.End))
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	handle := os.NewFile(uintptr(fd), mapping.Path)
	defer handle.Close()
	if err := p.refuseServed(fd); err != nil {
		return nil, fmt.Errorf("%s: %w", mapping.Path, err)
	}
	return openFound(handle, unix.S_IFREG)
}
