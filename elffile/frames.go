package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
)

// Pointer encodings of .eh_frame (LSB core specification, "DWARF Extensions").
const (
	pointerAbsolute = 0x00
	pointerUint4    = 0x03
	pointerUint8    = 0x04
	pointerInt4     = 0x0b
	pointerInt8     = 0x0c
	pointerFormat   = 0x0f
	pointerRelative = 0x10 // relative to the pointer itself
	tableEncoding   = 0x3b // int32 relative to the start of .eh_frame_hdr: what every linker writes
)

// Range is the half-open address range [Start, End).
type Range struct{ Start, End uint64 }

// Contains reports whether address is in the range.
func (r Range) Contains(address uint64) bool { return address >= r.Start && address < r.End }

// frameTable is the binary search table of .eh_frame_hdr: (first address, FDE), both int32 relative to address.
type frameTable struct {
	address uint64
	entries []byte
}

// FrameRange is the range of the frame description entry that covers address: a whole function, or one of its
// parts where the compiler moved unlikely code away. ErrNoBounds if the file's unwind information has none.
func (f *File) FrameRange(address uint64) (Range, error) {
	f.framesOnce.Do(func() { f.frames, f.framesError = f.readFrameTable() })
	if f.framesError != nil {
		return Range{}, f.framesError
	}
	description, ok := f.frames.find(address)
	if !ok {
		return Range{}, fmt.Errorf("%w: %#x", ErrNoBounds, address)
	}
	found, err := f.readFrameDescription(description)
	if err != nil {
		return Range{}, err
	}
	if !found.Contains(address) {
		return Range{}, fmt.Errorf("%w: %#x", ErrNoBounds, address)
	}
	return found, nil
}

// FunctionBounds is the code that follows the symbol's address up to the function's end: by unwind information,
// else by the symbol's size. Parts of the function that lie elsewhere (.cold) are not in it.
func (f *File) FunctionBounds(symbol Symbol) (Range, error) {
	bounds, err := f.FrameRange(symbol.Address)
	if err != nil || bounds.Start != symbol.Address {
		bounds = Range{symbol.Address, symbol.Address + symbol.Size}
	}
	switch size := bounds.End - bounds.Start; {
	case bounds.End <= bounds.Start:
		return Range{}, fmt.Errorf("%s: %w", symbol.Name, ErrNoBounds)
	case size > maxFunctionCode:
		return Range{}, fmt.Errorf("%s: %w: function of %d bytes", symbol.Name, ErrTooLarge, size)
	}
	return bounds, nil
}

func (f *File) readFrameTable() (frameTable, error) {
	headers, err := f.programHeaders(elf.PT_GNU_EH_FRAME)
	if err != nil || len(headers) == 0 {
		return frameTable{}, err
	}
	data, err := f.readFile(headers[0].Off, headers[0].Filesz, maxRelocations)
	if err != nil {
		return frameTable{}, fmt.Errorf(".eh_frame_hdr: %w", err)
	}
	const fixedPart = 12 // version, three encodings, frame pointer, count
	if len(data) < fixedPart || data[0] != 1 || data[2] != pointerUint4 || data[3] != tableEncoding {
		return frameTable{}, nil
	}
	size := uint64(binary.LittleEndian.Uint32(data[8:])) * 8
	if size > uint64(len(data)-fixedPart) {
		return frameTable{}, fmt.Errorf("%w: .eh_frame_hdr table passes its end", ErrMalformed)
	}
	return frameTable{address: headers[0].Vaddr, entries: data[fixedPart : fixedPart+size]}, nil
}

