package elffile

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// readOnlyX86 write flags at most.
var readOnlyX86 = []x86asm.Op{x86asm.CMP, x86asm.TEST, x86asm.NOP, x86asm.UCOMISS, x86asm.UCOMISD, x86asm.PTEST}

// writeFirstX86 write their first operand and flags, nothing else.
var writeFirstX86 = []x86asm.Op{
	x86asm.MOV, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.LEA, x86asm.XOR, x86asm.AND, x86asm.OR, x86asm.ADD, x86asm.SUB,
	x86asm.INC, x86asm.DEC, x86asm.NEG, x86asm.NOT, x86asm.SHL, x86asm.SHR, x86asm.SAR,
	x86asm.SETE, x86asm.SETNE, x86asm.SETA, x86asm.SETAE, x86asm.SETB, x86asm.SETBE, x86asm.SETG, x86asm.SETGE, x86asm.SETL, x86asm.SETLE,
	x86asm.MOVD, x86asm.MOVQ, x86asm.MOVAPS, x86asm.MOVAPD, x86asm.MOVUPS, x86asm.MOVUPD, x86asm.MOVDQA, x86asm.MOVDQU, x86asm.MOVSS,
	x86asm.MOVSD_XMM, x86asm.MOVHPS, x86asm.MOVLPS, x86asm.PXOR, x86asm.XORPS, x86asm.XORPD, x86asm.PUNPCKLQDQ,
}

// effectX86 knows the instructions that compilers schedule into the start of a function. All others are unknown.
func effectX86(instruction Instruction) (effect, bool) {
	if isEndbr64(instruction) || isMultiByteNop(instruction) {
		return effect{}, true
	}
	decoded := instruction.X86
	switch {
	case slices.Contains(readOnlyX86, decoded.Op):
		return effect{}, true
	case decoded.Op == x86asm.PUSH:
		const operandSizePrefix = 0x66
		return effect{pushed: stackWord}, instruction.Bytes[0] != operandSizePrefix
	case !slices.Contains(writeFirstX86, decoded.Op):
		return effect{}, false
	}
	register, isRegister := decoded.Args[0].(x86asm.Reg)
	if !isRegister { // a store
		_, isStore := decoded.Args[0].(x86asm.Mem)
		return effect{}, isStore
	}
	register = wholeRegister(register)
	if register == x86asm.RSP {
		size, isNumber := decoded.Args[1].(x86asm.Imm)
		return effect{pushed: int(size)}, isNumber && decoded.Op == x86asm.SUB && size >= 0 && size <= maxStackOffset
	}
	return effect{argument: slices.Index(argumentRegisters, register) + 1}, true
}
