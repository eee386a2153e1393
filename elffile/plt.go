package elffile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/arch/x86/x86asm"
)

// PLTEntry is a stub in .plt, .plt.sec or .plt.got that jumps to the function whose address the loader puts
// into a GOT slot.
type PLTEntry struct {
	// Address is where callers of the stub call.
	Address uint64
	// Name is the function's name, without ELF version.
	Name string
}

// PLT are the file's PLT entries in order of address. An entry is only what decodes as a jump through a GOT slot
// that a relocation binds to a named symbol.
func (f *File) PLT() ([]PLTEntry, error) {
	f.pltOnce.Do(func() {
		var slots map[uint64]string
		if slots, f.pltError = f.allSlots(); f.pltError == nil {
			f.plt, f.pltError = f.entriesOf(slots)
		}
	})
	return f.plt, f.pltError
}

// PLTEntriesOf are the addresses of the stubs that lead to the function of that name; there may be one in each
// of the PLT sections.
func (f *File) PLTEntriesOf(name string) ([]uint64, error) {
	entries, err := f.PLT()
	if err != nil {
		return nil, err
	}
	var found []uint64
	for _, entry := range entries {
		if entry.Name == name {
			found = append(found, entry.Address)
		}
	}
	return found, nil
}

// readPLT finds the entries of the symbols that are wanted.
func (f *File) readPLT(wanted func(symbol string) bool) ([]PLTEntry, error) {
	slots, err := f.boundSlots(wanted)
	if err != nil {
		return nil, err
	}
	return f.entriesOf(slots)
}

// entriesOf finds the entries that jump through slots.
func (f *File) entriesOf(slots map[uint64]string) ([]PLTEntry, error) {
	var entries []PLTEntry
	for _, section := range f.sections {
		if !slices.Contains([]string{".plt", ".plt.sec", ".plt.got"}, section.Name) {
			continue
		}
		code, err := f.sectionData(section, maxRelocations)
		if err != nil {
			return nil, err
		}
		step := stubSize(section, f.Machine())
		for offset := 0; offset < len(code); offset += step {
			address := section.Address + uint64(offset)
			stub := code[offset:min(offset+step, len(code))]
			if f.Machine() == elf.EM_X86_64 && !mayJumpX86(stub, address, slots) {
				continue
			}
			slot, ok := f.stubSlot(stub, address)
			if !ok {
				continue
			}
			if name, bound := slots[slot]; bound {
				if err := f.keep(int(unsafe.Sizeof(PLTEntry{}))); err != nil {
					return nil, err
				}
				entries = append(entries, PLTEntry{Address: address, Name: name})
			}
		}
	}
	slices.SortFunc(entries, func(a, b PLTEntry) int { return cmp.Compare(a.Address, b.Address) })
	return entries, nil
}

// stubSize is the number of bytes from one stub of a section to the next. Linkers note it in the section header; where
// they do not, .plt.got has half-size stubs except with indirect branch tracking, whose landing pad fills the larger
// size.
func stubSize(section Section, machine elf.Machine) int {
	switch {
	case section.EntrySize == 8 || section.EntrySize == 16:
		return int(section.EntrySize)
	case machine == elf.EM_X86_64 && section.Name == ".plt.got":
		return 8
	case machine == elf.EM_AARCH64:
		return 4 // header and stubs differ in size: every instruction may start a stub
	}
	return 16
}

// stubSlot is the address of the GOT slot through which the stub jumps.
func (f *File) stubSlot(stub []byte, address uint64) (uint64, bool) {
	switch f.Machine() {
	case elf.EM_X86_64:
		return stubSlotX86(stub, address)
	case elf.EM_AARCH64:
		return f.stubSlotARM64(address)
	}
	return 0, false
}

// mayJumpX86 reports whether any bytes of a stub may be a jump through one of the slots. It is quick: few stubs of a
// file are asked for.
func mayJumpX86(stub []byte, address uint64, slots map[uint64]string) bool {
	const length = 6 // ff 25 displacement
	for i := 0; i+length <= len(stub); i++ {
		if stub[i] != 0xff || stub[i+1] != 0x25 {
			continue
		}
		displacement := int64(int32(binary.LittleEndian.Uint32(stub[i+2:])))
		if _, bound := slots[address+uint64(i)+length+uint64(displacement)]; bound {
			return true
		}
	}
	return false
}

