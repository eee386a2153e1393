package loader

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/caret-bpf/caret-bpf/probes"
)

// fileID identifies a real file: probes.Site.File.
type fileID struct {
	device, inode uint64
	buildID       string
}

func fileOf(site probes.Site) fileID {
	return fileID{site.File.Device, site.File.Inode, site.File.BuildID}
}

// probedFile is a file that sites are in. It is held from the check of its bytes until nothing is attached to it any
// more, so that what was checked is what is attached.
type probedFile struct {
	openFile
	// newProver begins a proof on the bytes that the file has then, for which who pays for the context pays.
	newProver func(context.Context) (prover, error)
	name      fileName
	machine   elf.Machine
	text      []textSegment
	buildID   string // "" where it has none
}

// prover proves sites of one file, until it is closed.
type prover interface {
	Prove(site probes.Site) error
	Close() error
}

// openFile is a file by its descriptor: a target.OpenFile.
type openFile interface {
	io.ReaderAt
	// KernelPath names the open file to the kernel, whatever has become of the path by which it was opened.
	KernelPath() string
	// Unchanged is an error if the file was written since it was opened.
	Unchanged() error
	Hold() error
	Release()
}

// textSegment is an executable PT_LOAD segment.
type textSegment struct {
	offset, address, size uint64
}

// Bounds for files that are not what they should be: the recorder runs as root and the file belongs to somebody else.
const (
	maxProgramHeaders = 512
	maxNotesSize      = 64 << 10
)

const (
	elfHeaderSize     = 64
	programHeaderSize = 56
	noteGNUBuildID    = 3
)

// errNoFile says that a site is of no open file.
var errNoFile = errors.New("the site's file is not open")

// holdProbedFile holds the file that a site was planned in.
func holdProbedFile(site probes.Site) (*probedFile, error) {
	if site.Opened == nil {
		return nil, fmt.Errorf("%s: %w", site.Path, errNoFile)
	}
	return newProbedFile(site.Opened, func(ctx context.Context) (prover, error) { return probes.NewProver(ctx, site.Opened) })
}

func newProbedFile(opened openFile, newProver func(context.Context) (prover, error)) (*probedFile, error) {
	if err := opened.Hold(); err != nil {
		return nil, err
	}
	f := &probedFile{openFile: opened, newProver: newProver}
	err := opened.Unchanged()
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrFileChanged, err)
	}
	if err == nil {
		f.name, _ = fileAt(opened.KernelPath()) // zero if the kernel does not tell
		err = f.readHeaders(opened)
	}
	if err != nil {
		opened.Release()
		return nil, err
	}
	return f, nil
}

// readHeaders finds the text segments and the build-id of a 64-bit little-endian ELF file.
func (f *probedFile) readHeaders(r io.ReaderAt) error {
	var header [elfHeaderSize]byte
	if _, err := r.ReadAt(header[:], 0); err != nil {
		return fmt.Errorf("no ELF header: %w", err)
	}
	if !bytes.Equal(header[:elf.EI_DATA+1], []byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB)}) {
		return errors.New("no 64-bit little-endian ELF file")
	}
	f.machine = elf.Machine(binary.LittleEndian.Uint16(header[18:]))
	tableOffset := binary.LittleEndian.Uint64(header[32:])
	entrySize := binary.LittleEndian.Uint16(header[54:])
	count := int(binary.LittleEndian.Uint16(header[56:]))
	if entrySize != programHeaderSize || count > maxProgramHeaders || tableOffset > 1<<62 {
		return errors.New("unusable ELF program header table")
	}
	table := make([]byte, count*programHeaderSize)
	if _, err := r.ReadAt(table, int64(tableOffset)); err != nil {
		return fmt.Errorf("ELF program headers: %w", err)
	}
	for ; len(table) > 0; table = table[programHeaderSize:] {
		kind := elf.ProgType(binary.LittleEndian.Uint32(table))
		flags := elf.ProgFlag(binary.LittleEndian.Uint32(table[4:]))
		segment := textSegment{
			offset:  binary.LittleEndian.Uint64(table[8:]),
			address: binary.LittleEndian.Uint64(table[16:]),
			size:    binary.LittleEndian.Uint64(table[32:]),
		}
		switch {
		case kind == elf.PT_LOAD && flags&elf.PF_X != 0:
			f.text = append(f.text, segment)
		case kind == elf.PT_NOTE && f.buildID == "" && segment.size <= maxNotesSize && segment.offset <= 1<<62:
			notes := make([]byte, segment.size)
			if _, err := r.ReadAt(notes, int64(segment.offset)); err == nil {
				f.buildID = findBuildID(notes)
			}
		}
	}
	return nil
}

// findBuildID returns the GNU build-id among ELF notes as hex digits, "" where there is none.
func findBuildID(notes []byte) string {
	const headerSize = 12
	align := func(n uint64) uint64 { return (n + 3) &^ 3 }
	for len(notes) >= headerSize {
		nameSize := uint64(binary.LittleEndian.Uint32(notes))
		descriptionSize := uint64(binary.LittleEndian.Uint32(notes[4:]))
		kind := binary.LittleEndian.Uint32(notes[8:])
		descriptionStart := headerSize + align(nameSize)
		descriptionEnd := descriptionStart + descriptionSize
		if descriptionEnd > uint64(len(notes)) {
			return ""
		}
		if kind == noteGNUBuildID && string(notes[headerSize:headerSize+nameSize]) == "GNU\x00" {
			return hex.EncodeToString(notes[descriptionStart:descriptionEnd])
		}
		notes = notes[min(align(descriptionEnd), uint64(len(notes))):]
	}
	return ""
}

// segmentOf returns the text segment that holds the byte at a file offset.
func (f *probedFile) segmentOf(offset uint64) (textSegment, bool) {
	for _, segment := range f.text {
		if offset >= segment.offset && offset-segment.offset < segment.size {
			return segment, true
		}
	}
	return textSegment{}, false
}