// find is the address of the last description that starts at or before address.
func (t frameTable) find(address uint64) (uint64, bool) {
	count := len(t.entries) / 8
	start := func(i int) uint64 {
		return t.address + uint64(int64(int32(binary.LittleEndian.Uint32(t.entries[i*8:]))))
	}
	low, high := 0, count
	for low < high {
		middle := (low + high) / 2
		if start(middle) <= address {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == 0 {
		return 0, false
	}
	return t.address + uint64(int64(int32(binary.LittleEndian.Uint32(t.entries[(low-1)*8+4:])))), true
}

func (f *File) readFrameDescription(address uint64) (Range, error) {
	entry, err := f.readFrameEntry(address)
	if err != nil {
		return Range{}, err
	}
	back := binary.LittleEndian.Uint32(entry)
	common, err := f.readFrameEntry(address + 4 - uint64(back))
	if err != nil {
		return Range{}, err
	}
	encoding, err := codePointerEncoding(common)
	if err != nil {
		return Range{}, err
	}
	start, width, err := readCodePointer(entry[4:], encoding, address+8)
	if err != nil {
		return Range{}, err
	}
	length, _, err := readCodePointer(entry[4+width:], encoding&pointerFormat, 0)
	if err != nil {
		return Range{}, err
	}
	if overflows(start, length) {
		return Range{}, fmt.Errorf("%w: frame at %#x", ErrMalformed, address)
	}
	return Range{start, start + length}, nil
}

// readFrameEntry is the content of the CIE or FDE at address from its second word on: CIE id or pointer first.
func (f *File) readFrameEntry(address uint64) ([]byte, error) {
	const longest = 4096 // what is looked at is in the first bytes
	var head [4]byte
	if _, err := f.ReadAt(address, head[:]); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length < 12 || length >= 0xfffffff0 {
		return nil, fmt.Errorf("%w: frame entry at %#x has length %#x", ErrMalformed, address, length)
	}
	content := make([]byte, min(length, longest))
	_, err := f.ReadAt(address+4, content)
	return content, err
}

// codePointerEncoding is the encoding of the addresses in the FDEs of a CIE: its augmentation 'R'.
func codePointerEncoding(common []byte) (byte, error) {
	malformed := fmt.Errorf("%w: frame information", ErrMalformed)
	if len(common) < 6 || binary.LittleEndian.Uint32(common) != 0 {
		return 0, malformed
	}
	version, rest := common[4], common[5:]
	end := bytes.IndexByte(rest, 0)
	if end < 0 {
		return 0, malformed
	}
	augmentation, rest := rest[:end], rest[end+1:]
	if len(augmentation) == 0 || augmentation[0] != 'z' {
		return pointerAbsolute, nil
	}
	skipped := 4 // code and data alignment, return register, augmentation length: LEB128 each
	for skipped > 0 && len(rest) > 0 {
		isReturnRegister := skipped == 2
		if rest[0]&0x80 == 0 || isReturnRegister && version == 1 {
			skipped--
		}
		rest = rest[1:]
	}
	for _, letter := range augmentation[1:] {
		if len(rest) == 0 {
			return 0, malformed
		}
		switch letter {
		case 'R':
			return rest[0], nil
		case 'L':
			rest = rest[1:]
		case 'P':
			width, ok := pointerWidth(rest[0])
			if !ok || len(rest) < 1+width {
				return 0, malformed
			}
			rest = rest[1+width:]
		case 'S', 'B':
		default:
			return 0, malformed
		}
	}
	return pointerAbsolute, nil
}

func pointerWidth(encoding byte) (int, bool) {
	format := encoding & pointerFormat
	switch {
	case slices.Contains([]byte{pointerUint4, pointerInt4}, format):
		return 4, true
	case slices.Contains([]byte{pointerAbsolute, pointerUint8, pointerInt8}, format):
		return 8, true
	}
	return 0, false
}

func readCodePointer(data []byte, encoding byte, address uint64) (value uint64, width int, err error) {
	width, ok := pointerWidth(encoding)
	if !ok || len(data) < width || encoding&^(pointerFormat|pointerRelative) != 0 {
		return 0, 0, fmt.Errorf("%w: frame pointer encoding %#x", ErrMalformed, encoding)
	}
	switch {
	case width == 8:
		value = binary.LittleEndian.Uint64(data)
	case encoding&pointerFormat == pointerInt4:
		value = uint64(int64(int32(binary.LittleEndian.Uint32(data))))
	default:
		value = uint64(binary.LittleEndian.Uint32(data))
	}
	if encoding&pointerRelative != 0 {
		value += address
	}
	return value, width, nil
}
