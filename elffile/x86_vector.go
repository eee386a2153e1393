package elffile

import "golang.org/x/arch/x86/x86asm"

// First bytes of the prefixes that vector instructions have in 64-bit code (Intel SDM volume 2, 2.3 and 2.7).
const (
	prefixVEX2 = 0xc5
	prefixVEX3 = 0xc4
	prefixEVEX = 0x62
)

// opcodeClear is that of vzeroupper and vzeroall, the only vector instructions without a ModRM byte.
const opcodeClear = 0x77

// vectorLength returns the bytes of an instruction with a VEX or EVEX prefix; isVector tells whether it has one. The
// length is 0 where the opcode map is not known or the code ends before.
//
// Package x86asm decodes most of these, but takes the byte behind vzeroupper for a part of it.
func vectorLength(code []byte) (length int, isVector bool) {
	start := 0
	for start < len(code) && isVectorLegacyPrefix(code[start]) {
		start++
	}
	if start == len(code) {
		return 0, false
	}
	rest := code[start:]
	prefixSize, opcodeMap := 0, byte(1)
	switch rest[0] {
	case prefixVEX2:
		prefixSize = 2
	case prefixVEX3:
		prefixSize = 3
	case prefixEVEX:
		prefixSize = 4
	default:
		return 0, false
	}
	if len(rest) <= prefixSize {
		return 0, true
	}
	switch rest[0] {
	case prefixVEX3:
		opcodeMap = rest[1] & 0x1f
	case prefixEVEX:
		opcodeMap = rest[1] & 0x07
	}
	opcode := rest[prefixSize]
	if opcodeMap == 1 && opcode == opcodeClear && rest[0] != prefixEVEX {
		return start + prefixSize + 1, true
	}
	immediate, known := vectorImmediate(opcodeMap, opcode, rest[0] == prefixEVEX)
	operand := operandLength(rest[prefixSize+1:])
	if !known || operand == 0 {
		return 0, true
	}
	return start + prefixSize + 1 + operand + immediate, true
}

// isVectorLegacyPrefix tells of the prefixes that may stand before VEX and EVEX: those of segments and of the size of
// addresses.
func isVectorLegacyPrefix(b byte) bool {
	switch b {
	case 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67:
		return true
	}
	return false
}

// vectorImmediate returns how many bytes of an immediate follow the operands.
func vectorImmediate(opcodeMap, opcode byte, evex bool) (size int, known bool) {
	switch opcodeMap {
	case 1: // 0f
		switch opcode {
		case 0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6:
			return 1, true
		}
		return 0, true
	case 2: // 0f 38
		return 0, true
	case 3: // 0f 3a
		return 1, true
	case 5, 6: // half precision
		return 0, evex
	}
	return 0, false
}

// operandLength returns the bytes of ModRM, SIB and displacement, 0 if the code ends before.
func operandLength(code []byte) int {
	if len(code) == 0 {
		return 0
	}
	mode, base := code[0]>>6, code[0]&7
	if mode == 3 {
		return 1
	}
	length := 1
	if base == 4 {
		if len(code) < 2 {
			return 0
		}
		base = code[1] & 7
		length = 2
	}
	switch {
	case mode == 1:
		return length + 1
	case mode == 2, base == 5: // base 5 without a mode: a displacement, relative to the instruction pointer or to nothing
		return length + 4
	}
	return length
}

// correctVector gives a vector instruction its true length. It reports false where the decoder's view of it cannot be
// mended.
func correctVector(decoded *x86asm.Inst, code []byte) bool {
	length, isVector := vectorLength(code)
	switch {
	case !isVector, length == decoded.Len:
		return true
	case decoded.Op == x86asm.VZEROUPPER, decoded.Op == x86asm.VZEROALL:
		decoded.Len = length
		return length != 0
	}
	return false
}
