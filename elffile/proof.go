package elffile

import (
	"errors"
	"fmt"
)

// codeProof proves what the instructions of a file are, by decoding from the start of the code that a frame description
// entry covers. It goes on where it was when it is asked for one address after the other.
type codeProof struct {
	file   *File
	bounds Range
	at     uint64 // of the instruction that is decoded next
	code   []byte // from at on, as far as it is read
}

// proofBytes is how much code is read at a time.
const proofBytes = 4 << 10

// errNotProven says that nothing proves what the instructions around an address are.
var errNotProven = errors.New("not proven to be code")

// instruction returns the instruction that the byte at an address belongs to.
func (p *codeProof) instruction(address uint64) (Instruction, error) {
	bounds, err := p.file.FrameRange(address)
	if err != nil {
		return Instruction{}, fmt.Errorf("%#x is %w", address, errNotProven)
	}
	if bounds != p.bounds || address < p.at {
		p.bounds, p.at, p.code = bounds, bounds.Start, nil
	}
	for p.at < bounds.End {
		if len(p.code) < longestInstruction {
			p.read()
		}
		instruction, err := p.file.decodeOne(p.code[:min(len(p.code), longestInstruction)], p.at)
		if err != nil || instruction.End() > bounds.End {
			break
		}
		if address < instruction.End() {
			return instruction, nil
		}
		p.at, p.code = instruction.End(), p.code[len(instruction.Bytes):]
	}
	return Instruction{}, fmt.Errorf("%#x is %w", address, errNotProven)
}

// read reads the code that comes next. With nothing read there is no instruction.
func (p *codeProof) read() {
	p.code = make([]byte, min(proofBytes, p.bounds.End-p.at+longestInstruction))
	n, _ := p.file.readCode(p.at, p.code)
	p.code = p.code[:n]
}
