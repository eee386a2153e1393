package loader

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/probes"
)

func TestInstructionsThatMayBeProbed(t *testing.T) {
	for _, test := range []struct {
		name, bytes string
		shadowStack bool
		safe        bool
	}{
		{name: "push rbp", bytes: "55", safe: true},
		{name: "push r15", bytes: "4157", safe: true},
		{name: "endbr64", bytes: "f30f1efa55", safe: true},
		{name: "one-byte nop", bytes: "90c3", safe: true},
		{name: "pushes of rax after a prefix", bytes: "f250", safe: true},
		{name: "breakpoint of another tracer", bytes: "cc4889e5", safe: true},
		{name: "call", bytes: "e800000000", safe: true},
		{name: "call with a shadow stack", bytes: "e800000000", shadowStack: true},
		{name: "notrack call with a shadow stack", bytes: "3ee800000000", shadowStack: true},
		{name: "push with a shadow stack", bytes: "55", shadowStack: true, safe: true},
		{name: "jmp", bytes: "e900000000", safe: true},
		{name: "two-byte nop", bytes: "6690"},
		{name: "nop with a REX prefix", bytes: "4890"},
		{name: "three-byte nop", bytes: "0f1f00"},
		{name: "five-byte nop", bytes: "0f1f440000"},
		{name: "six-byte nop", bytes: "660f1f440000"},
		{name: "longest nop", bytes: "66662e0f1f840000000000"},
		{name: "nop of the hint range", bytes: "0f1ec0"},
		{name: "prefixes only", bytes: "66"},
		{name: "sub rsp", bytes: "4883ec18", safe: true},
		{name: "movaps", bytes: "0f2945f0", safe: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			instruction, err := hex.DecodeString(test.bytes)
			if err != nil {
				t.Fatal(err)
			}
			err = checkInstructionX86(instruction, test.shadowStack)
			if test.safe != (err == nil) {
				t.Errorf("error %v", err)
			}
			if err != nil {
				expectError(t, err, ErrUnsafeSite)
			}
		})
	}
}

func TestCheckInstructionARM64(t *testing.T) {
	for name, test := range map[string]struct {
		bytes string
		safe  bool
	}{
		"ldr x9, .-112":   {"89fcff58", false},
		"ldrsw x9, .-128": {"09fcff98", false},
		"ldr q16, .-136":  {"d0fbff9c", false},
		"prfm literal":    {"80fbffd8", false},
		"ldr x9, [sp]":    {"e90340f9", true},
		"adrp x9, .":      {"09000090", true},
		"cut off":         {"0900", false},
	} {
		t.Run(name, func(t *testing.T) {
			instruction, err := hex.DecodeString(test.bytes)
			if err != nil {
				t.Fatal(err)
			}
			err = checkInstructionARM64(instruction)
			if test.safe != (err == nil) {
				t.Errorf("error %v", err)
			}
			if err != nil {
				expectError(t, err, ErrUnsafeSite)
			}
		})
	}
}

func TestShadowStackOfStatus(t *testing.T) {
	for status, want := range map[string]bool{
		"Name:\tnode\nx86_Thread_features:\tshstk wrss\nx86_Thread_features_locked:\t\n": true,
		"Name:\tnode\nx86_Thread_features:\t\nx86_Thread_features_locked:\tshstk wrss\n": false,
		"Name:\tshstk\n": false,
		"":               false,
	} {
		if got := statusHasShadowStack(status); got != want {
			t.Errorf("%v for %q", got, status)
		}
	}
}

func TestZombieOfStatus(t *testing.T) {
	for status, want := range map[string]bool{
		"Name:\tnode\nState:\tZ (zombie)\n": true, "State:\tX (dead)\n": true, "State:\tS (sleeping)\n": false, "": false,
	} {
		if got := statusIsOfZombie(status); got != want {
			t.Errorf("%v for %q", got, status)
		}
	}
}

