package elffile

import (
	"fmt"
	"maps"
)

// conventionARM64 is AAPCS64: the place of a result in memory has a register of its own, x8.
var conventionARM64 = callingConvention{
	arguments: argumentsARM64(),
	stack:     stackARM64,
	returned:  0,
	result:    originFirst + argumentRegistersARM64 - 1,
	object:    originFirst,
	execute:   func(s *accessorState, instruction Instruction) error { return arm64State{s}.execute(instruction) },
	branch: func(s *accessorState, instruction Instruction, taken bool) {
		arm64State{s}.branch(wordOf(instruction), taken)
	},
}

func argumentsARM64() map[int8]machineRegister {
	arguments := make(map[int8]machineRegister)
	for i := range argumentRegistersARM64 {
		arguments[originFirst+int8(i)] = machineRegister(i)
	}
	return arguments
}

// wordBytesARM64 is the size of a pointer.
const wordBytesARM64 = 8

// arm64State is an accessorState whose registers are those of arm64, numbered as in operationARM64.
type arm64State struct{ *accessorState }

func (s arm64State) set(register machineRegister, value accessorValue) {
	if register != zeroARM64 {
		s.registers[register] = value
	}
}

func (s arm64State) register(register machineRegister) accessorValue {
	if register == zeroARM64 {
		return accessorValue{origin: originZero}
	}
	return s.registers[register]
}

// execute notes what an instruction does. What it computes in ways not modelled here becomes unknown.
func (s arm64State) execute(instruction Instruction) error {
	if instruction.Flow == FlowCall || instruction.Flow == FlowIndirectCall {
		maps.DeleteFunc(s.registers, func(r machineRegister, _ accessorValue) bool { return !isCalleeSavedARM64(r) })
		return nil
	}
	operation := decodeOperationARM64(wordOf(instruction))
	switch operation.kind {
	case operationMove:
		value := s.register(operation.base)
		if operation.bytes < wordBytesARM64 {
			value = accessorValue{}
		}
		s.set(operation.first, value)
	case operationZero:
		s.set(operation.first, accessorValue{origin: originZero})
	case operationAdd:
		s.set(operation.first, s.register(operation.base).plus(operation.displacement))
	case operationLoad, operationStore:
		s.transfer(operation)
	case operationOther:
		s.set(operation.first, accessorValue{})
		s.set(operation.second, accessorValue{})
	case operationUnknown:
		maps.DeleteFunc(s.registers, func(r machineRegister, _ accessorValue) bool { return r != stackARM64 })
		clear(s.stack)
	case operationLostStack:
		return fmt.Errorf("%w: its stack cannot be followed at %#x", ErrUnexpectedShape, instruction.Address)
	}
	if s.registers[stackARM64].origin != originStack {
		return fmt.Errorf("%w: its stack cannot be followed at %#x", ErrUnexpectedShape, instruction.Address)
	}
	return nil
}

// isCalleeSavedARM64 tells the registers that a called function leaves as they were. Of vector registers it keeps
// halves.
func isCalleeSavedARM64(register machineRegister) bool {
	const firstSaved = 19
	return register >= firstSaved && register < linkRegisterARM64 || register == stackARM64
}

// transfer carries out a load or a store. Parts of words are followed only where they are members of objects.
func (s arm64State) transfer(operation operationARM64) {
	base := s.register(operation.base)
	at := base.plus(operation.displacement)
	moves := []struct {
		register machineRegister
		at       accessorValue
	}{{operation.first, at}}
	if operation.isPair {
		moves = append(moves, moves[0])
		moves[1].register, moves[1].at = operation.second, at.plus(int64(operation.bytes))
	}
	isWhole := operation.bytes >= wordBytesARM64
	values := make([]accessorValue, len(moves))
	for i, move := range moves {
		switch {
		case operation.kind == operationLoad && (isWhole || base.origin != originStack):
			values[i] = s.loadFrom(move.at)
		case operation.kind == operationStore && isWhole:
			values[i] = s.register(move.register)
		}
	}
	s.set(operation.base, base.plus(operation.writeBack))
	for i, move := range moves {
		if operation.kind == operationLoad {
			s.set(move.register, values[i])
		} else {
			s.storeAt(move.at, values[i], operation.bytes)
		}
	}
}

// branch notes that a register is zero where cbz was taken or cbnz was not.
func (s arm64State) branch(word uint32, taken bool) {
	const compareAndBranch, mask, isNonZero = 0xb4000000, 0xfe000000, 1 << 24
	if word&mask != compareAndBranch || taken == (word&isNonZero != 0) {
		return
	}
	value := s.register(generalOrZero(word))
	s.set(generalOrZero(word), accessorValue{origin: originZero})
	if value == (accessorValue{}) || value.origin == originStack {
		return
	}
	for register, other := range s.registers {
		if other == value {
			s.registers[register] = accessorValue{origin: originZero}
		}
	}
}
