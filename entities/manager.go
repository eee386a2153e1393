package entities

import (
	"bytes"
	"debug/elf"
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"

	"github.com/caret-bpf/caret-bpf/trace"
)

// maxManager bounds the code of a std::function's manager that is looked at.
const maxManager = 4096

// managedType returns the mangled name of the type of a std::function's target. The function's manager, asked for the
// target's type_info, returns its address: of the constants that its code mentions, the first that is a type_info is
// it.
func (r reader) managedType(manager Function) (string, bool) {
	code := make([]byte, min(manager.End-manager.Start, maxManager))
	if err := r.memory.ReadAt(code, manager.Start); err != nil {
		return "", false
	}
	c := newClasses(r.view)
	var name string
	judge := func(address uint64) bool {
		typeInfo := trace.Address(address)
		if _, err := c.flavor(typeInfo); err != nil {
			return false
		}
		found, err := r.typeName(typeInfo)
		name = found
		return err == nil
	}
	// A slot of the global offset table holds the address of a type_info that another module may define.
	load := func(slot uint64) bool {
		address, err := r.constant(trace.Address(slot))
		return err == nil && judge(uint64(address))
	}
	var ok bool
	if r.layout.Machine == elf.EM_AARCH64 {
		ok = constantsARM64(code, manager.Start, judge, load)
	} else {
		ok = constantsX86(code, manager.Start, judge, load)
	}
	return name, ok
}

var endbr64 = []byte{0xf3, 0x0f, 0x1e, 0xfa}

// constantsX86 calls address for every address that code computes relative to itself and load for every one that it
// loads from, until one of them returns true.
func constantsX86(code []byte, at uint64, address, load func(uint64) bool) bool {
	for len(code) > 0 {
		if bytes.HasPrefix(code, endbr64) { // the decoder does not know it
			code, at = code[len(endbr64):], at+uint64(len(endbr64))
			continue
		}
		instruction, err := x86asm.Decode(code, 64)
		if err != nil || instruction.Len == 0 {
			return false
		}
		next := at + uint64(instruction.Len)
		if memory, ok := instruction.Args[1].(x86asm.Mem); ok && memory.Base == x86asm.RIP && memory.Index == 0 {
			target := next + uint64(int64(int32(memory.Disp))) // the decoder does not extend the sign
			if instruction.Op == x86asm.LEA && address(target) || instruction.Op == x86asm.MOV && instruction.MemBytes == 8 && load(target) {
				return true
			}
		}
		code, at = code[instruction.Len:], next
	}
	return false
}

// constantsARM64 is constantsX86 for the pairs of instructions that compute addresses on arm64: adrp, then add or ldr.
func constantsARM64(code []byte, at uint64, address, load func(uint64) bool) bool {
	const size = 4
	var pages [32]uint64
	var known [32]bool
	for ; len(code) >= size; code, at = code[size:], at+size {
		word := binary.LittleEndian.Uint32(code)
		destination, source := word&31, word>>5&31
		immediate := uint64(word >> 10 & 0xfff)
		switch {
		case word&0x9f000000 == 0x90000000: // adrp
			offset := int64(int32(word>>5&0x7ffff<<2|word>>29&3)<<11) >> 11
			pages[destination], known[destination] = at&^0xfff+uint64(offset<<12), true
		case word&0x9f000000 == 0x10000000: // adr
			offset := int64(int32(word>>5&0x7ffff<<2|word>>29&3)<<11) >> 11
			if address(at + uint64(offset)) {
				return true
			}
		case word&0xffc00000 == 0x91000000 && known[source]: // add
			if address(pages[source] + immediate) {
				return true
			}
		case word&0xffc00000 == 0xf9400000 && known[source]: // ldr
			if load(pages[source] + immediate*8) {
				return true
			}
		}
	}
	return false
}

// virtualMember takes a pointer to a member function apart: whether it names a virtual function, by its offset in the
// vtable, and what is to be added to the object's address.
func (r reader) virtualMember(first, second uint64) (virtual bool, offset, adjustment uint64) {
	if r.layout.Machine == elf.EM_AARCH64 {
		return second&1 != 0, first, uint64(int64(second) >> 1)
	}
	return first&1 != 0, first - 1, second
}
