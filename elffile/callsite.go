package elffile

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// CallSite is a relative call instruction inside a function.
type CallSite struct {
	Site
	// Target is the address that is called.
	Target uint64
	// ResultArguments are the positions (from 1) of the integer arguments that provably hold, at the call, the value
	// that the preceding call returned.
	ResultArguments []int
	// ResultStores tells for positions of arguments (from 1) at which offsets of what they point to the value that the
	// preceding call returned has provably been stored.
	ResultStores map[int][]int64
}

// CallAfter finds, in the function symbol, the call that follows the one call of callee: every time it runs,
// callee has just returned and nothing but straight-line code lay between. For what a function such as Cyclone's
// dds_write passes on right after asking dds_time.
//
// All instruction starts are proven by decoding the whole function from its start; calls are told apart by where
// they lead: callee itself, or a PLT entry bound to it. ErrUnexpectedShape if callee is called never or more than
// once, if a branch lies between the two calls or leads there, or if the second is not a plain relative call.
// ErrUnsupported on machines other than x86-64 and arm64.
func (f *File) CallAfter(symbol, callee string) (CallSite, error) {
	site, err := f.callAfter(symbol, callee)
	if err != nil {
		return CallSite{}, fmt.Errorf("call after %s in %s: %w", callee, symbol, err)
	}
	return site, nil
}

func (f *File) callAfter(symbol, callee string) (CallSite, error) {
	code, bounds, calleeAddresses, err := f.callersCode(symbol, callee)
	if err != nil {
		return CallSite{}, err
	}
	first, second, err := f.findCallPair(code, calleeAddresses)
	if err != nil {
		return CallSite{}, err
	}
	if err := f.checkBranches(code, bounds, code[first], code[second]); err != nil {
		return CallSite{}, err
	}
	if !f.executable(code[second].Target) {
		return CallSite{}, fmt.Errorf("%w: call at %#x leads outside the code", ErrUnexpectedShape, code[second].Address)
	}
	site, err := f.site(code[second])
	if err != nil {
		return CallSite{}, err
	}
	between := code[first+1 : second]
	call := CallSite{Site: site, Target: code[second].Target}
	if f.Machine() == elf.EM_AARCH64 {
		call.ResultArguments, call.ResultStores = resultUseARM64(between)
	} else {
		call.ResultArguments, call.ResultStores = resultArguments(between), resultStores(between)
	}
	return call, nil
}

// callersCode decodes the function symbol and finds where a call of callee may lead.
func (f *File) callersCode(symbol, callee string) (code []Instruction, bounds Range, calleeAddresses []uint64, err error) {
	if machine := f.Machine(); machine != elf.EM_X86_64 && machine != elf.EM_AARCH64 {
		return nil, Range{}, nil, fmt.Errorf("%w: machine %v", ErrUnsupported, machine)
	}
	function, err := f.Lookup(symbol)
	if err != nil {
		return nil, Range{}, nil, err
	}
	calleeAddresses, err = f.addressesOf(callee)
	if err != nil {
		return nil, Range{}, nil, err
	}
	bounds, err = f.FunctionBounds(function)
	if err != nil {
		return nil, Range{}, nil, err
	}
	code, err = f.Decode(bounds)
	return code, bounds, calleeAddresses, err
}

// ReturnOf finds, in the function symbol, the instruction that the one call of callee returns to: when it runs, callee
// has just returned. For what rcl's functions get through pointers from the rmw function that they call.
//
// The proof is CallAfter's: the whole function is decoded from its start, callee is called once, and no branch leads to
// the instruction. The errors are the same.
func (f *File) ReturnOf(symbol, callee string) (Site, error) {
	site, err := f.returnOf(symbol, callee)
	if err != nil {
		return Site{}, fmt.Errorf("return of %s in %s: %w", callee, symbol, err)
	}
	return site, nil
}

func (f *File) returnOf(symbol, callee string) (Site, error) {
	code, bounds, addresses, err := f.callersCode(symbol, callee)
	if err != nil {
		return Site{}, err
	}
	return f.returnSite(code, bounds, addresses)
}

// returnSite is the instruction of the code that the only call of one of the addresses returns to.
func (f *File) returnSite(code []Instruction, bounds Range, addresses []uint64) (Site, error) {
	call, err := findOnlyCall(code, addresses)
	if err != nil {
		return Site{}, err
	}
	if call+1 == len(code) {
		return Site{}, fmt.Errorf("%w: it does not return", ErrUnexpectedShape)
	}
	if err := f.checkBranches(code, bounds, code[call], code[call+1]); err != nil {
		return Site{}, err
	}
	return f.site(code[call+1])
}

