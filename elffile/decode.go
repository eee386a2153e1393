package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/arch/x86/x86asm"
)

// Flow is where execution goes after an instruction.
type Flow int

// The flows. Only FlowCall, FlowJump and FlowConditional have a target in the instruction itself.
const (
	FlowNext Flow = iota
	FlowCall
	FlowIndirectCall
	FlowJump
	FlowIndirectJump
	FlowConditional
	FlowReturn
	// FlowTrap never goes on: ud2, hlt, int3.
	FlowTrap
)

// Instruction is one decoded machine instruction.
type Instruction struct {
	Address uint64
	Bytes   []byte
	Flow    Flow
	// Target is where a direct call or jump leads.
	Target uint64
	// X86 is the decoded form on x86-64; its Op is 0 for endbr64, which the decoder does not know.
	X86 x86asm.Inst
}

// End is the address after the instruction.
func (i Instruction) End() uint64 { return i.Address + uint64(len(i.Bytes)) }

var endbr64 = []byte{0xf3, 0x0f, 0x1e, 0xfa}

// Decode decodes the code in the range one instruction after the other. The range must start at an instruction;
// an instruction that is unknown or passes the end is ErrUnexpectedShape, so every start in the result is proven.
func (f *File) Decode(bounds Range) ([]Instruction, error) {
	if bounds.End < bounds.Start || bounds.End-bounds.Start > maxFunctionCode {
		return nil, fmt.Errorf("%w: code of %d bytes", ErrTooLarge, bounds.End-bounds.Start)
	}
	code := make([]byte, bounds.End-bounds.Start)
	if _, err := f.readCode(bounds.Start, code); err != nil {
		return nil, err
	}
	var instructions []Instruction
	for address := bounds.Start; len(code) > 0; {
		if len(instructions)%decodeStep == 0 {
			if err := f.keepDecoded(min(len(code), decodeStep)); err != nil {
				return nil, err
			}
		}
		instruction, err := f.decodeOne(code, address)
		if err != nil {
			return nil, err
		}
		instructions = append(instructions, instruction)
		address = instruction.End()
		code = code[len(instruction.Bytes):]
	}
	return instructions, nil
}

// decodeStep is how many instructions are decoded between two questions to the meter.
const decodeStep = 1 << 12

// keepDecoded is asked before so many instructions are decoded: each takes far more memory than its bytes, and as much
// time as that.
func (f *File) keepDecoded(instructions int) error {
	size := instructions * int(unsafe.Sizeof(Instruction{}))
	if err := f.examine(size); err != nil {
		return err
	}
	return f.keep(size)
}

func (f *File) decodeOne(code []byte, address uint64) (Instruction, error) {
	switch f.Machine() {
	case elf.EM_X86_64:
		return decodeX86(code, address)
	case elf.EM_AARCH64:
		return decodeARM64(code, address)
	}
	return Instruction{}, fmt.Errorf("%w: machine %v", ErrUnsupported, f.Machine())
}

func decodeX86(code []byte, address uint64) (Instruction, error) {
	if bytes.HasPrefix(code, endbr64) {
		return Instruction{Address: address, Bytes: code[:len(endbr64)]}, nil
	}
	decoded, err := x86asm.Decode(code, 64)
	if err != nil || decoded.Op == 0 || !correctVector(&decoded, code) || decoded.Len == 0 || decoded.Len > len(code) {
		return Instruction{}, fmt.Errorf("%w: unknown instruction % x at %#x", ErrUnexpectedShape, code[:min(len(code), 15)], address)
	}
	instruction := Instruction{Address: address, Bytes: code[:decoded.Len], X86: decoded}
	relative, isRelative := decoded.Args[0].(x86asm.Rel)
	if isRelative {
		instruction.Target = instruction.End() + uint64(int64(relative))
	}
	switch decoded.Op {
	case x86asm.CALL:
		instruction.Flow = FlowIndirectCall
		if isRelative {
			instruction.Flow = FlowCall
		}
	case x86asm.JMP:
		instruction.Flow = FlowIndirectJump
		if isRelative {
			instruction.Flow = FlowJump
		}
	case x86asm.LCALL:
		instruction.Flow = FlowIndirectCall
	case x86asm.LJMP:
		instruction.Flow = FlowIndirectJump
	case x86asm.RET, x86asm.LRET, x86asm.IRET, x86asm.IRETD, x86asm.IRETQ:
		instruction.Flow = FlowReturn
	case x86asm.UD1, x86asm.UD2, x86asm.HLT, x86asm.INT:
		instruction.Flow = FlowTrap
	default:
		if isRelative { // jcc, jrcxz, loop, xbegin
			instruction.Flow = FlowConditional
		}
	}
	return instruction, nil
}

// decodeARM64 needs to know branches only: every instruction has four bytes.
func decodeARM64(code []byte, address uint64) (Instruction, error) {
	if len(code) < 4 || address%4 != 0 {
		return Instruction{}, fmt.Errorf("%w: instruction at %#x", ErrUnexpectedShape, address)
	}
	word := binary.LittleEndian.Uint32(code)
	instruction := Instruction{Address: address, Bytes: code[:4]}
	branch := func(flow Flow, firstBit, bits int) {
		displacement := int64(word>>firstBit) << (64 - bits) >> (64 - bits)
		instruction.Flow, instruction.Target = flow, address+uint64(displacement*4)
	}
	switch {
	case word&0xfc000000 == 0x14000000: // b
		branch(FlowJump, 0, 26)
	case word&0xfc000000 == 0x94000000: // bl
		branch(FlowCall, 0, 26)
	case word&0xff000000 == 0x54000000, word&0x7e000000 == 0x34000000: // b.cond, cbz, cbnz
		branch(FlowConditional, 5, 19)
	case word&0x7e000000 == 0x36000000: // tbz, tbnz
		branch(FlowConditional, 5, 14)
	case word&0xfefff000 == 0xd61f0000: // br and its authenticated forms
		instruction.Flow = FlowIndirectJump
	case word&0xfefff000 == 0xd63f0000: // blr
		instruction.Flow = FlowIndirectCall
	case word&0xfffff000 == 0xd65f0000: // ret
		instruction.Flow = FlowReturn
	case word&0xffe0001f == 0xd4200000, word>>16 == 0: // brk, udf
		instruction.Flow = FlowTrap
	}
	return instruction, nil
}
