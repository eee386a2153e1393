package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
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
		"ldr x0, .+8":               {0x58000040, FlowNext, 0, ClassSingleStepped},
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
			class := ClassSingleStepped
			if file.emulationOf(instruction, KernelVersion{}) != nil {
				class = ClassEmulated
			}
			if class != test.class {
				t.Errorf("class %v, expected %v", class, test.class)
			}
		})
	}
}

// The prologues are as GNU as encodes them; the last word of each is where the site must be.
func TestFunctionSiteARM64(t *testing.T) {
	const (
		btiC, paciasp, nop   = 0xd503245f, 0xd503233f, 0xd503201f
		frame                = 0xa9be7bfd // stp x29, x30, [sp, #-32]!
		setFrame             = 0x910003fd // mov x29, sp
		subStack, subStack4K = 0xd10083ff, 0xd14007ff
		saveX1, saveX19      = 0xf9000be1, 0xf9000bf3 // str x1 or x19, [sp, #16]
		moveToX19            = 0xaa0003f3             // mov x19, x0
		moveToX0             = 0xaa0103e0             // mov x0, x1
		loadX2               = 0xf9400002             // ldr x2, [x0]
		ret                  = 0xd65f03c0
		cbzForward           = 0xb4000040 // cbz x0, .+8
		call                 = 0x94000040 // bl .+0x100
		backToPrevious       = 0x17ffffff // b .-4
	)
	for name, test := range map[string]struct {
		words   []uint32
		request SiteRequest
		site    int // index of the word
		stack   int
		kind    string
	}{
		"empty body":              {words: []uint32{ret}, kind: "return"},
		"empty body with bti":     {words: []uint32{btiC, ret}, site: 1, kind: "return"},
		"branch past the frame":   {words: []uint32{paciasp, frame, setFrame, saveX19, moveToX19, cbzForward, ret, ret}, site: 5, stack: 32, kind: "conditional jump"},
		"call past the frame":     {words: []uint32{frame, setFrame, call, ret}, site: 2, stack: 32, kind: "call"},
		"no calls":                {words: []uint32{frame, setFrame, call, ret}, request: SiteRequest{NoCalls: true}},
		"stack by subtraction":    {words: []uint32{subStack, saveX1, cbzForward, ret, ret}, site: 2, stack: 32, kind: "conditional jump"},
		"a frame of a page":       {words: []uint32{subStack4K, saveX1, cbzForward, ret, ret}},
		"an argument lost":        {words: []uint32{frame, moveToX0, cbzForward, ret, ret}},
		"a third argument lost":   {words: []uint32{frame, loadX2, cbzForward, ret, ret}},
		"two arguments wanted":    {words: []uint32{frame, loadX2, cbzForward, ret, ret}, request: SiteRequest{Arguments: 2}, site: 2, stack: 32, kind: "conditional jump"},
		"nop on a newer kernel":   {words: []uint32{btiC, nop, ret}, request: SiteRequest{Kernel: KernelVersion{6, 13}}, site: 1, kind: "nop"},
		"nop on an older kernel":  {words: []uint32{btiC, nop, ret}, site: 2, kind: "return"},
		"branch back to the site": {words: []uint32{btiC, cbzForward, backToPrevious, ret}},
		"entry wanted":            {words: []uint32{btiC, ret}, request: SiteRequest{Entry: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var code []byte
			for _, word := range test.words {
				code = binary.LittleEndian.AppendUint32(code, word)
			}
			file := &File{
				reader:   bytes.NewReader(code),
				header:   elf.Header64{Machine: uint16(elf.EM_AARCH64)},
				segments: []Segment{{Address: 0x1000, FileSize: uint64(len(code)), Flags: elf.PF_X}},
			}
			site, err := file.FunctionSite(Symbol{Name: "f", Address: 0x1000, Size: uint64(len(code))}, test.request)
			if err != nil || site.Address != 0x1000+4*uint64(test.site) || site.StackOffset != test.stack || site.Emulation != test.kind {
				t.Errorf("%+v, %v", site, err)
			}
		})
	}
}

// What a kernel would step through at another address, or read as its own memory, is no site.
func TestLiteralLoadsAreNoSitesARM64(t *testing.T) {
	for name, word := range map[string]uint32{
		"ldr w9": 0x18fffc49, "ldr x9": 0x58fffc89, "ldrsw x9": 0x98fffc09, "prfm": 0xd8fffb80, "ldr s9": 0x1cfffc49, "ldr d9": 0x5cfffc49, "ldr q9": 0x9cfffbc9,
	} {
		file := &File{
			reader:   bytes.NewReader(binary.LittleEndian.AppendUint32(nil, word)),
			header:   elf.Header64{Machine: uint16(elf.EM_AARCH64)},
			segments: []Segment{{Address: 0x1000, FileSize: 4, Flags: elf.PF_X}},
		}
		if site, err := file.FunctionSite(Symbol{Name: "f", Address: 0x1000, Size: 4}, SiteRequest{}); !errors.Is(err, ErrNoSafeSite) {
			t.Errorf("%s: %+v, %v", name, site, err)
		}
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