// stubSlotX86 accepts [endbr64] [mov $index,%r11d] [bnd] jmp *slot(%rip).
func stubSlotX86(stub []byte, address uint64) (uint64, bool) {
	for len(stub) > 0 {
		instruction, err := decodeX86(stub, address)
		if err != nil {
			return 0, false
		}
		decoded := instruction.X86
		switch {
		case bytes.Equal(instruction.Bytes, endbr64):
		case decoded.Op == x86asm.MOV && decoded.Args[0] == x86asm.Arg(x86asm.R11L):
		case decoded.Op == x86asm.JMP:
			memory, ok := decoded.Args[0].(x86asm.Mem)
			if !ok || memory.Base != x86asm.RIP || memory.Index != 0 || memory.Segment != 0 {
				return 0, false
			}
			return instruction.End() + uint64(int64(int32(memory.Disp))), true
		default:
			return 0, false
		}
		stub, address = stub[len(instruction.Bytes):], instruction.End()
	}
	return 0, false
}

// stubSlotARM64 accepts [bti c] adrp x16,page; ldr x17,[x16,#offset]; add x16,x16,#offset; br x17.
func (f *File) stubSlotARM64(address uint64) (uint64, bool) {
	var raw [20]byte
	n, _ := f.ReadAt(address, raw[:])
	words := make([]uint32, 0, 5)
	for i := 0; i+4 <= n; i += 4 {
		words = append(words, binary.LittleEndian.Uint32(raw[i:]))
	}
	const btiC = 0xd503245f
	if len(words) > 0 && words[0] == btiC {
		words, address = words[1:], address+4
	}
	if len(words) < 4 || words[0]&0x9f00001f != 0x90000010 || words[1]&0xffc003ff != 0xf9400211 || words[3] != 0xd61f0220 {
		return 0, false
	}
	immediate := uint64(words[0]>>29&3) | uint64(words[0]>>5&0x7ffff)<<2
	page := address&^0xfff + uint64(int64(immediate<<43)>>43)<<12
	return page + uint64(words[1]>>10&0xfff)*8, true
}

// allSlots are the boundSlots of all symbols.
func (f *File) allSlots() (map[uint64]string, error) {
	f.slotsOnce.Do(func() { f.slots, f.slotsError = f.boundSlots(func(string) bool { return true }) })
	return f.slots, f.slotsError
}

// slotSize is what a slot takes beside its name.
const slotSize = 64

// boundSlots are the addresses that a relocation fills with the address of a symbol that is wanted, by name.
func (f *File) boundSlots(wanted func(symbol string) bool) (map[uint64]string, error) {
	table, err := f.exportedSymbols()
	if err != nil {
		return nil, err
	}
	slots := map[uint64]string{}
	for _, section := range f.sections {
		if section.Type != elf.SHT_RELA || section.Name != ".rela.plt" && section.Name != ".rela.dyn" {
			continue
		}
		data, err := f.sectionData(section, maxRelocations)
		if err != nil {
			return nil, fmt.Errorf("relocations: %w", err)
		}
		unasked := 0
		for ; len(data) >= relocationSize; data = data[relocationSize:] {
			// Any number of relocations may name one long symbol.
			if unasked > maxReadChunk {
				if err := f.examine(unasked); err != nil {
					return nil, err
				}
				unasked = 0
			}
			unasked += relocationSize
			slot := binary.LittleEndian.Uint64(data)
			info := binary.LittleEndian.Uint64(data[8:])
			index := uint32(info >> 32)
			if !f.bindsFunction(uint32(info)) || index == 0 || index >= table.count() {
				continue
			}
			name, ok := table.name(index)
			unasked += len(name)
			if !ok || len(name) == 0 || !wanted(string(name)) {
				continue
			}
			if err := f.keep(slotSize + len(name)); err != nil {
				return nil, err
			}
			slots[slot] = string(name)
		}
	}
	return slots, nil
}

// bindsFunction reports whether a relocation type writes a symbol's plain address into a GOT slot.
func (f *File) bindsFunction(relocation uint32) bool {
	switch f.Machine() {
	case elf.EM_X86_64:
		return relocation == uint32(elf.R_X86_64_JMP_SLOT) || relocation == uint32(elf.R_X86_64_GLOB_DAT)
	case elf.EM_AARCH64:
		return relocation == uint32(elf.R_AARCH64_JUMP_SLOT) || relocation == uint32(elf.R_AARCH64_GLOB_DAT)
	}
	return false
}
