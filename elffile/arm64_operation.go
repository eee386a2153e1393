package elffile

import "slices"

// operationKindARM64 is what an instruction does, as far as following values through a function needs it.
type operationKindARM64 int

const (
	// operationOther gives its registers values that are not followed.
	operationOther operationKindARM64 = iota
	operationMove
	operationZero
	operationAdd
	operationLoad
	operationStore
	// operationUnknown may write any register and anywhere on the stack. It does not move the stack pointer.
	operationUnknown
	// operationLostStack gives the stack pointer a value that is not followed.
	operationLostStack
)

// Numbers of registers of arm64: x0 to x30 and the stack pointer, then the vector registers, q0 to q31. Fields of
// instructions mean the stack pointer or the zero register by 31, depending on the instruction; the latter is none of
// these.
const (
	linkRegisterARM64 machineRegister = 30
	stackARM64        machineRegister = 31
	vectorsARM64      machineRegister = 32
	zeroARM64         machineRegister = -1
)

// operationARM64 is a decoded instruction that is no branch.
type operationARM64 struct {
	kind operationKindARM64
	// first and second are the registers that are written, or those that are stored; zeroARM64 if there are fewer.
	first, second machineRegister
	isPair        bool
	// base is the register of an address, or the source of operationMove and operationAdd.
	base machineRegister
	// displacement is added to base, for what is computed, loaded or stored.
	displacement int64
	// writeBack is added to base by the instruction itself.
	writeBack int64
	// bytes is the size of what is moved, loaded or stored, of each of a pair.
	bytes int
}

// other is the operation that only gives a register a value that is not followed.
func other(register machineRegister) operationARM64 {
	return operationARM64{kind: operationOther, first: register, second: zeroARM64}
}

// decodeOperationARM64 decodes an instruction that is no branch, by the encoding's classes (Arm Architecture Reference
// Manual for A-profile, C4.1).
func decodeOperationARM64(word uint32) operationARM64 {
	switch word >> 25 & 0xf {
	case 0x8, 0x9:
		return decodeImmediateARM64(word)
	case 0x5, 0xd:
		return decodeRegistersARM64(word)
	case 0x4, 0x6, 0xc, 0xe:
		return decodeMemoryARM64(word)
	case 0xa, 0xb:
		return decodeSystemARM64(word)
	case 0x7, 0xf: // vectors; some give a general register a value
		return operationARM64{kind: operationOther, first: generalOrZero(word), second: vectorsARM64 + machineRegister(word&31)}
	}
	return operationARM64{kind: operationLostStack} // of extensions that the compilers of ROS 2's packages do not use
}

// generalOrZero is the register in an instruction's lowest field where 31 means the zero register.
func generalOrZero(field uint32) machineRegister {
	if field&31 == 31 {
		return zeroARM64
	}
	return machineRegister(field & 31)
}

// generalOrStack is the same where 31 means the stack pointer.
func generalOrStack(field uint32) machineRegister { return machineRegister(field & 31) }

// decodeImmediateARM64 decodes data processing with immediate operands.
func decodeImmediateARM64(word uint32) operationARM64 {
	const is64Bit, setsFlags = 1 << 31, 1 << 29
	switch word >> 23 & 7 {
	case 2: // add, sub
		if word&setsFlags != 0 {
			return other(generalOrZero(word))
		}
		value := int64(word >> 10 & 0xfff)
		if word>>22&1 != 0 {
			value <<= 12
		}
		if word>>30&1 != 0 {
			value = -value
		}
		operation := operationARM64{kind: operationAdd, first: generalOrStack(word), second: zeroARM64, base: generalOrStack(word >> 5), displacement: value}
		if word&is64Bit == 0 {
			operation = other(operation.first)
		}
		return notToStack(operation)
	case 4: // and, orr, eor, ands
		if word>>29&3 == 3 {
			return other(generalOrZero(word))
		}
		return notToStack(other(generalOrStack(word)))
	case 3: // with memory tags
		return notToStack(other(generalOrStack(word)))
	case 5: // movn, movz, movk
		if word>>29&3 == 2 && word>>5&0xffff == 0 {
			return operationARM64{kind: operationZero, first: generalOrZero(word), second: zeroARM64}
		}
	}
	return other(generalOrZero(word))
}

// notToStack refuses to give the stack pointer a value that is not followed.
func notToStack(operation operationARM64) operationARM64 {
	if operation.kind == operationOther && operation.first == stackARM64 {
		operation.kind = operationLostStack
	}
	return operation
}