// inventedELF is an ELF file with one text segment of 0x100 bytes at offset 0x1000 and address 0x401000, and a
// build-id.
func inventedELF() []byte {
	file := make([]byte, 0x1100)
	copy(file, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(file[18:], uint16(elf.EM_X86_64))
	le.PutUint64(file[32:], elfHeaderSize)
	le.PutUint16(file[54:], programHeaderSize)
	le.PutUint16(file[56:], 2)
	text, note := file[elfHeaderSize:], file[elfHeaderSize+programHeaderSize:]
	le.PutUint32(text, uint32(elf.PT_LOAD))
	le.PutUint32(text[4:], uint32(elf.PF_R|elf.PF_X))
	le.PutUint64(text[8:], 0x1000)
	le.PutUint64(text[16:], 0x401000)
	le.PutUint64(text[32:], 0x100)
	le.PutUint32(note, uint32(elf.PT_NOTE))
	le.PutUint64(note[8:], 0x200)
	le.PutUint64(note[32:], 40)
	copy(file[0x200:], "\x04\x00\x00\x00\x01\x00\x00\x00\x07\x00\x00\x00GNU\x00x\x00\x00\x00")
	copy(file[0x214:], "\x04\x00\x00\x00\x04\x00\x00\x00\x03\x00\x00\x00GNU\x00\xde\xad\xbe\xef")
	return file
}

func TestHeadersOfProbedFile(t *testing.T) {
	var f probedFile
	if err := f.readHeaders(bytes.NewReader(inventedELF())); err != nil {
		t.Fatal(err)
	}
	if f.machine != elf.EM_X86_64 || f.buildID != "deadbeef" {
		t.Errorf("machine %v, build-id %q", f.machine, f.buildID)
	}
	for offset, want := range map[uint64]bool{0: false, 0xfff: false, 0x1000: true, 0x10ff: true, 0x1100: false, 1 << 63: false} {
		if _, got := f.segmentOf(offset); got != want {
			t.Errorf("offset %#x in the text: %v", offset, got)
		}
	}
}

// TestPlannedInstructions: what is in the file must be what was decoded when the site was chosen.
func TestPlannedInstructions(t *testing.T) {
	content := inventedELF()
	copy(content[0x1000:], "\xf3\x0f\x1e\xfa\x55\xe8\x01\x02\x03\x04")
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := holdProbedFile(probes.Site{Opened: openTest(t, path)})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Release()
	for _, test := range []struct {
		offset  uint64
		planned string
		same    bool
	}{
		{0x1000, "f30f1efa", true}, {0x1004, "55", true}, {0x1005, "e801020304", true}, {0x1005, "", true},
		{0x1004, "53", false}, {0x1005, "e801020305", false}, {0x1003, "55", false},
	} {
		err := checkSite(file, probes.Site{Offset: test.offset, Instruction: test.planned}, false)
		if test.same != (err == nil) {
			t.Errorf("%s at %#x: %v", test.planned, test.offset, err)
		}
		if err != nil {
			expectError(t, err, ErrFileChanged)
		}
	}
}

func TestFilesThatAreNoProbedFile(t *testing.T) {
	damage := func(change func([]byte)) []byte {
		file := inventedELF()
		change(file)
		return file
	}
	for name, content := range map[string][]byte{
		"empty":              {},
		"a script":           []byte("#!/bin/sh\n" + strings.Repeat("#", 100)),
		"32 bits":            damage(func(b []byte) { b[elf.EI_CLASS] = byte(elf.ELFCLASS32) }),
		"big-endian":         damage(func(b []byte) { b[elf.EI_DATA] = byte(elf.ELFDATA2MSB) }),
		"headers beyond it":  damage(func(b []byte) { b[36] = 1 }),
		"offset is negative": damage(func(b []byte) { b[39] = 0xff }),
		"too many headers":   damage(func(b []byte) { b[57] = 0xff }),
		"strange entry size": damage(func(b []byte) { b[54] = 32 }),
	} {
		var f probedFile
		if err := f.readHeaders(bytes.NewReader(content)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzReadHeaders(f *testing.F) {
	f.Add(inventedELF())
	f.Fuzz(func(t *testing.T, content []byte) {
		var file probedFile
		if err := file.readHeaders(bytes.NewReader(content)); err != nil {
			return
		}
		for _, segment := range file.text {
			if _, ok := file.segmentOf(segment.offset); !ok && segment.size > 0 {
				t.Errorf("segment %+v does not hold its own start", segment)
			}
		}
	})
}

func FuzzCheckInstruction(f *testing.F) {
	f.Add([]byte{0x66, 0x0f, 0x1f, 0x44, 0, 0}, false)
	f.Fuzz(func(t *testing.T, instruction []byte, shadowStack bool) {
		err := checkInstructionX86(instruction, shadowStack)
		if err == nil && (len(instruction) == 0 || bytes.HasPrefix(instruction, []byte{0x0f, 0x1f})) {
			t.Errorf("% x may be probed", instruction)
		}
	})
}

func TestMachinesWithShadowStacks(t *testing.T) {
	for cpuinfo, want := range map[string]bool{
		"processor\t: 0\nflags\t\t: fpu vme\nprocessor\t: 1\n":       false,
		"processor\t: 0\nflags\t\t: fpu user_shstk vme\n":            true,
		"processor\t: 0\nbugs\t: user_shstk\nflags\t\t: fpu shstk\n": false,
		"": true,
	} {
		if got := cpuMayHaveShadowStacks(cpuinfo); got != want {
			t.Errorf("%q: %v", cpuinfo, got)
		}
	}
}
