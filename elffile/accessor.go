package elffile

import (
	"debug/elf"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// Member tells where an accessor function finds what it gives: starting from the object that its argument points to, each offset but the
// last leads to a pointer to the next object.
type Member struct {
	Offsets []int64
	// Address is true when the function gives the member's address instead of its value.
	Address bool
}

// ReturnedMember finds out which member of its first argument the function symbol returns, as in
//
//	return object->impl->handle;
//
// It follows every path through the function. On each it must return the same member, or zero as functions do that check the argument first.
// ErrUnexpectedShape if it does anything else or cannot be followed, ErrUnsupported on machines other than x86-64.
func (f *File) ReturnedMember(symbol Symbol) (Member, error) {
	return f.member(symbol, 1, func(s *accessorState) accessorValue { return s.register(x86asm.RAX) })
}

// CopiedMember is ReturnedMember for a member function that returns an object in memory, such as a std::shared_ptr: which member of its object
// the first word of the result is copied from. The caller passes the result's place before the object (System V ABI, Itanium C++ ABI).
func (f *File) CopiedMember(symbol Symbol) (Member, error) {
	return f.member(symbol, 2, func(s *accessorState) accessorValue { return s.result })
}

func (f *File) member(symbol Symbol, argument int8, given func(*accessorState) accessorValue) (Member, error) {
	if f.Machine() != elf.EM_X86_64 {
		return Member{}, fmt.Errorf("%s: %w: machine %v", symbol.Name, ErrUnsupported, f.Machine())
	}
	bounds, err := f.FunctionBounds(symbol)
	if err != nil {
		return Member{}, err
	}
	w := accessorWalk{file: f, code: make(map[uint64]Instruction)}
	if err := w.decode(bounds); err != nil {
		return Member{}, fmt.Errorf("%s: %w", symbol.Name, err)
	}
	values, err := w.follow(bounds, given)
	if err != nil {
		return Member{}, fmt.Errorf("%s: %w", symbol.Name, err)
	}
	values = slices.DeleteFunc(values, func(v accessorValue) bool { return v == accessorValue{origin: originZero} })
	if len(values) != 1 || values[0].origin != argument {
		return Member{}, fmt.Errorf("%s: %w: it does not simply give a member", symbol.Name, ErrUnexpectedShape)
	}
	return values[0].member()
}

// The origins of values that are not an argument, whose origin is its position from 1 on.
const (
	originUnknown int8 = 0
	originZero    int8 = -1
	originStack   int8 = -2 // the stack pointer at entry
)

// maxDereferences is how many pointers an accessor may follow.
const maxDereferences = 4

// accessorValue is what a register holds: displacement added to what a chain of loads from an argument gave. It is comparable.
type accessorValue struct {
	origin       int8
	depth        int8
	loads        [maxDereferences]int64
	displacement int64
}

func (v accessorValue) plus(displacement int64) accessorValue {
	if v.origin > 0 || v.origin == originStack {
		v.displacement += displacement
		return v
	}
	return accessorValue{}
}

func (v accessorValue) load(displacement int64) accessorValue {
	if v.origin <= 0 || int(v.depth) == maxDereferences {
		return accessorValue{}
	}
	v.loads[v.depth] = v.displacement + displacement
	v.depth++
	v.displacement = 0
	return v
}

func (v accessorValue) member() (Member, error) {
	m := Member{Offsets: slices.Clone(v.loads[:v.depth])}
	switch {
	case v.displacement != 0:
		m.Offsets, m.Address = append(m.Offsets, v.displacement), true
	case v.depth == 0:
		return Member{}, fmt.Errorf("%w: it gives its argument", ErrUnexpectedShape)
	}
	return m, nil
}

// accessorState is what is known at one instruction of one path.
type accessorState struct {
	registers map[x86asm.Reg]accessorValue // absent ones are unknown
	stack     map[int64]accessorValue      // by offset from the stack pointer at entry
	result    accessorValue                // what was stored at the place that the first argument points to
	passed    map[uint64]bool              // branches that lead back
}

func newAccessorState() *accessorState {
	s := &accessorState{
		registers: map[x86asm.Reg]accessorValue{x86asm.RSP: {origin: originStack}},
		stack:     make(map[int64]accessorValue),
		passed:    make(map[uint64]bool),
	}
	for i, register := range argumentRegisters {
		s.registers[register] = accessorValue{origin: int8(i + 1)}
	}
	return s
}

func (s *accessorState) clone() *accessorState {
	return &accessorState{maps.Clone(s.registers), maps.Clone(s.stack), s.result, maps.Clone(s.passed)}
}

func (s *accessorState) register(register x86asm.Reg) accessorValue {
	return s.registers[wholeRegister(register)]
}

func (s *accessorState) set(register x86asm.Reg, value accessorValue) {
	s.registers[wholeRegister(register)] = value
}

// accessorWalk goes through all paths of a function.
type accessorWalk struct {
	file *File
	code map[uint64]Instruction
}

func (w *accessorWalk) decode(bounds Range) error {
	code, err := w.file.Decode(bounds)
	for _, instruction := range code {
		w.code[instruction.Address] = instruction
	}
	return err
}

// maxAccessorSteps bounds the walk. Accessors are short.
const maxAccessorSteps = 20_000

// follow returns what the function gives, each different value once.
func (w *accessorWalk) follow(bounds Range, given func(*accessorState) accessorValue) ([]accessorValue, error) {
	type position struct {
		address uint64
		state   *accessorState
	}
	var values []accessorValue
	steps := 0
	for pending := []position{{bounds.Start, newAccessorState()}}; len(pending) > 0; {
		at := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		for ended := false; !ended; {
			if steps++; steps > maxAccessorSteps {
				return nil, fmt.Errorf("%w: too many paths", ErrUnexpectedShape)
			}
			instruction, err := w.at(at.address)
			if err != nil {
				return nil, err
			}
			switch instruction.Flow {
			case FlowNext, FlowCall, FlowIndirectCall:
				if err := at.state.execute(instruction); err != nil {
					return nil, err
				}
				at.address = instruction.End()
			case FlowConditional, FlowJump:
				branches := []uint64{instruction.Target}
				if instruction.Flow == FlowConditional {
					branches = append(branches, instruction.End())
				}
				for _, branch := range branches {
					next := at.state.clone()
					if branch <= instruction.Address {
						if next.passed[instruction.Address] {
							continue // a loop gives nothing new
						}
						next.passed[instruction.Address] = true
					}
					pending = append(pending, position{branch, next})
				}
				ended = true
			case FlowReturn:
				if value := given(at.state); !slices.Contains(values, value) {
					values = append(values, value)
				}
				ended = true
			case FlowTrap:
				ended = true
			default:
				return nil, fmt.Errorf("%w: indirect jump at %#x", ErrUnexpectedShape, instruction.Address)
			}
		}
	}
	return values, nil
}

// at returns the instruction at an address, of an outlined part of the function if need be.
func (w *accessorWalk) at(address uint64) (Instruction, error) {
	instruction, known := w.code[address]
	if known {
		return instruction, nil
	}
	part, err := w.file.outlinedPart(address)
	if err != nil {
		return Instruction{}, err
	}
	if part.Start == part.End {
		return Instruction{}, fmt.Errorf("%w: goes on in another function at %#x", ErrUnexpectedShape, address)
	}
	if err := w.decode(part); err != nil {
		return Instruction{}, err
	}
	if instruction, known = w.code[address]; !known {
		return Instruction{}, fmt.Errorf("%w: branch into an instruction at %#x", ErrUnexpectedShape, address)
	}
	return instruction, nil
}

// calleeSaved are the registers that a called function leaves as they were.
var calleeSaved = []x86asm.Reg{x86asm.RBX, x86asm.RBP, x86asm.RSP, x86asm.R12, x86asm.R13, x86asm.R14, x86asm.R15}

// execute notes what an instruction does. Values that it computes in ways not modelled here become unknown.
func (s *accessorState) execute(instruction Instruction) error {
	decoded := instruction.X86
	switch decoded.Op {
	case 0, x86asm.NOP, x86asm.CMP, x86asm.TEST: // 0 is endbr64
		return nil
	case x86asm.CALL:
		maps.DeleteFunc(s.registers, func(r x86asm.Reg, _ accessorValue) bool { return !slices.Contains(calleeSaved, r) })
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

// move moves the stack pointer.
func (s *accessorState) move(bytes int64) {
	s.set(x86asm.RSP, s.register(x86asm.RSP).plus(bytes))
}

func (s *accessorState) add(decoded x86asm.Inst) error {
	register, isRegister := decoded.Args[0].(x86asm.Reg)
	number, isNumber := decoded.Args[1].(x86asm.Imm)
	if !isRegister || !isNumber || wholeRegister(register) != register {
		return s.assign(decoded.Args[0], accessorValue{})
	}
	if decoded.Op == x86asm.SUB {
		number = -number
	}
	s.set(register, s.register(register).plus(int64(number)))
	return nil
}

// assign gives a register a value. The stack must not get lost: what is stored there would.
func (s *accessorState) assign(destination x86asm.Arg, value accessorValue) error {
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

func (s *accessorState) operand(source x86asm.Arg) accessorValue {
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

func (s *accessorState) address(memory x86asm.Mem) accessorValue {
	if memory.Index != 0 || memory.Segment != 0 {
		return accessorValue{}
	}
	return s.register(memory.Base).plus(memory.Disp)
}

func (s *accessorState) load(memory x86asm.Mem) accessorValue {
	if memory.Index != 0 || memory.Segment != 0 {
		return accessorValue{}
	}
	base := s.register(memory.Base)
	if base.origin == originStack {
		return s.stack[base.displacement+memory.Disp]
	}
	return base.load(memory.Disp)
}

// store notes what is stored on the stack, or as the first word of the result. A store elsewhere is taken not to reach the stack.
func (s *accessorState) store(memory x86asm.Mem, value accessorValue, bytes int) {
	to := s.address(memory)
	switch {
	case to.origin == originStack:
		for offset := to.displacement - 7; offset < to.displacement+int64(bytes); offset++ {
			delete(s.stack, offset)
		}
		s.stack[to.displacement] = value
	case to == accessorValue{origin: 1}:
		s.result = value
	}
}