// decodeRegistersARM64 decodes data processing with register operands.
func decodeRegistersARM64(word uint32) operationARM64 {
	switch {
	case word&0x7fe0ffe0 == 0x2a0003e0: // orr with the zero register: mov
		if source := generalOrZero(word >> 16); source != zeroARM64 {
			return operationARM64{kind: operationMove, first: generalOrZero(word), second: zeroARM64, base: source, bytes: 4 << (word >> 31)}
		}
		return operationARM64{kind: operationZero, first: generalOrZero(word), second: zeroARM64}
	case word&0x3fe00000 == 0x0b200000: // add, sub of an extended register, without flags
		return notToStack(other(generalOrStack(word)))
	}
	return other(generalOrZero(word))
}

// decodeSystemARM64 decodes hints, barriers and moves from system registers.
func decodeSystemARM64(word uint32) operationARM64 {
	switch {
	case slices.Contains(hintsARM64, word):
		return other(linkRegisterARM64) // which some of them sign
	case word&0xffc00000 == 0xd5000000 && word&0xfffff01f != 0xd503201f:
		return other(generalOrZero(word))
	}
	return operationARM64{kind: operationUnknown}
}

// hintsARM64 are the hints that compilers emit: nop, paciasp, pacibsp, autiasp, autibsp, bti, bti c, bti j, bti jc.
var hintsARM64 = []uint32{
	0xd503201f, 0xd503233f, 0xd503237f, 0xd50323bf, 0xd50323ff, 0xd503241f, 0xd503245f, 0xd503249f, 0xd50324df,
}

// decodeMemoryARM64 decodes loads and stores. Those whose address is not a register and a number, and the atomic ones,
// are unknown.
func decodeMemoryARM64(word uint32) operationARM64 {
	isVector := word>>26&1 != 0
	base := generalOrStack(word >> 5)
	switch {
	case word&0x3a000000 == 0x28000000:
		return decodePairARM64(word, isVector, base)
	case word&0x3b000000 == 0x39000000: // an unsigned number, in units of the size
		operation := decodeSingleARM64(word, isVector, base)
		operation.displacement = int64(word>>10&0xfff) * int64(operation.bytes)
		return operation
	case word&0x3b200000 == 0x38000000:
		number := int64(int32(word<<11) >> 23)
		operation := decodeSingleARM64(word, isVector, base)
		switch word >> 10 & 3 {
		case 0, 2: // in bytes, in bytes with a user's rights
			operation.displacement = number
		case 1: // afterwards
			operation.writeBack = number
		case 3: // before
			operation.displacement, operation.writeBack = number, number
		}
		return operation
	case word&0x3b000000 == 0x18000000: // a literal
		return operationARM64{kind: operationOther, first: generalOrZero(word), second: vectorsARM64 + machineRegister(word&31)}
	}
	if base == stackARM64 {
		return operationARM64{kind: operationLostStack} // some of them move their base
	}
	return operationARM64{kind: operationUnknown}
}

// decodeSingleARM64 decodes the size and the register of a load or store.
func decodeSingleARM64(word uint32, isVector bool, base machineRegister) operationARM64 {
	size, code := word>>30, word>>22&3
	operation := operationARM64{kind: operationLoad, first: generalOrZero(word), second: zeroARM64, base: base, bytes: 1 << size}
	switch {
	case isVector:
		operation.first = vectorsARM64 + machineRegister(word&31)
		if code >= 2 {
			operation.bytes = 16
		}
		if code%2 == 0 {
			operation.kind = operationStore
		}
	case code == 0:
		operation.kind = operationStore
	case size == 3 && code == 2:
		operation.first = zeroARM64 // prfm
	}
	return operation
}

// decodePairARM64 decodes ldp, stp and their kin.
func decodePairARM64(word uint32, isVector bool, base machineRegister) operationARM64 {
	operation := operationARM64{
		kind: operationStore, isPair: true, first: generalOrZero(word), second: generalOrZero(word >> 10), base: base, bytes: 4,
	}
	if word>>22&1 != 0 {
		operation.kind = operationLoad
	}
	size := word >> 30
	switch {
	case isVector:
		operation.first, operation.second = vectorsARM64+machineRegister(word&31), vectorsARM64+machineRegister(word>>10&31)
		operation.bytes = 4 << size
	case size == 2:
		operation.bytes = 8
	case size == 1 && operation.kind == operationStore, size == 3: // with memory tags, unallocated
		return operationARM64{kind: operationLostStack}
	}
	number := int64(int32(word<<10)>>25) * int64(operation.bytes)
	switch word >> 23 & 3 {
	case 0, 2:
		operation.displacement = number
	case 1:
		operation.writeBack = number
	case 3:
		operation.displacement, operation.writeBack = number, number
	}
	return operation
}
