package elffile

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// PassedMember finds out which member of its own first argument the function at an address passes to callee as the
// first argument, as in
//
//	void Timer::execute() { callback_start(&callback_); … }
//
// It follows every path from the function's start to the first call of callee, and no further: on each the same member
// must be passed. callee is told by where a call leads: its own code, a PLT entry, or the slot for its address.
// ErrUnexpectedShape if the function does anything else or cannot be followed, ErrUnsupported on machines other than
// x86-64 and arm64.
func (f *File) PassedMember(function uint64, callee string) (Member, error) {
	member, err := f.passedMember(function, callee)
	if err != nil {
		return Member{}, fmt.Errorf("what the function at %#x passes to %s: %w", function, callee, err)
	}
	return member, nil
}

func (f *File) passedMember(function uint64, callee string) (Member, error) {
	values, err := f.passed(function, callee, func(s *accessorState) accessorValue { return s.argument(1) })
	if err != nil {
		return Member{}, err
	}
	if len(values) != 1 || values[0].origin != originFirst {
		return Member{}, fmt.Errorf("%w: it does not simply pass a member", ErrUnexpectedShape)
	}
	return values[0].member()
}

// PassedLocal finds out which of its own variables the function symbol passes the address of to callee, as its argument
// at a position (from 1), as in
//
//	bool taken = false;
//	rmw_take_request(handle, info, request, &taken);
//
// It is PassedMember for what lies on the stack: how many bytes above the stack pointer with which callee returns. The
// errors are the same.
func (f *File) PassedLocal(symbol Symbol, callee string, position int) (int, error) {
	values, err := f.passed(symbol.Address, callee, func(s *accessorState) accessorValue {
		argument, top := s.argument(position), s.registers[s.convention.stack]
		if argument.origin != originStack {
			return accessorValue{}
		}
		return argument.plus(-top.displacement)
	})
	if err == nil && (len(values) != 1 || values[0].origin != originStack || values[0].displacement < 0) {
		err = fmt.Errorf("%w: it does not simply pass a variable's address", ErrUnexpectedShape)
	}
	if err != nil {
		return 0, fmt.Errorf("argument %d of %s in %s: %w", position, callee, symbol.Name, err)
	}
	return int(values[0].displacement), nil
}

// argument is what the register of an argument holds.
func (s *accessorState) argument(position int) accessorValue {
	return s.registers[s.convention.arguments[originFirst+int8(position)-1]]
}

// passed returns what is given at the first calls of callee by the function at an address, each different value once.
func (f *File) passed(function uint64, callee string, given func(*accessorState) accessorValue) ([]accessorValue, error) {
	convention, err := f.convention()
	if err != nil {
		return nil, err
	}
	calls, err := f.callsOf(callee)
	if err != nil {
		return nil, err
	}
	bounds, err := f.FrameRange(function)
	if err != nil {
		return nil, err
	}
	if bounds.Start != function {
		return nil, fmt.Errorf("%w: it begins at %#x", ErrUnexpectedShape, bounds.Start)
	}
	end := bounds.End
	bounds.End = min(bounds.End, bounds.Start+maxBeginning)
	w := accessorWalk{
		file: f, convention: convention, code: make(map[uint64]Instruction),
		beginning: &codeBeginning{proof: codeProof{file: f}, bounds: bounds, next: bounds.Start, end: end},
	}
	return w.follow(bounds.Start, func(s *accessorState, at Instruction) (accessorValue, bool) { return given(s), calls(at) })
}

// maxBeginning is how much of a function is decoded, in bytes. What is inlined after the call may be long.
const maxBeginning = 4 << 10

// codeBeginning decodes a function from its start, as far as it is asked for.
type codeBeginning struct {
	proof  codeProof
	bounds Range
	next   uint64
	end    uint64 // of the function
}

// decode decodes the code up to an address, and returns the instruction there.
func (b *codeBeginning) decode(address uint64, code map[uint64]Instruction) (Instruction, error) {
	for b.next <= address {
		instruction, err := b.proof.instruction(b.next)
		if err != nil {
			return Instruction{}, fmt.Errorf("%w: %w", ErrUnexpectedShape, err)
		}
		code[instruction.Address] = instruction
		b.next = instruction.End()
	}
	instruction, ok := code[address]
	if !ok {
		return Instruction{}, fmt.Errorf("%w: branch into an instruction at %#x", ErrUnexpectedShape, address)
	}
	return instruction, nil
}

// callsOf returns what tells the calls of a function, in this file or another.
func (f *File) callsOf(name string) (func(Instruction) bool, error) {
	addresses, err := f.addressesOf(name)
	if err != nil && !errors.Is(err, ErrSymbolNotFound) {
		return nil, err
	}
	slots, err := f.allSlots()
	if err != nil {
		return nil, err
	}
	return func(i Instruction) bool {
		switch i.Flow {
		case FlowCall:
			return slices.Contains(addresses, i.Target)
		case FlowIndirectCall:
			slot, ok := f.calledSlot(i)
			return ok && slots[slot] == name
		}
		return false
	}, nil
}

// calledSlot is the place of the address that an instruction calls: call *slot(%rip), as compilers write it that were
// told to do without a PLT.
func (f *File) calledSlot(i Instruction) (uint64, bool) {
	if f.Machine() != elf.EM_X86_64 {
		return 0, false
	}
	memory, ok := i.X86.Args[0].(x86asm.Mem)
	if !ok || memory.Base != x86asm.RIP || memory.Index != 0 || memory.Segment != 0 {
		return 0, false
	}
	return i.End() + uint64(int64(int32(memory.Disp))), true
}
