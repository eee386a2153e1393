package elffile

import (
	"debug/elf"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

func assemble(t *testing.T, functions map[string]string) *File {
	t.Helper()
	var source strings.Builder
	source.WriteString(".text\n")
	for name, code := range functions {
		source.WriteString(".globl " + name + "\n.type " + name + ",@function\n.balign 16\n" + name + ":\n" + code + "\n.size " + name + ",.-" + name + "\n")
	}
	source.WriteString(".section .note.GNU-stack,\"\",@progbits\n")
	return buildLibrary(t, "library.s", source.String(), "-nostdlib")
}

func requireX86(t *testing.T) {
	t.Helper()
	if (&File{header: elf.Header64{Machine: uint16(elf.EM_X86_64)}}).Machine() != hostMachine() {
		t.Skip("x86-64 only")
	}
}

func TestFunctionSite(t *testing.T) {
	requireX86(t)
	tests := map[string]struct {
		code   string
		offset uint64
		class  Class
		bytes  string
		err    error
	}{
		"push_first":        {code: "push %rbp; mov %rsp,%rbp; pop %rbp; ret", class: ClassEmulated, bytes: "55"},
		"push_extended":     {code: "push %r12; pop %r12; ret", class: ClassEmulated, bytes: "4154"},
		"endbr_push":        {code: "endbr64; push %rbx; pop %rbx; ret", offset: 4, class: ClassEmulated, bytes: "53"},
		"endbr_push_r15":    {code: "endbr64; push %r15; pop %r15; ret", offset: 4, class: ClassEmulated, bytes: "4157"},
		"endbr_sub":         {code: "endbr64; sub $8,%rsp; add $8,%rsp; ret", class: ClassSingleStepped, bytes: "f30f1efa"},
		"endbr_ret":         {code: "endbr64; ret", class: ClassSingleStepped, bytes: "f30f1efa"},
		"endbr_rexw_push":   {code: "endbr64; .byte 0x48,0x55; pop %rbp; ret", class: ClassSingleStepped, bytes: "f30f1efa"},
		"endbr_push_imm":    {code: "endbr64; push $5; pop %rax; ret", class: ClassSingleStepped, bytes: "f30f1efa"},
		"endbr_nop5":        {code: "endbr64; nopl 0(%rax,%rax,1); ret", class: ClassSingleStepped, bytes: "f30f1efa"},
		"endbr_nop1":        {code: "endbr64; nop; ret", class: ClassSingleStepped, bytes: "f30f1efa"},
		"endbr_only":        {code: "endbr64", class: ClassSingleStepped, bytes: "f30f1efa"},
		"only_ret":          {code: "ret", class: ClassSingleStepped, bytes: "c3"},
		"tail_jump":         {code: "jmp tail_jump", class: ClassEmulated, bytes: "ebfe"},
		"nop1":              {code: "nop; ret", class: ClassEmulated, bytes: "90"},
		"indirect_jump":     {code: "jmp *%rax", class: ClassSingleStepped, bytes: "ffe0"},
		"red_zone_nop5":     {code: "nopl 0(%rax,%rax,1); movl $1,-4(%rsp); mov -4(%rsp),%eax; ret", err: ErrNoSafeSite},
		"nop2":              {code: ".byte 0x66,0x90; ret", err: ErrNoSafeSite},
		"nop10":             {code: ".byte 0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0; ret", err: ErrNoSafeSite},
		"nop_rex":           {code: ".byte 0x48,0x90; ret", err: ErrNoSafeSite},
		"nop_register":      {code: ".byte 0x0f,0x1f,0xc0; ret", err: ErrNoSafeSite},
		"exchange_self":     {code: ".byte 0x66,0x87,0xc0; ret", err: ErrNoSafeSite},
		"undefined":         {code: "ud2", err: ErrNoSafeSite},
		"breakpoint":        {code: "int3; ret", err: ErrNoSafeSite},
		"not_an_instructon": {code: ".byte 0x06,0x06,0x06", err: ErrUnexpectedShape},
	}
	functions := map[string]string{}
	for name, test := range tests {
		functions[name] = test.code
	}
	file := assemble(t, functions)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			symbol := mustLookup(t, file, name)
			site, err := file.FunctionSite(symbol)
			if !errors.Is(err, test.err) {
				t.Fatalf("error %v, expected %v", err, test.err)
			}
			if test.err != nil {
				return
			}
			offset, err := file.FileOffset(symbol.Address + test.offset)
			if err != nil {
				t.Fatal(err)
			}
			if site.Address != symbol.Address+test.offset || site.FileOffset != offset || site.Class != test.class ||
				hex.EncodeToString(site.Instruction) != test.bytes {
				t.Errorf("site at +%d: %+v", site.Address-symbol.Address, site)
			}
		})
	}
}

func TestFunctionSiteOutsideCode(t *testing.T) {
	requireX86(t)
	file := assemble(t, map[string]string{"f": "ret"})
	for _, address := range []uint64{0, 1 << 40, ^uint64(0)} {
		if site, err := file.FunctionSite(Symbol{Name: "outside", Address: address}); !errors.Is(err, ErrNotMapped) {
			t.Errorf("%#x: %+v, %v", address, site, err)
		}
	}
}

func TestClassString(t *testing.T) {
	for class, expected := range map[Class]string{ClassEmulated: "emulated", ClassSingleStepped: "single-stepped", 0: "class 0"} {
		if class.String() != expected {
			t.Errorf("%d is %q", int(class), class)
		}
	}
}

func TestClassText(t *testing.T) {
	for _, class := range []Class{ClassEmulated, ClassSingleStepped} {
		text, err := class.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var read Class
		if err := read.UnmarshalText(text); err != nil || read != class {
			t.Errorf("%v was read as %v, %v", class, read, err)
		}
	}
	if err := new(Class).UnmarshalText([]byte("free")); err == nil {
		t.Error("read an unknown class")
	}
}
