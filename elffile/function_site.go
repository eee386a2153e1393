package elffile

import (
	"debug/elf"
	"fmt"
)

// SiteRequest says what a site in a function is for. The zero value asks for one at which every register that carries
// integer arguments is as the caller left it, on the oldest supported kernel.
type SiteRequest struct {
	// Arguments is how many of the function's integer arguments must still be in their registers; 0 means all that
	// registers carry.
	Arguments int
	// Entry asks for the function's first instruction, whatever it costs.
	Entry bool
	// NoCalls forbids calls, for threads with a shadow stack: an emulated call does not push onto it.
	NoCalls bool
	// Kernel is the kernel that will be probed; its zero value the oldest supported one.
	Kernel KernelVersion
	// Cheaper reports whether a site costs clearly less than another one, where that was measured. nil prefers the first
	// instruction that the kernel emulates.
	Cheaper func(one, other Site) bool
}

// cheaper reports whether a site is to be preferred to one that was found before.
func (r SiteRequest) cheaper(one, other Site) bool {
	if r.Cheaper != nil {
		return r.Cheaper(one, other)
	}
	return one.Class == ClassEmulated && other.Class != ClassEmulated
}

// maxPrefix bounds how many instructions from the entry on are looked at.
const maxPrefix = 64

// FunctionSite chooses the cheapest instruction that every call of the function executes exactly once with its
// arguments still in their registers: one that the kernel emulates, if the straight code at the function's start has
// one, else the function's first instruction. Of instructions that cost the same, the first.
//
// Whatever is chosen begins where decoding from the function's first instruction proves it to begin. Behind the entry
// itself, no branch of the function leads there: all of its code is decoded, parts that the compiler moved away
// included. Where that cannot be done (unknown instructions, jumps through tables), only a push that is the first
// instruction after endbr64 is chosen: no code that balances its stack jumps there.
//
// ErrNoSafeSite if the first instruction is a nop of several bytes, which newer kernels replace by a call that
// overwrites the stack below a leaf function, on arm64 a load of a literal, which they step through at another address,
// or none at all.
func (f *File) FunctionSite(symbol Symbol, request SiteRequest) (Site, error) {
	site, err := f.functionSite(symbol, request)
	if err != nil {
		return Site{}, fmt.Errorf("%s: %w", symbol.Name, err)
	}
	return site, nil
}

func (f *File) functionSite(symbol Symbol, request SiteRequest) (Site, error) {
	first, err := f.instructionAt(symbol.Address)
	if err != nil {
		return Site{}, err
	}
	chosen, err := f.siteOn(first, request.Kernel)
	if err != nil || request.Entry {
		return chosen, err
	}
	return f.cheapestSite(symbol, chosen, request), nil
}

// cheapestSite looks for instructions that cost less than the first one in the straight code at the function's start.
func (f *File) cheapestSite(symbol Symbol, entry Site, request SiteRequest) Site {
	chosen, address, stack := entry, symbol.Address, 0
	for range maxPrefix {
		if symbol.Size != 0 && address-symbol.Address >= symbol.Size {
			return chosen
		}
		instruction, err := f.instructionAt(address)
		if err != nil {
			return chosen
		}
		site, err := f.siteOn(instruction, request.Kernel)
		site.StackOffset = stack
		isCall := instruction.Flow == FlowCall || instruction.Flow == FlowIndirectCall
		if err == nil && request.cheaper(site, chosen) && (!isCall || !request.NoCalls) && f.isPassedOnce(symbol, instruction) {
			chosen = site
		}
		effect, known := f.effectOf(instruction)
		if !known || effect.writes(request.Arguments) {
			return chosen
		}
		stack += effect.pushed
		if stack < 0 || stack > maxStackOffset || stack%stackWord != 0 {
			return chosen
		}
		address = instruction.End()
	}
	return chosen
}

// maxStackOffset is the largest offset that is followed; prologues that make larger frames have passed better sites
// before.
const (
	maxStackOffset = 127 * stackWord
	stackWord      = 8
)

// isPassedOnce reports whether an instruction of the straight code at the function's start is reached from the entry
// only.
func (f *File) isPassedOnce(symbol Symbol, site Instruction) bool {
	if site.Address == symbol.Address {
		return true
	}
	entered, proven := f.isBranchedTo(symbol, Range{symbol.Address + 1, site.Address + 1})
	if proven {
		return !entered
	}
	first, err := f.instructionAt(symbol.Address)
	return err == nil && isEndbr64(first) && first.End() == site.Address && isRegisterPush(site.Bytes)
}

// isBranchedTo reports whether a branch of the function leads into the range. It is not proven when not all code of the
// function can be decoded, or some of its branches lead where memory says.
func (f *File) isBranchedTo(symbol Symbol, forbidden Range) (entered, proven bool) {
	bounds, err := f.FunctionBounds(symbol)
	if err != nil {
		return false, false
	}
	code, err := f.Decode(bounds)
	if err != nil {
		return false, false
	}
	parts := map[uint64]bool{bounds.Start: true}
	for len(code) > 0 {
		instruction := code[0]
		code = code[1:]
		switch instruction.Flow {
		case FlowIndirectJump:
			return false, false
		case FlowJump, FlowConditional:
		default:
			continue
		}
		if forbidden.Contains(instruction.Target) {
			return true, true
		}
		if bounds.Contains(instruction.Target) {
			continue
		}
		part, err := f.outlinedPart(instruction.Target)
		if err != nil {
			return false, false
		}
		if part.Start == part.End || parts[part.Start] {
			continue
		}
		parts[part.Start] = true
		partCode, err := f.Decode(part)
		if err != nil || len(parts) > maxOutlinedParts {
			return false, false
		}
		code = append(code[:len(code):len(code)], partCode...)
	}
	return false, true
}

// effect is what an instruction without a branch does to the registers that matter at a function's start.
type effect struct {
	// argument is the position (from 1) of the argument whose register it writes, 0 if it writes none.
	argument int
	// pushed is by how many bytes it lowers the stack pointer.
	pushed int
}

// writes reports whether one of the first arguments is lost.
func (e effect) writes(arguments int) bool {
	return e.argument != 0 && (arguments == 0 || e.argument <= arguments)
}

// effectOf returns an instruction's effect, and false if it is not certainly known.
func (f *File) effectOf(instruction Instruction) (effect, bool) {
	if instruction.Flow != FlowNext {
		return effect{}, false
	}
	switch f.Machine() {
	case elf.EM_X86_64:
		return effectX86(instruction)
	case elf.EM_AARCH64:
		return effectARM64(wordOf(instruction))
	}
	return effect{}, false
}
