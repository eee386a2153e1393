package elffile

import "fmt"

// SiteInFunction proves that an instruction at which a probe is safe begins at an address: by decoding from the start
// of the exported function of that name, in which the address lies. Whatever was found before does not count: it is for
// who is about to place a probe.
//
// ErrNoSafeSite or ErrUnexpectedShape if there is none, or the errors of Lookup.
func (f *File) SiteInFunction(name string, address uint64) (Site, error) {
	symbol, err := f.Lookup(name)
	if err != nil {
		return Site{}, err
	}
	bounds, err := f.FunctionBounds(symbol)
	if err != nil {
		// Its first instruction is one all the same, and what follows endbr64.
		bounds = Range{symbol.Address, symbol.Address + uint64(len(endbr64)) + 1}
	}
	if !bounds.Contains(address) {
		return Site{}, fmt.Errorf("%w: %#x is not in %s", ErrNoSafeSite, address, name)
	}
	for at := bounds.Start; at < bounds.End; {
		instruction, err := f.instructionAt(at)
		if err != nil {
			return Site{}, fmt.Errorf("%s: %w", name, err)
		}
		if at == address {
			return f.site(instruction)
		}
		if at = instruction.End(); at > address {
			break
		}
	}
	return Site{}, fmt.Errorf("%w: no instruction of %s begins at %#x", ErrNoSafeSite, name, address)
}

// SiteAt is SiteInFunction for an address in any function: decoding begins where the code begins that a frame
// description entry covers.
func (f *File) SiteAt(address uint64) (Site, error) {
	proof := codeProof{file: f}
	instruction, err := proof.instruction(address)
	if err != nil {
		return Site{}, fmt.Errorf("%w: %w", ErrNoSafeSite, err)
	}
	if instruction.Address != address {
		return Site{}, fmt.Errorf("%w: no instruction begins at %#x", ErrNoSafeSite, address)
	}
	return f.site(instruction)
}
