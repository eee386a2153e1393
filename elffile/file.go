package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// Limits on what a file may claim. The largest ROS 2 libraries stay below a tenth of each.
const (
	maxProgramHeaders = 4096
	maxSections       = 1 << 16
	maxSectionNames   = 16 << 20
	maxSymbolTable    = 128 << 20
	maxStringTable    = 512 << 20
	maxNotes          = 1 << 20
	maxDynamic        = 1 << 20
	maxRelocations    = 128 << 20
	maxFunctionCode   = 1 << 20
	maxStringLength   = 1 << 20
	maxReadChunk      = 1 << 20
	// maxName bounds the names of files, sections and versions, of which a file may say thousands: each would be kept.
	maxName = 4096
)

// File is an open ELF file. Tables are read when they are first asked for and then kept.
type File struct {
	reader   io.ReaderAt
	closer   io.Closer
	meter    Meter                 // nil bounds nothing
	kept     atomic.Int64          // bytes that the meter knows of
	refused  atomic.Pointer[error] // the meter's last
	header   elf.Header64
	segments []Segment
	sections []Section

	dynamicOnce  sync.Once
	dynamic      dynamicTable
	dynamicError error

	exported lazyTable
	static   lazyTable

	addressOnce  sync.Once
	addressIndex []addressedSymbol
	addressError error

	slotsOnce  sync.Once
	slots      map[uint64]string
	slotsError error

	pltOnce  sync.Once
	plt      []PLTEntry
	pltError error

	relocationsOnce  sync.Once
	relocations      []byte
	relocationsError error

	framesOnce  sync.Once
	frames      frameTable
	framesError error
}

// Segment is one PT_LOAD program header: FileSize bytes at Offset of the file appear at Address.
type Segment struct {
	Address    uint64
	MemorySize uint64
	Offset     uint64
	FileSize   uint64
	Flags      elf.ProgFlag
}

// contains reports whether address is in the file-backed part of the segment.
func (s Segment) contains(address uint64) bool {
	return address >= s.Address && address-s.Address < s.FileSize
}

// Section is one section header. Sections are absent from files stripped of their section table.
type Section struct {
	Name      string
	Type      elf.SectionType
	Flags     elf.SectionFlag
	Address   uint64
	Offset    uint64
	Size      uint64
	Link      uint32
	EntrySize uint64
}

// Open opens the regular file at path, which may be a link in /proc/PID/map_files. Anything that is not a
// regular file is refused before it is opened, since opening a device can have effects.
func Open(path string) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w: not a regular file", path, ErrNotELF)
	}
	// O_NONBLOCK: a FIFO that replaced the file meanwhile must not block the recorder.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	f, err := New(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.closer = file
	return f, nil
}

// New reads the headers of the ELF file in reader, which must stay usable as long as the File.
func New(reader io.ReaderAt) (*File, error) { return NewMetered(reader, nil) }

// NewMetered is New for a file on which a meter bounds all work. It must be closed.
func NewMetered(reader io.ReaderAt, meter Meter) (*File, error) {
	f := &File{reader: reader, meter: meter}
	for _, read := range []func() error{f.readHeader, f.readSegments, f.readSections} {
		if err := read(); err != nil {
			f.release()
			return nil, err
		}
	}
	return f, nil
}

