package loader

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mapping is one line of /proc/PID/maps.
type mapping struct {
	start, end uint64
	offset     uint64 // in the file
	inode      uint64 // 0: not of a file
	executable bool

	// file is the mapped file, once the kernel was asked; zero if that is unknown: the kernel may have refused to tell.
	file    fileName
	asked   bool
	refused error
}

// fileName names a file as stat does.
type fileName struct {
	major, minor uint32
	inode        uint64
}

// fileAt returns what a path leads to. The kernel is asked, and no program that answers for a file system (FUSE): it
// might never answer.
func fileAt(path string) (fileName, error) {
	var stat unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &stat); err != nil {
		return fileName{}, err
	}
	return fileName{stat.Dev_major, stat.Dev_minor, stat.Ino}, nil
}

// maxMappingLine is longer than any line: a path has up to 4,095 bytes, of which each may be shown as four.
const maxMappingLine = 32 << 10

// parseMapping reads a line of /proc/PID/maps (proc_pid_maps(5)).
func parseMapping(line string) (mapping, bool) {
	fields := strings.Fields(line)
	if len(fields) < 5 {
		return mapping{}, false
	}
	var m mapping
	start, end, ok := strings.Cut(fields[0], "-")
	if !ok {
		return mapping{}, false
	}
	var errs [4]error
	m.start, errs[0] = strconv.ParseUint(start, 16, 64)
	m.end, errs[1] = strconv.ParseUint(end, 16, 64)
	m.offset, errs[2] = strconv.ParseUint(fields[2], 16, 64)
	m.inode, errs[3] = strconv.ParseUint(fields[4], 10, 64)
	for _, err := range errs {
		if err != nil {
			return mapping{}, false
		}
	}
	m.executable = strings.Contains(fields[1], "x")
	return m, m.start < m.end
}

// executableMappings returns the process's mappings of file text.
func executableMappings(process int32) ([]mapping, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/maps", process))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var mappings []mapping
	lines := bufio.NewScanner(file) // a process with long paths has hundreds of megabytes of them
	lines.Buffer(nil, maxMappingLine)
	for lines.Scan() {
		if m, ok := parseMapping(lines.Text()); ok && m.executable && m.inode != 0 {
			mappings = append(mappings, m)
		}
	}
	return mappings, lines.Err()
}

// addressOf returns where the process has mapped the byte at an offset of a file. Mapping and file are compared by what
// stat says of both: on overlay and btrfs /proc/PID/maps shows other device numbers.
func addressOf(process int32, mappings []mapping, file *probedFile, offset uint64) (uint64, bool) {
	for i := range mappings {
		m := &mappings[i]
		if offset < m.offset || offset-m.offset >= m.end-m.start {
			continue
		}
		if !m.asked {
			var err error
			m.asked = true
			m.file, err = fileAt(fmt.Sprintf("/proc/%d/map_files/%x-%x", process, m.start, m.end))
			if isPermission(err) {
				m.refused = err
			}
		}
		if m.file != (fileName{}) && m.file == file.name {
			return m.start + (offset - m.offset), true
		}
	}
	return 0, false
}