// addressesOf is where a call of the function may lead: its own code, if it is in this file, and its PLT entries.
func (f *File) addressesOf(name string) ([]uint64, error) {
	addresses, err := f.PLTEntriesOf(name)
	if err != nil {
		return nil, err
	}
	symbol, err := f.Lookup(name)
	if err == nil {
		addresses = append(addresses, symbol.Address)
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("%w, and no PLT entry leads to it", err)
	}
	return addresses, nil
}

// findOnlyCall returns the index of the only call of one of the addresses.
func findOnlyCall(code []Instruction, addresses []uint64) (int, error) {
	found := -1
	for i, instruction := range code {
		if instruction.Flow != FlowCall || !slices.Contains(addresses, instruction.Target) {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("%w: called at %#x and at %#x", ErrUnexpectedShape, code[found].Address, instruction.Address)
		}
		found = i
	}
	if found < 0 {
		return 0, fmt.Errorf("%w: never called", ErrUnexpectedShape)
	}
	return found, nil
}

// findCallPair returns the indices of the only call of one of the addresses and of the call that follows it.
func (f *File) findCallPair(code []Instruction, addresses []uint64) (first, second int, err error) {
	first, err = findOnlyCall(code, addresses)
	if err != nil {
		return 0, 0, err
	}
	for i := first + 1; i < len(code); i++ {
		if code[i].Flow == FlowNext {
			continue
		}
		if f.isPlainCall(code[i]) {
			return first, i, nil
		}
		return 0, 0, fmt.Errorf("%w: % x at %#x comes before the next call", ErrUnexpectedShape, code[i].Bytes, code[i].Address)
	}
	return 0, 0, fmt.Errorf("%w: no call follows", ErrUnexpectedShape)
}

// isPlainCall reports whether an instruction is a relative call, without a prefix.
func (f *File) isPlainCall(instruction Instruction) bool {
	const callRelativeX86 = 0xe8
	return instruction.Flow == FlowCall && (f.Machine() == elf.EM_AARCH64 || instruction.Bytes[0] == callRelativeX86 && len(instruction.Bytes) == 5)
}

// checkBranches proves that no branch of the function, its outlined cold parts included, leads between the first
// call and the second, and that every branch inside the function leads to an instruction start.
func (f *File) checkBranches(code []Instruction, bounds Range, first, second Instruction) error {
	starts := make(map[uint64]bool, len(code))
	for _, instruction := range code {
		starts[instruction.Address] = true
	}
	skipped := Range{first.End(), second.Address + 1}
	parts := map[uint64]bool{bounds.Start: true}
	for pending := code; len(pending) > 0; {
		instruction := pending[0]
		pending = pending[1:]
		switch instruction.Flow {
		case FlowIndirectJump:
			return fmt.Errorf("%w: indirect jump at %#x", ErrUnexpectedShape, instruction.Address)
		case FlowJump, FlowConditional:
		default:
			continue
		}
		target := instruction.Target
		switch {
		case skipped.Contains(target):
			return fmt.Errorf("%w: branch at %#x enters between the calls", ErrUnexpectedShape, instruction.Address)
		case bounds.Contains(target):
			if !starts[target] {
				return fmt.Errorf("%w: branch at %#x into an instruction", ErrUnexpectedShape, instruction.Address)
			}
		default:
			part, err := f.outlinedPart(target)
			if err != nil {
				return fmt.Errorf("branch at %#x: %w", instruction.Address, err)
			}
			if part.Start == part.End || parts[part.Start] {
				continue
			}
			parts[part.Start] = true
			if len(parts) > maxOutlinedParts {
				return fmt.Errorf("%w: more than %d outlined parts", ErrUnexpectedShape, maxOutlinedParts)
			}
			partCode, err := f.Decode(part)
			if err != nil {
				return err
			}
			pending = append(slices.Clip(pending), partCode...)
		}
	}
	return nil
}

const maxOutlinedParts = 16

// outlinedPart is the code that a branch out of a function leads to, if it can be a part of that function. It is
// empty for a tail call: the start of another function, or a PLT entry.
func (f *File) outlinedPart(target uint64) (Range, error) {
	entries, err := f.PLT()
	if err != nil {
		return Range{}, err
	}
	if _, isEntry := slices.BinarySearchFunc(entries, target, func(e PLTEntry, a uint64) int { return cmp.Compare(e.Address, a) }); isEntry {
		return Range{}, nil
	}
	symbols, err := f.SymbolsAt(target)
	if err != nil {
		return Range{}, err
	}
	if slices.ContainsFunc(symbols, func(s Symbol) bool { return s.Exported }) {
		return Range{}, nil
	}
	part, err := f.FrameRange(target)
	if err != nil {
		return Range{}, fmt.Errorf("%w: leads to unknown code at %#x", ErrUnexpectedShape, target)
	}
	return part, nil
}

