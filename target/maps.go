package target

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const deletedSuffix = " (deleted)"

// Mapping is one line of /proc/PID/maps.
type Mapping struct {
	// Start and End are the half-open address range.
	Start, End uint64
	// Offset is the file offset of Start.
	Offset uint64
	// Perm is as in "r-xp".
	Perm string
	// Path is the file's path in the process's mount namespace, a pseudo name like "[heap]", or "" for anonymous memory.
	Path string
	// Device and Inode are what the kernel prints here; on some file systems stat tells another device.
	Device, Inode uint64
}

// Readable reports whether the process may read the memory.
func (m Mapping) Readable() bool { return m.Perm[0] == 'r' }

// Writable reports whether the process may write the memory.
func (m Mapping) Writable() bool { return m.Perm[1] == 'w' }

// Executable reports whether the process may execute the memory.
func (m Mapping) Executable() bool { return m.Perm[2] == 'x' }

// Anonymous reports whether no file is behind the memory: heap, stacks, and mappings without a name.
func (m Mapping) Anonymous() bool { return m.Inode == 0 && !strings.HasPrefix(m.Path, "/") }

// fileBacked reports whether a file of a file system is behind the memory.
func (m Mapping) fileBacked() bool { return m.Inode != 0 && strings.HasPrefix(m.Path, "/") }

// parseMaps reads the text of /proc/PID/maps. Lines that are not as proc(5) describes are an error.
func parseMaps(text []byte) ([]Mapping, error) {
	mappings := make([]Mapping, 0, bytes.Count(text, []byte{'\n'})+1)
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if len(line) == 0 {
			continue
		}
		mapping, err := parseMapping(string(line))
		if err != nil {
			return nil, fmt.Errorf("maps line %.200q: %w", line, err)
		}
		mappings = append(mappings, mapping)
	}
	return mappings, nil
}

// parseMapping reads "start-end perm offset major:minor inode   path".
func parseMapping(line string) (Mapping, error) {
	var mapping Mapping
	var fields [5]string
	rest := line
	for i := range fields {
		var found bool
		fields[i], rest, found = strings.Cut(rest, " ")
		if !found && i < len(fields)-1 {
			return mapping, fmt.Errorf("%d fields", i+1)
		}
	}
	mapping.Perm = fields[1]
	if len(mapping.Perm) != 4 {
		return mapping, fmt.Errorf("permissions %q", mapping.Perm)
	}
	start, end, _ := strings.Cut(fields[0], "-")
	major, minor, _ := strings.Cut(fields[3], ":")
	var numbers [5]uint64
	for i, text := range []string{start, end, fields[2], major, minor} {
		bits := 64
		if i > 2 {
			bits = 32
		}
		number, err := strconv.ParseUint(text, 16, bits)
		if err != nil {
			return mapping, err
		}
		numbers[i] = number
	}
	inode, err := strconv.ParseUint(fields[4], 10, 64)
	if err != nil {
		return mapping, err
	}
	mapping.Start, mapping.End, mapping.Offset = numbers[0], numbers[1], numbers[2]
	if mapping.Start >= mapping.End {
		return mapping, fmt.Errorf("range %#x-%#x", mapping.Start, mapping.End)
	}
	mapping.Device = unix.Mkdev(uint32(numbers[3]), uint32(numbers[4]))
	mapping.Inode = inode
	mapping.Path = unescapeNewlines(strings.TrimLeft(rest, " "))
	return mapping, nil
}

// unescapeNewlines undoes the only escape that the kernel uses in this file.
func unescapeNewlines(path string) string { return strings.ReplaceAll(path, `\012`, "\n") }
