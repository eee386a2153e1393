package elffile

import (
	"bytes"
	"debug/elf"
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
	// Emulation names the kind of instruction that the kernel emulates, "" if it does not emulate this one.
	Emulation string
	// StackOffset is how far below its value at the function's entry the stack pointer is here, in bytes.
	StackOffset int
	// Instruction is the instruction's bytes in the file, to be compared with what is there when attaching.
	Instruction []byte
}

// site checks that a probe at the instruction is safe.
func (f *File) site(instruction Instruction) (Site, error) {
	return f.siteOn(instruction, KernelVersion{})
}

// siteOn is site for the class that the instruction has on a kernel.
func (f *File) siteOn(instruction Instruction, kernel KernelVersion) (Site, error) {
	if f.Machine() == elf.EM_X86_64 && isMultiByteNop(instruction) {
		return Site{}, fmt.Errorf("%w: nop of several bytes at %#x", ErrNoSafeSite, instruction.Address)
	}
	if f.Machine() == elf.EM_AARCH64 && isLiteralLoadARM64(instruction) {
		return Site{}, fmt.Errorf("%w: load of a literal at %#x", ErrNoSafeSite, instruction.Address)
	}
	if instruction.Flow == FlowTrap {
		return Site{}, fmt.Errorf("%w: trap instruction at %#x", ErrNoSafeSite, instruction.Address)
	}
	offset, err := f.FileOffset(instruction.Address)
	if err != nil {
		return Site{}, err
	}
	site := Site{
		Address:     instruction.Address,
		FileOffset:  offset,
		Class:       ClassSingleStepped,
		Instruction: bytes.Clone(instruction.Bytes),
	}
	if emulation := f.emulationOf(instruction, kernel); emulation != nil {
		site.Class, site.Emulation = ClassEmulated, emulation.Name
	}
	return site, nil
}

// longestInstruction is the length of the longest x86-64 instruction.
const longestInstruction = 15

func (f *File) instructionAt(address uint64) (Instruction, error) {
	code := make([]byte, longestInstruction)
	n, err := f.readCode(address, code)
	if n == 0 {
		return Instruction{}, err
	}
	return f.decodeOne(code[:n], address)
}

func isEndbr64(instruction Instruction) bool { return bytes.Equal(instruction.Bytes, endbr64) }

func isMultiByteNop(instruction Instruction) bool {
	if len(instruction.Bytes) < 2 || isEndbr64(instruction) {
		return false
	}
	decoded := instruction.X86
	isExchangeWithItself := decoded.Op == x86asm.XCHG && decoded.Args[0] == decoded.Args[1]
	return decoded.Op == x86asm.NOP || isExchangeWithItself
}
