package elffile

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// ReturnedAddress is the address in the file that the function returns, if returning it is all that it does: such as
// "return &object" where the object cannot be another file's. ErrUnexpectedShape if it does anything else.
func (f *File) ReturnedAddress(symbol Symbol) (uint64, error) {
	bounds, err := f.FunctionBounds(symbol)
	if err != nil {
		return 0, err
	}
	code, err := f.Decode(bounds)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", symbol.Name, err)
	}
	end := slices.IndexFunc(code, func(i Instruction) bool { return i.Flow == FlowReturn })
	if end < 0 {
		return 0, fmt.Errorf("%s: %w: it does not return", symbol.Name, ErrUnexpectedShape)
	}
	returned := returnedAddressX86
	if f.Machine() == elf.EM_AARCH64 {
		returned = returnedAddressARM64
	}
	address, ok := returned(code[:end])
	if !ok {
		return 0, fmt.Errorf("%s: %w: it does more than return an address", symbol.Name, ErrUnexpectedShape)
	}
	return address, nil
}

// returnedAddressX86 accepts lea displacement(%rip),%rax and, around it, what makes and leaves a stack frame.
func returnedAddressX86(code []Instruction) (address uint64, ok bool) {
	for _, instruction := range code {
		decoded := instruction.X86
		memory, isMemory := decoded.Args[1].(x86asm.Mem)
		switch {
		case isEndbr64(instruction), decoded.Op == x86asm.NOP, decoded.Op == x86asm.LEAVE:
		case (decoded.Op == x86asm.PUSH || decoded.Op == x86asm.POP) && decoded.Args[0] == x86asm.RBP:
		case decoded.Op == x86asm.MOV && decoded.Args[0] == x86asm.RBP && decoded.Args[1] == x86asm.RSP:
		case !ok && decoded.Op == x86asm.LEA && decoded.Args[0] == x86asm.RAX &&
			isMemory && memory.Base == x86asm.RIP && memory.Index == 0 && memory.Segment == 0:
			address, ok = instruction.End()+uint64(int64(int32(memory.Disp))), true
		default:
			return 0, false
		}
	}
	return address, ok
}

// returnedAddressARM64 accepts adrp and add, or adr, into x0 and, around them, what makes, signs and leaves a stack
// frame.
func returnedAddressARM64(code []Instruction) (address uint64, ok bool) {
	const (
		nop        = 0xd503201f
		btiC       = 0xd503245f
		paciasp    = 0xd503233f
		autiasp    = 0xd50323bf
		pushFrame  = 0xa9bf7bfd // stp x29,x30,[sp,#-16]!
		setFrame   = 0x910003fd // mov x29,sp
		popFrame   = 0xa8c17bfd // ldp x29,x30,[sp],#16
		adrMask    = 0x9f00001f
		adrpX0     = 0x90000000
		adrX0      = 0x10000000
		addX0Mask  = 0xffc003ff
		addX0      = 0x91000000
		addX0Shift = 10
	)
	var hasPage bool
	for _, instruction := range code {
		word := binary.LittleEndian.Uint32(instruction.Bytes)
		immediate := int64(uint64(word>>29&3)|uint64(word>>5&0x7ffff)<<2) << 43 >> 43
		switch {
		case slices.Contains([]uint32{nop, btiC, paciasp, autiasp, pushFrame, setFrame, popFrame}, word):
		case word&adrMask == adrpX0 && !hasPage && !ok:
			address, hasPage = instruction.Address&^0xfff+uint64(immediate<<12), true
		case word&adrMask == adrX0 && !hasPage && !ok:
			address, ok = instruction.Address+uint64(immediate), true
		case word&addX0Mask == addX0 && hasPage && !ok:
			address, ok = address+uint64(word>>addX0Shift&0xfff), true
		default:
			return 0, false
		}
	}
	return address, ok
}
