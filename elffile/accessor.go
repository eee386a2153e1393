package elffile

import (
	"debug/elf"
	"fmt"
	"maps"
	"slices"
)

// Member tells where an accessor function finds what it gives: starting from the object that its argument points to,
// each offset but the last leads to a pointer to the next object.
type Member struct {
	Offsets []int64
	// Address is true when the function gives the member's address instead of its value.
	Address bool
}

// ReturnedMember finds out which member of its first argument the function symbol returns, as in
//
//	return object->impl->handle;
//
// It follows every path through the function. On each it must return the same member, or zero as functions do that
// check the argument first. ErrUnexpectedShape if it does anything else or cannot be followed, ErrUnsupported on
// machines other than x86-64 and arm64.
func (f *File) ReturnedMember(symbol Symbol) (Member, error) {
	convention, err := f.convention()
	if err != nil {
		return Member{}, fmt.Errorf("%s: %w", symbol.Name, err)
	}
	return f.member(symbol, convention, originFirst, func(s *accessorState) accessorValue { return s.registers[convention.returned] })
}

// CopiedMember is ReturnedMember for a member function that returns an object in memory, such as a std::shared_ptr:
// which member of its object the first word of the result is copied from.
func (f *File) CopiedMember(symbol Symbol) (Member, error) {
	convention, err := f.convention()
	if err != nil {
		return Member{}, fmt.Errorf("%s: %w", symbol.Name, err)
	}
	return f.member(symbol, convention, convention.object, func(s *accessorState) accessorValue { return s.result })
}

// callingConvention is what following an accessor needs to know of a machine.
type callingConvention struct {
	// arguments are the registers of the arguments, by their origin.
	arguments map[int8]machineRegister
	stack     machineRegister
	returned  machineRegister
	// result and object are the origins of a result's place in memory and of the object of a member function that has such
	// a result.
	result, object int8
	// execute notes what an instruction does; branch what it means that a conditional branch is taken, or is not.
	execute func(*accessorState, Instruction) error
	branch  func(s *accessorState, conditional Instruction, taken bool)
}

// machineRegister is the number of a register, in the machine's own way of counting.
type machineRegister int

func (f *File) convention() (*callingConvention, error) {
	switch f.Machine() {
	case elf.EM_X86_64:
		return &conventionX86, nil
	case elf.EM_AARCH64:
		return &conventionARM64, nil
	}
	return nil, fmt.Errorf("%w: machine %v", ErrUnsupported, f.Machine())
}

func (f *File) member(symbol Symbol, convention *callingConvention, argument int8, given func(*accessorState) accessorValue) (Member, error) {
	bounds, err := f.FunctionBounds(symbol)
	if err != nil {
		return Member{}, err
	}
	w := accessorWalk{file: f, convention: convention, code: make(map[uint64]Instruction)}
	if err := w.decode(bounds); err != nil {
		return Member{}, fmt.Errorf("%s: %w", symbol.Name, err)
	}
	values, err := w.follow(bounds.Start, func(s *accessorState, at Instruction) (accessorValue, bool) {
		return given(s), at.Flow == FlowReturn
	})
	if err != nil {
		return Member{}, fmt.Errorf("%s: %w", symbol.Name, err)
	}
	values = slices.DeleteFunc(values, func(v accessorValue) bool { return v == accessorValue{origin: originZero} })
	if len(values) != 1 || values[0].origin != argument {
		return Member{}, fmt.Errorf("%s: %w: it does not simply give a member", symbol.Name, ErrUnexpectedShape)
	}
	return values[0].member()
}

// The origins of values that are not an argument, whose origin is the position of its register from 1 on.
const (
	originFirst int8 = 1
	originZero  int8 = -1
	originStack int8 = -2 // the stack pointer at entry
)

// maxDereferences is how many pointers an accessor may follow.
const maxDereferences = 4

// accessorValue is what a register holds: displacement added to what a chain of loads from an argument gave. It is
// comparable.
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
	convention *callingConvention
	registers  map[machineRegister]accessorValue // absent ones are unknown
	stack      map[int64]accessorValue           // by offset from the stack pointer at entry
	result     accessorValue                     // what was stored at the place of a result in memory
	passed     map[uint64]bool                   // branches that lead back
}

