package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"

	"golang.org/x/arch/x86/x86asm"
)

// Class is how the kernel executes a probed instruction, which is most of a probe's cost.
type Class int

const (
	// ClassEmulated: the kernel carries the instruction's effect out itself.
	ClassEmulated Class = iota + 1
	// ClassSingleStepped: the kernel lets the thread execute a copy and traps again, several times as slow.
	ClassSingleStepped
)

// String is "emulated" or "single-stepped".
func (c Class) String() string {
	switch c {
	case ClassEmulated:
		return "emulated"
	case ClassSingleStepped:
		return "single-stepped"
	}
	return fmt.Sprintf("class %d", int(c))
}

// MarshalText writes the name that String gives.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a name that MarshalText wrote.
func (c *Class) UnmarshalText(text []byte) error {
	for _, class := range []Class{ClassEmulated, ClassSingleStepped} {
		if string(text) == class.String() {
			*c = class
			return nil
		}
	}
	return fmt.Errorf("unknown probe class %.40q", text)
}

// Site is an instruction at which a uprobe is safe.
type Site struct {
	// Address is the instruction's virtual address in the file's own address space.
	Address uint64
	// FileOffset is what the probe is attached by.
	FileOffset uint64
	Class      Class
	// Instruction is the instruction's bytes in the file, to be compared with what is there when attaching.
	Instruction []byte
}

// FunctionSite is the place at the start of the function at which all arguments are still where the caller put
// them: after endbr64 at a push of a register where there is one, which the kernel emulates, else the function's
// first instruction. ErrNoSafeSite if that instruction is a nop of several bytes, which newer kernels replace by a
// call that overwrites the stack below a leaf function, or is none at all.
func (f *File) FunctionSite(symbol Symbol) (Site, error) {
	site, err := f.functionSite(symbol)
	if err != nil {
		return Site{}, fmt.Errorf("%s: %w", symbol.Name, err)
	}
	return site, nil
}

func (f *File) functionSite(symbol Symbol) (Site, error) {
	first, err := f.instructionAt(symbol.Address)
	if err != nil {
		return Site{}, err
	}
	if isEndbr64(first) && (symbol.Size == 0 || symbol.Size > uint64(len(first.Bytes))) {
		if second, err := f.instructionAt(first.End()); err == nil && isEmulatedPush(second.Bytes) {
			return f.site(second)
		}
	}
	return f.site(first)
}

// site checks that a probe at the instruction is safe.
func (f *File) site(instruction Instruction) (Site, error) {
	if f.Machine() == elf.EM_X86_64 && isMultiByteNop(instruction) {
		return Site{}, fmt.Errorf("%w: nop of several bytes at %#x", ErrNoSafeSite, instruction.Address)
	}
	if instruction.Flow == FlowTrap {
		return Site{}, fmt.Errorf("%w: trap instruction at %#x", ErrNoSafeSite, instruction.Address)
	}
	offset, err := f.FileOffset(instruction.Address)
	if err != nil {
		return Site{}, err
	}
	return Site{
		Address:     instruction.Address,
		FileOffset:  offset,
		Class:       f.class(instruction),
		Instruction: bytes.Clone(instruction.Bytes),
	}, nil
}

func (f *File) instructionAt(address uint64) (Instruction, error) {
	const longest = 15
	code := make([]byte, longest)
	n, err := f.readCode(address, code)
	if n == 0 {
		return Instruction{}, err
	}
	return f.decodeOne(code[:n], address)
}

func (f *File) class(instruction Instruction) Class {
	emulated := false
	switch f.Machine() {
	case elf.EM_X86_64:
		emulated = isEmulatedX86(instruction)
	case elf.EM_AARCH64:
		emulated = isSimulatedARM64(instruction)
	}
	if emulated {
		return ClassEmulated
	}
	return ClassSingleStepped
}

func isEndbr64(instruction Instruction) bool { return bytes.Equal(instruction.Bytes, endbr64) }

// isEmulatedPush: push of a register without prefix, or with the prefix for r8 to r15
// (arch/x86/kernel/uprobes.c, push_setup_xol_ops).
func isEmulatedPush(code []byte) bool {
	if len(code) == 2 && code[0] == 0x41 {
		code = code[1:]
	}
	return len(code) == 1 && code[0] >= 0x50 && code[0] <= 0x57
}

// isEmulatedX86 follows arch/x86/kernel/uprobes.c, branch_setup_xol_ops: relative call, jmp and jcc without
// operand size prefix, and nop of one byte.
func isEmulatedX86(instruction Instruction) bool {
	code := instruction.Bytes
	if isEmulatedPush(code) {
		return true
	}
	switch opcode := code[0]; {
	case opcode == 0xe8, opcode == 0xe9, opcode == 0xeb, opcode >= 0x70 && opcode <= 0x7f:
		return true
	case opcode == 0x90:
		return len(code) == 1
	case opcode == 0x0f:
		return len(code) > 1 && code[1] >= 0x80 && code[1] <= 0x8f
	}
	return false
}

func isMultiByteNop(instruction Instruction) bool {
	if len(instruction.Bytes) < 2 || isEndbr64(instruction) {
		return false
	}
	decoded := instruction.X86
	isExchangeWithItself := decoded.Op == x86asm.XCHG && decoded.Args[0] == decoded.Args[1]
	return decoded.Op == x86asm.NOP || isExchangeWithItself
}

// isSimulatedARM64 follows arch/arm64/kernel/probes/decode-insn.c: branches, address formation and literal loads.
func isSimulatedARM64(instruction Instruction) bool {
	word := binary.LittleEndian.Uint32(instruction.Bytes)
	switch instruction.Flow {
	case FlowCall, FlowJump, FlowConditional:
		return true
	case FlowReturn, FlowIndirectCall, FlowIndirectJump:
		return word&0x0100_0c1f == 0 // not the authenticated forms
	}
	isAddress := word&0x1f000000 == 0x10000000
	isLiteralLoad := word&0x3f000000 == 0x18000000 && word>>30 != 3
	return isAddress || isLiteralLoad
}
