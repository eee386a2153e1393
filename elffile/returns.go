package elffile

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
)

// ReturnsOf finds, in the whole file, the instructions that calls of the function return to: when one runs, in its
// caller's frame, the function is over. Other ways may lead there, too.
//
// All bytes of the code are searched for what may be a call of the function or of its PLT entry. Each is proven, or
// proven to be none, by decoding from the start of the code that a frame description entry covers. ErrUnexpectedShape
// if that fails for one, if the function is never called, or if it is jumped to: then it returns elsewhere. Calls
// through pointers are not found. ErrUnsupported on machines other than x86-64 and arm64, and for a file without a
// section table.
func (f *File) ReturnsOf(name string) ([]Site, error) {
	sites, err := f.returnsOf(name)
	if err != nil {
		return nil, fmt.Errorf("returns of %s: %w", name, err)
	}
	return sites, nil
}

func (f *File) returnsOf(name string) ([]Site, error) {
	var mayLead func(code []byte, address uint64, targets []uint64) bool
	step := 1
	switch machine := f.Machine(); machine {
	case elf.EM_X86_64:
		mayLead = mayLeadX86
	case elf.EM_AARCH64:
		mayLead, step = mayLeadARM64, arm64InstructionSize
	default:
		return nil, fmt.Errorf("%w: machine %v", ErrUnsupported, machine)
	}
	if len(f.sections) == 0 {
		return nil, fmt.Errorf("%w: the file has no section table", ErrUnsupported)
	}
	targets, err := f.addressesOf(name)
	if err != nil {
		return nil, err
	}
	var sites []Site
	proof := codeProof{file: f}
	for _, section := range f.sections {
		if section.Type == elf.SHT_NOBITS || section.Flags&elf.SHF_EXECINSTR == 0 || section.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		code, err := f.sectionData(section, maxTextSection)
		if err != nil {
			return nil, err
		}
		for at := 0; at < len(code); at += step {
			address := section.Address + uint64(at)
			if !mayLead(code[at:], address, targets) {
				continue
			}
			site, found, err := f.returnOfCall(&proof, address, targets)
			if err != nil {
				return nil, err
			}
			if found {
				sites = append(sites, site)
			}
		}
	}
	if len(sites) == 0 {
		return nil, fmt.Errorf("%w: it is never called", ErrUnexpectedShape)
	}
	slices.SortFunc(sites, func(a, b Site) int { return cmp.Compare(a.Address, b.Address) })
	return sites, nil
}

// arm64InstructionSize is that of every instruction.
const arm64InstructionSize = 4

func mayLeadX86(code []byte, address uint64, targets []uint64) bool {
	if !beginsBranch[code[0]] {
		return false
	}
	end, isBranch := branchEnd(code)
	return isBranch && slices.Contains(targets, address+uint64(end))
}

// mayLeadARM64 knows bl and b: no compiler makes a conditional branch to a function that may be another file's.
func mayLeadARM64(code []byte, address uint64, targets []uint64) bool {
	const (
		link      = 1 << 31
		mask, own = 0xfc000000, 0x14000000 // b
	)
	if len(code) < arm64InstructionSize {
		return false
	}
	word := binary.LittleEndian.Uint32(code)
	if word&^link&mask != own {
		return false
	}
	displacement := int64(int32(word<<6)) >> 4
	return slices.Contains(targets, address+uint64(displacement))
}

// returnOfCall returns the instruction behind what looks like a branch to one of the targets, false if it is a part of
// another instruction.
func (f *File) returnOfCall(proof *codeProof, address uint64, targets []uint64) (site Site, found bool, err error) {
	call, err := proof.instruction(address)
	switch {
	case err != nil:
		return Site{}, false, fmt.Errorf("%w: %w", ErrUnexpectedShape, err)
	case call.Address != address && !slices.Contains(targets, call.Target):
		return Site{}, false, nil
	case call.Address != address || call.Flow != FlowCall:
		return Site{}, false, fmt.Errorf("%w: % x at %#x leads to it", ErrUnexpectedShape, call.Bytes, call.Address)
	}
	next, err := proof.instruction(call.End())
	if err != nil {
		return Site{}, false, fmt.Errorf("%w: behind the call at %#x: %w", ErrUnexpectedShape, call.Address, err)
	}
	site, err = f.site(next)
	return site, err == nil, err
}