// argumentRegisters are the registers of the integer arguments in the System V calling convention for x86-64.
var argumentRegisters = []x86asm.Reg{x86asm.RDI, x86asm.RSI, x86asm.RDX, x86asm.RCX, x86asm.R8, x86asm.R9}

// resultArguments follows the returned value (rax at the start) through register moves. An instruction whose
// effect on registers is not known ends the proof.
func resultArguments(between []Instruction) []int {
	holds := map[x86asm.Reg]bool{x86asm.RAX: true}
	for _, instruction := range between {
		decoded := instruction.X86
		switch decoded.Op {
		case x86asm.MOV, x86asm.LEA, x86asm.XOR, x86asm.MOVSX, x86asm.MOVSXD, x86asm.MOVZX:
			destination, isRegister := decoded.Args[0].(x86asm.Reg)
			if !isRegister { // a store
				continue
			}
			source, fromRegister := decoded.Args[1].(x86asm.Reg)
			copied := decoded.Op == x86asm.MOV && fromRegister && holds[source]
			delete(holds, wholeRegister(destination))
			if copied {
				holds[destination] = true
			}
		case x86asm.NOP, x86asm.CMP, x86asm.TEST, x86asm.PUSH:
		default:
			return nil
		}
	}
	var positions []int
	for i, register := range argumentRegisters {
		if holds[register] {
			positions = append(positions, i+1)
		}
	}
	return positions
}

// resultStores follows register moves between two calls: where the returned value was stored, and which arguments hold
// the register that led there. An instruction whose effect on registers is not known ends the proof.
func resultStores(between []Instruction) map[int][]int64 {
	origin := make(map[x86asm.Reg]x86asm.Reg) // of copies, among the registers at the start
	of := func(register x86asm.Reg) x86asm.Reg {
		if from, copied := origin[register]; copied {
			return from
		}
		return register
	}
	stores := make(map[x86asm.Reg][]int64)
	for _, instruction := range between {
		decoded := instruction.X86
		switch decoded.Op {
		case x86asm.MOV, x86asm.LEA, x86asm.XOR, x86asm.MOVSX, x86asm.MOVSXD, x86asm.MOVZX:
			destination, isRegister := decoded.Args[0].(x86asm.Reg)
			source, fromRegister := decoded.Args[1].(x86asm.Reg)
			if memory, isStore := decoded.Args[0].(x86asm.Mem); isStore {
				if decoded.Op == x86asm.MOV && fromRegister && of(source) == x86asm.RAX && memory.Index == 0 {
					stores[of(memory.Base)] = append(stores[of(memory.Base)], memory.Disp)
				}
				continue
			}
			if !isRegister {
				return nil
			}
			if decoded.Op == x86asm.MOV && fromRegister && wholeRegister(source) == source && wholeRegister(destination) == destination {
				origin[destination] = of(source)
			} else {
				origin[wholeRegister(destination)] = 0 // something else
			}
		case x86asm.NOP, x86asm.CMP, x86asm.TEST, x86asm.PUSH:
		default:
			return nil
		}
	}
	arguments := make(map[int][]int64)
	for i, register := range argumentRegisters {
		if offsets := stores[of(register)]; of(register) != 0 && len(offsets) > 0 {
			arguments[i+1] = offsets
		}
	}
	return arguments
}

// wholeRegister is the 64-bit register of which a register is a part.
func wholeRegister(register x86asm.Reg) x86asm.Reg {
	switch {
	case register >= x86asm.AL && register <= x86asm.BL:
		return register - x86asm.AL + x86asm.RAX
	case register >= x86asm.AH && register <= x86asm.BH:
		return register - x86asm.AH + x86asm.RAX
	case register >= x86asm.SPB && register <= x86asm.R15B:
		return register - x86asm.SPB + x86asm.RSP
	case register >= x86asm.AX && register <= x86asm.R15W:
		return register - x86asm.AX + x86asm.RAX
	case register >= x86asm.EAX && register <= x86asm.R15L:
		return register - x86asm.EAX + x86asm.RAX
	}
	return register
}
