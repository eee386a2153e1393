package elffile

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
)

// PointerAt is the address, in the file's own address space, that the pointer at an address has from the moment the
// file is loaded: the one that a relocation relative to the file's base puts there. ErrNotRelocated where there is no
// such relocation: a null, no pointer, one that another file may decide, or one that the program sets when it runs.
func (f *File) PointerAt(address uint64) (uint64, error) {
	relocations, err := f.dynamicRelocations()
	if err != nil {
		return 0, err
	}
	if err := f.examine(len(relocations)); err != nil {
		return 0, err
	}
	for ; len(relocations) >= relocationSize; relocations = relocations[relocationSize:] {
		if binary.LittleEndian.Uint64(relocations) != address {
			continue
		}
		if kind := uint32(binary.LittleEndian.Uint64(relocations[8:])); f.isRelative(kind) {
			return binary.LittleEndian.Uint64(relocations[16:]), nil
		}
	}
	return 0, fmt.Errorf("%w: %#x", ErrNotRelocated, address)
}

const relocationSize = 24

// dynamicRelocations are the bytes of .rela.dyn.
func (f *File) dynamicRelocations() ([]byte, error) {
	f.relocationsOnce.Do(func() {
		index := slices.IndexFunc(f.sections, func(s Section) bool { return s.Type == elf.SHT_RELA && s.Name == ".rela.dyn" })
		if index >= 0 {
			f.relocations, f.relocationsError = f.sectionData(f.sections[index], maxRelocations)
		}
	})
	return f.relocations, f.relocationsError
}

func (f *File) isRelative(relocation uint32) bool {
	switch f.Machine() {
	case elf.EM_X86_64:
		return relocation == uint32(elf.R_X86_64_RELATIVE)
	case elf.EM_AARCH64:
		return relocation == uint32(elf.R_AARCH64_RELATIVE)
	}
	return false
}
