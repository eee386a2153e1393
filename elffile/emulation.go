package elffile

import (
	"debug/elf"
	"encoding/binary"
)

// KernelVersion is the version of a Linux kernel. The zero value stands for the oldest that is supported.
type KernelVersion struct{ Major, Minor int }

// oldestKernel is the oldest kernel that caret-bpf supports.
var oldestKernel = KernelVersion{6, 1}

// Before reports whether a version is older than another.
func (v KernelVersion) Before(other KernelVersion) bool {
	if v.Major != other.Major {
		return v.Major < other.Major
	}
	return v.Minor < other.Minor
}

// Emulation is a kind of instruction whose effect the kernel carries out itself when a uprobe is on it, so that the
// thread traps once.
type Emulation struct {
	// Name says which instructions are meant: "push", "conditional jump".
	Name    string
	Machine elf.Machine
	// Since is the first kernel that does so.
	Since KernelVersion
	// Source names the function of the kernel that decides it.
	Source  string
	matches func(Instruction) bool
}

// The sources in the kernel that Emulations was made from.
const (
	sourceBranchX86 = "arch/x86/kernel/uprobes.c: branch_setup_xol_ops, branch_emulate_op"
	sourcePushX86   = "arch/x86/kernel/uprobes.c: push_setup_xol_ops, push_emulate_op"
	sourceARM64     = "arch/arm64/kernel/probes/decode-insn.c: arm_probe_decode_insn"
)

// emulations are all kinds of instructions that kernels emulate and that may be probed. x86 kernels also emulate nops
// of several bytes, which is no reason to probe them: see ErrNoSafeSite. Forms with prefixes, which compilers do not
// emit at these places, are left out. arm64 kernels of before October 2024 also emulate loads of literals, wrongly: see
// isLiteralLoadARM64.
var emulations = []Emulation{
	{"push", elf.EM_X86_64, KernelVersion{4, 16}, sourcePushX86, func(i Instruction) bool { return isRegisterPush(i.Bytes) }},
	{"call", elf.EM_X86_64, KernelVersion{3, 16}, sourceBranchX86, func(i Instruction) bool { return i.Bytes[0] == 0xe8 }},
	{"jump", elf.EM_X86_64, KernelVersion{3, 16}, sourceBranchX86, func(i Instruction) bool { return i.Bytes[0] == 0xe9 || i.Bytes[0] == 0xeb }},
	{"conditional jump", elf.EM_X86_64, KernelVersion{3, 16}, sourceBranchX86, func(i Instruction) bool { return isConditionalJumpX86(i.Bytes) }},
	{"nop", elf.EM_X86_64, KernelVersion{3, 16}, sourceBranchX86, func(i Instruction) bool { return len(i.Bytes) == 1 && i.Bytes[0] == 0x90 }},

	{"call", elf.EM_AARCH64, KernelVersion{4, 10}, sourceARM64, func(i Instruction) bool { return i.Flow == FlowCall }},
	{"jump", elf.EM_AARCH64, KernelVersion{4, 10}, sourceARM64, func(i Instruction) bool { return i.Flow == FlowJump }},
	{"conditional jump", elf.EM_AARCH64, KernelVersion{4, 10}, sourceARM64, func(i Instruction) bool { return i.Flow == FlowConditional }},
	{"return", elf.EM_AARCH64, KernelVersion{4, 10}, sourceARM64, func(i Instruction) bool { return i.Flow == FlowReturn && isPlainBranchARM64(i) }},
	{"indirect call", elf.EM_AARCH64, KernelVersion{4, 10}, sourceARM64, func(i Instruction) bool {
		return i.Flow == FlowIndirectCall && isPlainBranchARM64(i)
	}},
	{"indirect jump", elf.EM_AARCH64, KernelVersion{4, 10}, sourceARM64, func(i Instruction) bool {
		return i.Flow == FlowIndirectJump && isPlainBranchARM64(i)
	}},
	{"address", elf.EM_AARCH64, KernelVersion{4, 10}, sourceARM64, func(i Instruction) bool { return wordOf(i)&0x1f000000 == 0x10000000 }},
	{"nop", elf.EM_AARCH64, KernelVersion{6, 13}, sourceARM64, func(i Instruction) bool { return wordOf(i) == 0xd503201f }},
}

// emulationOf returns how a kernel emulates the instruction, nil if it does not.
func (f *File) emulationOf(instruction Instruction, kernel KernelVersion) *Emulation {
	if kernel == (KernelVersion{}) {
		kernel = oldestKernel
	}
	for i := range emulations {
		e := &emulations[i]
		if e.Machine == f.Machine() && !kernel.Before(e.Since) && e.matches(instruction) {
			return e
		}
	}
	return nil
}

// isRegisterPush: push of a register without prefix, or with the prefix for r8 to r15.
func isRegisterPush(code []byte) bool {
	if len(code) == 2 && code[0] == 0x41 {
		code = code[1:]
	}
	return len(code) == 1 && code[0] >= 0x50 && code[0] <= 0x57
}

func isConditionalJumpX86(code []byte) bool {
	return code[0] >= 0x70 && code[0] <= 0x7f || len(code) > 1 && code[0] == 0x0f && code[1] >= 0x80 && code[1] <= 0x8f
}

// isPlainBranchARM64 leaves out the authenticated forms of ret, br and blr.
func isPlainBranchARM64(i Instruction) bool { return wordOf(i)&0x0100_0c1f == 0 }

// isLiteralLoadARM64: ldr, ldrsw and prfm with an address relative to the instruction. Old kernels read the literal as
// if it were memory of their own, newer ones refuse to probe the instruction; but those that load vector registers they
// take for any instruction, and step through a copy, which loads from beside the copy or crashes.
func isLiteralLoadARM64(i Instruction) bool { return wordOf(i)&0x3b000000 == 0x18000000 }

func wordOf(i Instruction) uint32 { return binary.LittleEndian.Uint32(i.Bytes) }