func newAccessorState(convention *callingConvention) *accessorState {
	s := &accessorState{
		convention: convention,
		registers:  map[machineRegister]accessorValue{convention.stack: {origin: originStack}},
		stack:      make(map[int64]accessorValue),
		passed:     make(map[uint64]bool),
	}
	for origin, register := range convention.arguments {
		s.registers[register] = accessorValue{origin: origin}
	}
	return s
}

func (s *accessorState) clone() *accessorState {
	return &accessorState{s.convention, maps.Clone(s.registers), maps.Clone(s.stack), s.result, maps.Clone(s.passed)}
}

// loadFrom returns the value of the word at an address.
func (s *accessorState) loadFrom(address accessorValue) accessorValue {
	if address.origin == originStack {
		return s.stack[address.displacement]
	}
	return address.load(0)
}

// storeAt notes what is stored on the stack, or as the first word of the result. A store elsewhere is taken not to
// reach the stack.
func (s *accessorState) storeAt(to, value accessorValue, bytes int) {
	switch {
	case to.origin == originStack:
		for offset := to.displacement - 7; offset < to.displacement+int64(bytes); offset++ {
			delete(s.stack, offset)
		}
		s.stack[to.displacement] = value
	case to == accessorValue{origin: s.convention.result}:
		s.result = value
	}
}

// accessorWalk goes through all paths of a function.
type accessorWalk struct {
	file       *File
	convention *callingConvention
	code       map[uint64]Instruction
	// beginning is decoded as far as it is followed, where that is not the whole function; it may be nil.
	beginning *codeBeginning
	copied    int // entries of maps
}

func (w *accessorWalk) decode(bounds Range) error {
	code, err := w.file.Decode(bounds)
	if err == nil {
		err = w.file.keepDecoded(len(code))
	}
	for _, instruction := range code {
		w.code[instruction.Address] = instruction
	}
	return err
}

const (
	// maxAccessorSteps bounds the walk. Accessors are short.
	maxAccessorSteps = 20_000
	// maxAccessorCopied bounds what is known on all paths together, which takes 64 MB then.
	maxAccessorCopied = 1 << 20
	// copyWork is how many bytes could be read while a part of it is copied.
	copyWork = 512
)

// fork returns a copy of what is known, for another path.
func (w *accessorWalk) fork(s *accessorState) (*accessorState, error) {
	size := len(s.registers) + len(s.stack) + len(s.passed)
	if w.copied += size; w.copied > maxAccessorCopied {
		return nil, fmt.Errorf("%w: too much is known on too many paths", ErrUnexpectedShape)
	}
	return s.clone(), w.file.examine(size * copyWork)
}

// follow returns what the function at an address gives, each different value once. given tells it at the instructions
// where a path is followed no further; a path that returns without has given nothing.
func (w *accessorWalk) follow(start uint64, given func(*accessorState, Instruction) (accessorValue, bool)) ([]accessorValue, error) {
	type position struct {
		address uint64
		state   *accessorState
	}
	var values []accessorValue
	steps := 0
	for pending := []position{{start, newAccessorState(w.convention)}}; len(pending) > 0; {
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
			if value, ends := given(at.state, instruction); ends {
				if !slices.Contains(values, value) {
					values = append(values, value)
				}
				break
			}
			switch instruction.Flow {
			case FlowNext, FlowCall, FlowIndirectCall:
				if err := w.convention.execute(at.state, instruction); err != nil {
					return nil, err
				}
				at.address = instruction.End()
				ended = instruction.Flow != FlowNext && w.beginning != nil && at.address == w.beginning.end // the call does not return
			case FlowConditional, FlowJump:
				branches := []uint64{instruction.Target}
				if instruction.Flow == FlowConditional {
					branches = append(branches, instruction.End())
				}
				for i, branch := range branches {
					next, err := w.fork(at.state)
					if err != nil {
						return nil, err
					}
					if instruction.Flow == FlowConditional {
						w.convention.branch(next, instruction, i == 0)
					}
					if branch <= instruction.Address {
						if next.passed[instruction.Address] {
							continue // a loop gives nothing new
						}
						next.passed[instruction.Address] = true
					}
					pending = append(pending, position{branch, next})
				}
				ended = true
			case FlowReturn, FlowTrap:
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
	if w.beginning != nil && w.beginning.bounds.Contains(address) {
		return w.beginning.decode(address, w.code)
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