// Close closes the file if it was opened by Open, and gives back what was kept of it. The File must not be used
// afterwards.
func (f *File) Close() error {
	f.release()
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Machine is the processor that the file's code is for.
func (f *File) Machine() elf.Machine { return elf.Machine(f.header.Machine) }

// Segments are the loadable segments in file order.
func (f *File) Segments() []Segment { return f.segments }

// Sections are the section headers in file order; none when the file has no section table.
func (f *File) Sections() []Section { return f.sections }

// Section is the first section of that name.
func (f *File) Section(name string) (Section, bool) {
	for _, section := range f.sections {
		if section.Name == name {
			return section, true
		}
	}
	return Section{}, false
}

// FileOffset converts the address of an instruction to its offset in the file, which is what a uprobe is
// attached by. ErrNotMapped if the address is in no executable segment's file-backed part.
func (f *File) FileOffset(address uint64) (uint64, error) {
	segment, ok := f.executableSegment(address)
	if !ok {
		return 0, fmt.Errorf("%w: no executable segment holds address %#x", ErrNotMapped, address)
	}
	return segment.Offset + (address - segment.Address), nil
}

// AddressOf converts the file offset of an instruction to its address, the reverse of FileOffset.
func (f *File) AddressOf(offset uint64) (uint64, error) {
	for _, segment := range f.segments {
		if segment.Flags&elf.PF_X != 0 && offset >= segment.Offset && offset-segment.Offset < segment.FileSize {
			return segment.Address + (offset - segment.Offset), nil
		}
	}
	return 0, fmt.Errorf("%w: no executable segment holds file offset %#x", ErrNotMapped, offset)
}

// ReadAt fills buffer with the file's bytes at address. Like io.ReaderAt it returns how many bytes there
// were, with an error when they are fewer than asked for: ErrNotMapped when the segment ends.
func (f *File) ReadAt(address uint64, buffer []byte) (int, error) {
	for _, segment := range f.segments {
		if segment.contains(address) {
			return f.readSegment(segment, address, buffer)
		}
	}
	return 0, fmt.Errorf("%w: %#x", ErrNotMapped, address)
}

// readCode is ReadAt for instructions. It reads where FileOffset points to, also when a malformed file's segments
// overlap.
func (f *File) readCode(address uint64, buffer []byte) (int, error) {
	segment, ok := f.executableSegment(address)
	if !ok {
		return 0, fmt.Errorf("%w: no executable segment holds address %#x", ErrNotMapped, address)
	}
	return f.readSegment(segment, address, buffer)
}

func (f *File) readSegment(segment Segment, address uint64, buffer []byte) (int, error) {
	within := address - segment.Address
	wanted := min(uint64(len(buffer)), segment.FileSize-within)
	if err := f.examine(int(wanted)); err != nil {
		return 0, err
	}
	n, err := f.reader.ReadAt(buffer[:wanted], int64(segment.Offset+within))
	if uint64(n) == wanted {
		err = nil
	}
	if err == nil && n < len(buffer) {
		err = fmt.Errorf("%w: segment ends at %#x", ErrNotMapped, address+uint64(n))
	}
	return n, err
}

// executable reports whether address is in the file-backed part of an executable segment.
func (f *File) executable(address uint64) bool {
	_, ok := f.executableSegment(address)
	return ok
}

func (f *File) executableSegment(address uint64) (Segment, bool) {
	for _, segment := range f.segments {
		if segment.Flags&elf.PF_X != 0 && segment.contains(address) {
			return segment, true
		}
	}
	return Segment{}, false
}

func (f *File) readHeader() error {
	var raw [64]byte
	n, err := f.reader.ReadAt(raw[:], 0)
	if n < len(elf.ELFMAG) || !bytes.HasPrefix(raw[:n], []byte(elf.ELFMAG)) {
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		return ErrNotELF
	}
	if n < len(raw) {
		return fmt.Errorf("%w: header ends early", ErrMalformed)
	}
	if elf.Class(raw[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Data(raw[elf.EI_DATA]) != elf.ELFDATA2LSB {
		return fmt.Errorf("%w: not 64-bit little-endian", ErrUnsupported)
	}
	_, err = binary.Decode(raw[:], binary.LittleEndian, &f.header)
	return err
}

func (f *File) readSegments() error {
	count := int(f.header.Phnum)
	if count == 0 {
		return nil
	}
	if count > maxProgramHeaders {
		return fmt.Errorf("%w: %d program headers", ErrTooLarge, count)
	}
	headers, err := readTable[elf.Prog64](f, f.header.Phoff, count, int(f.header.Phentsize), 56)
	if err != nil {
		return fmt.Errorf("program headers: %w", err)
	}
	for _, header := range headers {
		if elf.ProgType(header.Type) != elf.PT_LOAD {
			continue
		}
		segment := Segment{
			Address: header.Vaddr, MemorySize: header.Memsz,
			Offset: header.Off, FileSize: header.Filesz, Flags: elf.ProgFlag(header.Flags),
		}
		if overflows(segment.Address, segment.FileSize) || overflows(segment.Offset, segment.FileSize) {
			return fmt.Errorf("%w: segment at %#x wraps around", ErrMalformed, segment.Address)
		}
		f.segments = append(f.segments, segment)
	}
	return nil
}

func (f *File) readSections() error {
	if f.header.Shoff == 0 || f.header.Shnum == 0 {
		return nil
	}
	if int(f.header.Shnum) > maxSections {
		return fmt.Errorf("%w: %d sections", ErrTooLarge, f.header.Shnum)
	}
	headers, err := readTable[elf.Section64](f, f.header.Shoff, int(f.header.Shnum), int(f.header.Shentsize), 64)
	if err != nil {
		return fmt.Errorf("section headers: %w", err)
	}
	if int(f.header.Shstrndx) >= len(headers) {
		return fmt.Errorf("%w: section name table %d of %d", ErrMalformed, f.header.Shstrndx, len(headers))
	}
	nameTable := headers[f.header.Shstrndx]
	names, err := f.readFile(nameTable.Off, nameTable.Size, maxSectionNames)
	if err != nil {
		return fmt.Errorf("section names: %w", err)
	}
	if err := f.keepNames(names, headers); err != nil {
		return err
	}
	f.sections = make([]Section, len(headers))
	for i, header := range headers {
		name, _ := nameAt(names, uint64(header.Name))
		f.sections[i] = Section{
			Name: name, Type: elf.SectionType(header.Type), Flags: elf.SectionFlag(header.Flags),
			Address: header.Addr, Offset: header.Off, Size: header.Size, Link: header.Link, EntrySize: header.Entsize,
		}
	}
	return nil
}

// keepNames is asked before the names of sections are kept, many of which may be one long string.
func (f *File) keepNames(names []byte, headers []elf.Section64) error {
	size := 0
	for _, header := range headers {
		name, _ := shortBytesAt(names, uint64(header.Name))
		size += len(name)
	}
	if size > maxSectionNames {
		return fmt.Errorf("%w: section names overlap", ErrTooLarge)
	}
	return f.keep(size)
}

// sectionData reads a section's bytes. A section without bytes in the file reads as empty.
func (f *File) sectionData(section Section, limit uint64) ([]byte, error) {
	if section.Type == elf.SHT_NOBITS {
		return nil, nil
	}
	if section.Flags&elf.SHF_COMPRESSED != 0 {
		return nil, fmt.Errorf("%w: section %s is compressed", ErrUnsupported, section.Name)
	}
	data, err := f.readFile(section.Offset, section.Size, limit)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", section.Name, err)
	}
	return data, nil
}

// programHeaders reads the program headers of one type that are not loadable segments.
func (f *File) programHeaders(wanted elf.ProgType) ([]elf.Prog64, error) {
	if f.header.Phnum == 0 {
		return nil, nil
	}
	headers, err := readTable[elf.Prog64](f, f.header.Phoff, int(f.header.Phnum), int(f.header.Phentsize), 56)
	if err != nil {
		return nil, err
	}
	var found []elf.Prog64
	for _, header := range headers {
		if elf.ProgType(header.Type) == wanted {
			found = append(found, header)
		}
	}
	return found, nil
}

// readFile reads size bytes at a file offset. Memory is taken when the file has shown to be as long as it claims to be,
// and all at once: to grow would leave as much again to the garbage collector.
func (f *File) readFile(offset, size, limit uint64) ([]byte, error) {
	if size > limit {
		return nil, fmt.Errorf("%w: %d bytes", ErrTooLarge, size)
	}
	if overflows(offset, size) || offset+size > 1<<62 {
		return nil, fmt.Errorf("%w: offset %#x", ErrMalformed, offset)
	}
	if size > maxReadChunk {
		var last [1]byte
		if err := f.readWhole(offset+size-1, last[:]); err != nil {
			return nil, err
		}
	}
	if err := f.keep(int(size)); err != nil {
		return nil, err
	}
	data := make([]byte, size)
	for read := data; len(read) > 0; {
		chunk := read[:min(len(read), maxReadChunk)]
		if err := f.readWhole(offset+size-uint64(len(read)), chunk); err != nil {
			return nil, err
		}
		read = read[len(chunk):]
	}
	return data, nil
}

// readWhole fills a buffer from a file offset.
func (f *File) readWhole(offset uint64, buffer []byte) error {
	if err := f.examine(len(buffer)); err != nil {
		return err
	}
	n, err := f.reader.ReadAt(buffer, int64(offset))
	switch {
	case n == len(buffer):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return fmt.Errorf("%w: file ends at %#x", ErrMalformed, offset+uint64(n))
	}
	return err
}

func readTable[T any](f *File, offset uint64, count, entrySize, expectedSize int) ([]T, error) {
	if entrySize != expectedSize {
		return nil, fmt.Errorf("%w: entry of %d bytes", ErrMalformed, entrySize)
	}
	data, err := f.readFile(offset, uint64(count)*uint64(entrySize), maxSections*uint64(entrySize))
	if err != nil {
		return nil, err
	}
	table := make([]T, count)
	for i := range table {
		if _, err := binary.Decode(data[i*entrySize:], binary.LittleEndian, &table[i]); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
	return table, nil
}

// stringAt is the NUL-terminated string at an offset of a string table.
func stringAt(table []byte, offset uint64) (string, bool) {
	raw, ok := bytesAt(table, offset)
	return string(raw), ok
}

// nameAt is stringAt for a name of at most maxName bytes.
func nameAt(table []byte, offset uint64) (string, bool) {
	raw, ok := shortBytesAt(table, offset)
	return string(raw), ok
}

func shortBytesAt(table []byte, offset uint64) ([]byte, bool) {
	if offset >= uint64(len(table)) {
		return nil, false
	}
	return bytesAt(table[:min(uint64(len(table)), offset+maxName+1)], offset)
}

func bytesAt(table []byte, offset uint64) ([]byte, bool) {
	if offset >= uint64(len(table)) {
		return nil, false
	}
	rest := table[offset:]
	end := bytes.IndexByte(rest[:min(len(rest), maxStringLength)], 0)
	if end < 0 {
		return nil, false
	}
	return rest[:end], true
}

func overflows(start, size uint64) bool { return start+size < start }
