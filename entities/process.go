package entities

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/target"
)

// mappingsAge is how long a list of mappings is believed to be complete.
const mappingsAge = time.Second

// ProcessMemory is the Memory of a process on this machine. It does not stop the process and does not touch pages that
// are not in RAM. It is not safe for concurrent use.
type ProcessMemory struct {
	process  *target.Process
	memory   *target.Memory
	mappings []target.Mapping
	listed   time.Time
	code     codeFiles
	// behind are files behind mappings that were read in their files; nil if none are kept.
	behind map[target.Mapping]*os.File
}

// OpenMemory opens the memory of a process, which must stay open as long. Close it in the end. When ctx ends, the files
// that hold the process's code are not read any more.
func OpenMemory(ctx context.Context, process *target.Process) (*ProcessMemory, error) {
	memory, err := process.Memory()
	if err != nil {
		return nil, fmt.Errorf("open the memory of process %d: %w", process.PID, err)
	}
	return &ProcessMemory{process: process, memory: memory, code: codeFiles{ctx: ctx, process: process}}, nil
}

// Close ends the use of the memory.
func (m *ProcessMemory) Close() error {
	m.code.close()
	return errors.Join(m.memory.Close(), m.closeBehind())
}

// ReadAt fills p from an address. What a file holds there is read from the file if the process has not it in RAM, as is
// usual for class names.
func (m *ProcessMemory) ReadAt(p []byte, address uint64) error {
	_, err := m.memory.ReadAt(address, p)
	if !errors.Is(err, target.ErrNotResident) {
		return err
	}
	mapping, ok := m.presentMapping(address)
	if !ok || !isReadOnlyFile(mapping) || uint64(len(p)) > mapping.End-address {
		return err
	}
	if fileErr := m.readBehind(mapping, p, address); fileErr != nil {
		return errors.Join(err, fileErr)
	}
	return nil
}

// maxBehind bounds the descriptors of a memory that keeps files.
const maxBehind = 8

// KeepFiles keeps some files open that memory is read from, until the memory is closed: a search reads the same ones
// again and again.
func (m *ProcessMemory) KeepFiles() { m.behind = map[target.Mapping]*os.File{} }

// readBehind fills p from the file behind a mapping, where it has what is at an address.
func (m *ProcessMemory) readBehind(mapping target.Mapping, p []byte, address uint64) error {
	file := m.behind[mapping]
	if file == nil {
		var err error
		if file, err = m.process.OpenMapping(mapping); err != nil {
			return err
		}
		if m.behind == nil {
			defer file.Close()
		} else {
			m.keep(mapping, file)
		}
	}
	_, err := file.ReadAt(p, int64(mapping.Offset+address-mapping.Start))
	return err
}

func (m *ProcessMemory) keep(mapping target.Mapping, file *os.File) {
	if len(m.behind) >= maxBehind {
		_ = m.closeBehind()
	}
	m.behind[mapping] = file
}

func (m *ProcessMemory) closeBehind() (err error) {
	for _, file := range m.behind {
		err = errors.Join(err, file.Close())
	}
	clear(m.behind)
	return err
}

// linkOf is the link by which the kernel names the file of a mapping, as long as there is exactly this mapping.
func (m *ProcessMemory) linkOf(mapping target.Mapping) string {
	return fmt.Sprintf("/proc/%d/map_files/%x-%x", m.process.PID, mapping.Start, mapping.End)
}

// Mappings lists the memory mappings of the process, in order of address.
func (m *ProcessMemory) Mappings() ([]target.Mapping, error) {
	m.listed = time.Now()
	mappings, err := m.process.Mappings()
	if err != nil {
		return nil, err
	}
	m.mappings = mappings
	return mappings, nil
}

// ResidentRanges are the parts of the address range [start, end) that are in RAM, in order. An error ends the sequence.
func (m *ProcessMemory) ResidentRanges(start, end uint64) iter.Seq2[target.Range, error] {
	return m.memory.ResidentRanges(start, end)
}

// WrittenRanges are the parts that the process has written and shares with nobody, in RAM or not, likewise.
func (m *ProcessMemory) WrittenRanges(start, end uint64) iter.Seq2[target.Range, error] {
	return m.memory.WrittenRanges(start, end)
}

// IsGivenBack reports whether nothing is left of what the process has written into the page at an address.
func (m *ProcessMemory) IsGivenBack(address uint64) bool { return m.memory.IsGivenBack(address) }

// ReadOnlyFile reports whether an address lies in a mapping of a file that the process cannot write.
func (m *ProcessMemory) ReadOnlyFile(address uint64) bool {
	mapping, ok := m.mapping(address)
	return ok && isReadOnlyFile(mapping)
}

func isReadOnlyFile(mapping target.Mapping) bool {
	return mapping.Readable() && !mapping.Writable() && mapping.Inode != 0
}

// mapping returns the mapping that an address lies in. For an address in none, the list is read again if it is not
// fresh.
func (m *ProcessMemory) mapping(address uint64) (target.Mapping, bool) {
	if mapping, ok := mappingAt(m.mappings, address); ok {
		return mapping, true
	}
	if time.Since(m.listed) < mappingsAge {
		return target.Mapping{}, false
	}
	mappings, err := m.Mappings()
	if err != nil {
		return target.Mapping{}, false
	}
	return mappingAt(mappings, address)
}

// presentMapping is mapping for who reads the mapped file. A library may have been unloaded since the list was read,
// and another be in its place: where the kernel names another file or none, the list is read again.
func (m *ProcessMemory) presentMapping(address uint64) (target.Mapping, bool) {
	mapping, ok := m.mapping(address)
	if !ok || mapping.Inode == 0 {
		return mapping, ok
	}
	name, err := os.Readlink(m.linkOf(mapping))
	if err == nil && name != mapping.Path || errors.Is(err, fs.ErrNotExist) {
		m.mappings, m.listed = nil, time.Time{}
		return m.mapping(address)
	}
	return mapping, ok
}

func mappingAt(mappings []target.Mapping, address uint64) (target.Mapping, bool) {
	index, _ := slices.BinarySearchFunc(mappings, address, func(m target.Mapping, address uint64) int {
		if m.End <= address {
			return -1
		}
		return 1
	})
	if index == len(mappings) || mappings[index].Start > address {
		return target.Mapping{}, false
	}
	return mappings[index], true
}
