package elffile

import (
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

const (
	noteGNUBuildID = 3
	maxBuildID     = 64
)

// BuildID is the file's NT_GNU_BUILD_ID in lower-case hexadecimal, or "" when the linker was told to write none.
func (f *File) BuildID() (string, error) {
	headers, err := f.programHeaders(elf.PT_NOTE)
	if err != nil {
		return "", err
	}
	for _, header := range headers {
		notes, err := f.readFile(header.Off, header.Filesz, maxNotes)
		if err != nil {
			return "", fmt.Errorf("notes: %w", err)
		}
		if id := buildID(notes, header.Align); id != nil {
			return hex.EncodeToString(id), nil
		}
	}
	return "", nil
}

func buildID(notes []byte, alignment uint64) []byte {
	if alignment != 8 {
		alignment = 4
	}
	padded := func(size uint64) uint64 { return (size + alignment - 1) &^ (alignment - 1) }
	for len(notes) >= 12 {
		nameSize := uint64(binary.LittleEndian.Uint32(notes))
		descriptorSize := uint64(binary.LittleEndian.Uint32(notes[4:]))
		noteType := binary.LittleEndian.Uint32(notes[8:])
		descriptor := padded(12 + nameSize)
		end := descriptor + descriptorSize
		if end > uint64(len(notes)) {
			return nil
		}
		if noteType == noteGNUBuildID && string(notes[12:12+nameSize]) == "GNU\x00" && descriptorSize > 0 && descriptorSize <= maxBuildID {
			return notes[descriptor:end]
		}
		notes = notes[min(padded(end), uint64(len(notes))):]
	}
	return nil
}
