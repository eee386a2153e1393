package elffile

// argumentRegistersARM64 is how many registers, from x0 on, carry integer arguments (AAPCS64); x8 carries the place of
// a result.
const argumentRegistersARM64 = 9

// effectARM64 knows the instructions that compilers schedule into the start of a function. All others are unknown.
func effectARM64(word uint32) (effect, bool) {
	const stackPointer = 31
	first, base := word&31, word>>5&31
	writesFirst := func() (effect, bool) {
		if first < argumentRegistersARM64 {
			return effect{argument: int(first) + 1}, true
		}
		return effect{}, true
	}
	switch {
	case word&0xfffff01f == 0xd503201f: // hints: bti, paciasp, nop
		return effect{}, true
	case word&0xffc00000 == 0xa9800000 && base == stackPointer, word&0xffc00000 == 0x6d800000 && base == stackPointer: // stp of x or d, [sp, #n]!
		displacement := int(int32(word<<10)>>25) * stackWord
		return effect{pushed: -displacement}, displacement < 0
	case word&0xffe00c00 == 0xf8000c00 && base == stackPointer: // str x, [sp, #n]!
		displacement := int(int32(word<<11) >> 23)
		return effect{pushed: -displacement}, displacement < 0
	case word&0xffc00000 == 0xa9000000, word&0xffc00000 == 0x6d000000: // stp with an offset
		return effect{}, true
	case word&0xffc00000 == 0xf9000000, word&0xffc00000 == 0xb9000000, word&0xffc00000 == 0x39000000: // str x, w, b with an offset
		return effect{}, true
	case word&0xff8003ff == 0xd10003ff: // sub sp, sp, #n
		return effect{pushed: int(word>>10&0xfff) << (word >> 22 & 1 * 12)}, true
	case word&0xff800000 == 0x91000000 && first != stackPointer: // add x, x, #n; mov x29, sp
		return writesFirst()
	case word&0xffe0ffe0 == 0xaa0003e0, word&0xffe0ffe0 == 0x2a0003e0: // mov of registers
		return writesFirst()
	case word&0xff800000 == 0xd2800000, word&0xff800000 == 0x52800000: // movz
		return writesFirst()
	case word&0xffc00000 == 0xf9400000, word&0xffc00000 == 0xb9400000, word&0xffc00000 == 0x39400000: // ldr x, w, b with an offset
		return writesFirst()
	}
	return effect{}, false
}
