package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"runtime"
	"testing"
)

func hostMachine() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}

// Words and targets are as GNU as encodes them for code at 0x1000.
func TestDecodeARM64(t *testing.T) {
	for name, test := range map[string]struct {
		word   uint32
		flow   Flow
		target uint64
		class  Class
	}{
		"b .+8":                     {0x14000002, FlowJump, 0x1008, ClassEmulated},
		"b .-4":                     {0x17ffffff, FlowJump, 0xffc, ClassEmulated},
		"bl .+0x100":                {0x94000040, FlowCall, 0x1100, ClassEmulated},
		"b.eq .+16":                 {0x54000080, FlowConditional, 0x1010, ClassEmulated},
		"cbz x0, .+8":               {0xb4000040, FlowConditional, 0x1008, ClassEmulated},
		"cbnz w1, .-8":              {0x35ffffc1, FlowConditional, 0xff8, ClassEmulated},
		"tbz w0, #3, .+12":          {0x36180060, FlowConditional, 0x100c, ClassEmulated},
		"tbnz x0, #40, .-12":        {0xb747ffa0, FlowConditional, 0xff4, ClassEmulated},
		"ret":                       {0xd65f03c0, FlowReturn, 0, ClassEmulated},
		"br x17":                    {0xd61f0220, FlowIndirectJump, 0, ClassEmulated},
		"blr x8":                    {0xd63f0100, FlowIndirectCall, 0, ClassEmulated},
		"retaa":                     {0xd65f0bff, FlowReturn, 0, ClassSingleStepped},
		"adrp x0, .":                {0x90000000, FlowNext, 0, ClassEmulated},
		"ldr x0, .+8":               {0x58000040, FlowNext, 0, ClassEmulated},
		"stp x29, x30, [sp, #-32]!": {0xa9be7bfd, FlowNext, 0, ClassSingleStepped},
		"paciasp":                   {0xd503233f, FlowNext, 0, ClassSingleStepped},
		"bti c":                     {0xd503245f, FlowNext, 0, ClassSingleStepped},
		"nop":                       {0xd503201f, FlowNext, 0, ClassSingleStepped},
		"brk #0":                    {0xd4200000, FlowTrap, 0, ClassSingleStepped},
		"udf #0":                    {0x00000000, FlowTrap, 0, ClassSingleStepped},
	} {
		t.Run(name, func(t *testing.T) {
			code := binary.LittleEndian.AppendUint32(nil, test.word)
			instruction, err := decodeARM64(code, 0x1000)
			if err != nil || instruction.Flow != test.flow || instruction.Target != test.target {
				t.Errorf("flow %d, target %#x, %v", instruction.Flow, instruction.Target, err)
			}
			file := &File{header: elf.Header64{Machine: uint16(elf.EM_AARCH64)}}
			if class := file.class(instruction); class != test.class {
				t.Errorf("class %v, expected %v", class, test.class)
			}
		})
	}
}

func TestStubSlotARM64(t *testing.T) {
	// adrp x16, 0x11000; ldr x17, [x16, #0xfd8]; add x16, x16, #0xfd8; br x17: a stub at 0x640 for slot 0x11fd8.
	plain := []uint32{0x90000090 | 1<<29, 0xf947ee11, 0x913f6210, 0xd61f0220}
	for name, words := range map[string][]uint32{
		"plain": plain,
		"bti":   append([]uint32{0xd503245f}, plain...),
	} {
		t.Run(name, func(t *testing.T) {
			var code []byte
			for _, word := range words {
				code = binary.LittleEndian.AppendUint32(code, word)
			}
			file := &File{
				reader:   bytes.NewReader(code),
				header:   elf.Header64{Machine: uint16(elf.EM_AARCH64)},
				segments: []Segment{{Address: 0x640, FileSize: uint64(len(code)), Flags: elf.PF_X}},
			}
			if slot, ok := file.stubSlotARM64(0x640); !ok || slot != 0x11fd8 {
				t.Errorf("slot %#x, %v", slot, ok)
			}
			if _, ok := file.stubSlotARM64(0x644 + 4*uint64(len(words)-4)); ok {
				t.Error("the middle of a stub was taken for one")
			}
		})
	}
}
