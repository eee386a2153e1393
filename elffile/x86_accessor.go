package elffile

import (
	"fmt"
	"maps"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// conventionX86 is that of the System V ABI and the Itanium C++ ABI: the place of a result in memory is passed before
// the object.
var conventionX86 = callingConvention{
	arguments: argumentsX86(),
	stack:     machineRegister(x86asm.RSP),
	returned:  machineRegister(x86asm.RAX),
	result:    originFirst,
	object:    originFirst + 1,
	execute:   func(s *accessorState, instruction Instruction) error { return x86State{s}.execute(instruction) },
	branch:    func(*accessorState, Instruction, bool) {},
}

func argumentsX86() map[int8]machineRegister {
	arguments := make(map[int8]machineRegister)
	for i, register := range argumentRegisters {
		arguments[originFirst+int8(i)] = machineRegister(register)
	}
	return arguments
}

// x86State is an accessorState whose registers are those of x86-64, numbered as package x86asm does.
type x86State struct{ *accessorState }

func (s x86State) register(register x86asm.Reg) accessorValue {
	return s.registers[machineRegister(wholeRegister(register))]
}

func (s x86State) set(register x86asm.Reg, value accessorValue) {
	s.registers[machineRegister(wholeRegister(register))] = value
}

// calleeSaved are the registers that a called function leaves as they were.
var calleeSaved = []x86asm.Reg{x86asm.RBX, x86asm.RBP, x86asm.RSP, x86asm.R12, x86asm.R13, x86asm.R14, x86asm.R15}

// execute notes what an instruction does. Values that it computes in ways not modelled here become unknown.
func (s x86State) execute(instruction Instruction) error {
	decoded := instruction.X86
	switch decoded.Op {
	case 0, x86asm.NOP, x86asm.CMP, x86asm.TEST: // 0 is endbr64
		return nil
	case x86asm.CALL:
		maps.DeleteFunc(s.registers, func(r machineRegister, _ accessorValue) bool { return !slices.Contains(calleeSaved, x86asm.Reg(r)) })
		return nil
	case x86asm.PUSH:
		s.move(-8)
		s.store(x86asm.Mem{Base: x86asm.RSP}, s.operand(decoded.Args[0]), 8)
		return nil
	case x86asm.POP:
		value := s.load(x86asm.Mem{Base: x86asm.RSP})
		s.move(8)
		return s.assign(decoded.Args[0], value)
	case x86asm.LEAVE:
		s.set(x86asm.RSP, s.register(x86asm.RBP))
		s.set(x86asm.RBP, s.load(x86asm.Mem{Base: x86asm.RSP}))
		s.move(8)
		return nil
	case x86asm.ADD, x86asm.SUB:
		return s.add(decoded)
	case x86asm.AND:
		if alignment := stackAlignment(decoded); alignment != 0 {
			// Less than that, but what the function keeps below is apart from what is above in any case.
			s.move(-alignment)
			return nil
		}
	case x86asm.XOR:
		if decoded.Args[0] == decoded.Args[1] {
			return s.assign(decoded.Args[0], accessorValue{origin: originZero})
		}
	case x86asm.LEA:
		memory, _ := decoded.Args[1].(x86asm.Mem)
		return s.assign(decoded.Args[0], s.address(memory))
	case x86asm.MOV, x86asm.MOVZX, x86asm.MOVSXD, x86asm.MOVDQU, x86asm.MOVDQA, x86asm.MOVUPS, x86asm.MOVAPS, x86asm.MOVQ:
		if memory, isStore := decoded.Args[0].(x86asm.Mem); isStore {
			s.store(memory, s.operand(decoded.Args[1]), decoded.MemBytes)
			return nil
		}
		return s.assign(decoded.Args[0], s.operand(decoded.Args[1]))
	case x86asm.XCHG, x86asm.MUL, x86asm.IMUL, x86asm.DIV, x86asm.IDIV, x86asm.CPUID, x86asm.CMPXCHG, x86asm.XADD, x86asm.CQO, x86asm.CDQ, x86asm.CDQE:
		if decoded.Op == x86asm.XCHG && decoded.Args[0] == decoded.Args[1] {
			return nil // a nop of two bytes
		}
		for _, register := range []x86asm.Reg{x86asm.RAX, x86asm.RDX, x86asm.RBX, x86asm.RCX} {
			s.set(register, accessorValue{})
		}
		if second, isRegister := decoded.Args[1].(x86asm.Reg); isRegister {
			s.set(second, accessorValue{})
		}
	}
	return s.assign(decoded.Args[0], accessorValue{})
}

// stackAlignment returns to what an instruction aligns the stack, as of functions whose variables want more than the
// ABI gives them; 0 if it does something else.
func stackAlignment(decoded x86asm.Inst) int64 {
	const largest = 4096
	number, isNumber := decoded.Args[1].(x86asm.Imm)
	alignment := -int64(int32(number)) // as in address
	if decoded.Args[0] != x86asm.RSP || !isNumber || alignment <= 0 || alignment > largest || alignment&(alignment-1) != 0 {
		return 0
	}
	return alignment
}

// move moves the stack pointer.
func (s x86State) move(bytes int64) {
	s.set(x86asm.RSP, s.register(x86asm.RSP).plus(bytes))
}

func (s x86State) add(decoded x86asm.Inst) error {
	register, isRegister := decoded.Args[0].(x86asm.Reg)
	number, isNumber := decoded.Args[1].(x86asm.Imm)
	if !isRegister || !isNumber || wholeRegister(register) != register {
		return s.assign(decoded.Args[0], accessorValue{})
	}
	change := int64(int32(number)) // as in address
	if decoded.Op == x86asm.SUB {
		change = -change
	}
	s.set(register, s.register(register).plus(change))
	return nil
}

// assign gives a register a value. The stack must not get lost: what is stored there would.
func (s x86State) assign(destination x86asm.Arg, value accessorValue) error {
	switch destination := destination.(type) {
	case x86asm.Reg:
		if wholeRegister(destination) == x86asm.RSP && value.origin != originStack {
			return fmt.Errorf("%w: its stack cannot be followed", ErrUnexpectedShape)
		}
		s.set(destination, value)
	case x86asm.Mem:
		s.store(destination, value, 16)
	}
	return nil
}

func (s x86State) operand(source x86asm.Arg) accessorValue {
	switch source := source.(type) {
	case x86asm.Reg:
		return s.register(source)
	case x86asm.Mem:
		return s.load(source)
	case x86asm.Imm:
		if source == 0 {
			return accessorValue{origin: originZero}
		}
	}
	return accessorValue{}
}

func (s x86State) address(memory x86asm.Mem) accessorValue {
	if memory.Index != 0 || memory.Segment != 0 {
		return accessorValue{}
	}
	return s.register(memory.Base).plus(int64(int32(memory.Disp))) // the decoder does not extend the sign of four bytes
}

func (s x86State) load(memory x86asm.Mem) accessorValue { return s.loadFrom(s.address(memory)) }

func (s x86State) store(memory x86asm.Mem, value accessorValue, bytes int) {
	s.storeAt(s.address(memory), value, bytes)
}
