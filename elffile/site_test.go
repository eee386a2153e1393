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
		code    string
		request SiteRequest
		offset  uint64
		stack   int
		class   Class
		bytes   string
		err     error
	}{
		"push_first":        {code: "push %rbp; mov %rsp,%rbp; pop %rbp; ret", class: ClassEmulated, bytes: "55"},
		"push_extended":     {code: "push %r12; pop %r12; ret", class: ClassEmulated, bytes: "4154"},
		"endbr_push":        {code: "endbr64; push %rbx; pop %rbx; ret", offset: 4, class: ClassEmulated, bytes: "53"},
		"endbr_push_r15":    {code: "endbr64; push %r15; pop %r15; ret", offset: 4, class: ClassEmulated, bytes: "4157"},
		"endbr_sub":         {code: "endbr64; sub $8,%rsp; add $8,%rsp; ret", class: ClassSingleStepped, bytes: "f30f1efa"},
		"vzeroupper_push":   {code: "vzeroupper; push %r12; pop %r12; ret", class: ClassSingleStepped, bytes: "c5f877"},
		"endbr_ret":         {code: "endbr64; ret", class: ClassSingleStepped, bytes: "f30f1efa"},
		"endbr_rexw_push":   {code: "endbr64; .byte 0x48,0x55; pop %rbp; ret", class: ClassSingleStepped, bytes: "f30f1efa"},
		"endbr_push_imm":    {code: "endbr64; push $5; pop %rax; ret", class: ClassSingleStepped, bytes: "f30f1efa"},
		"endbr_nop5":        {code: "endbr64; nopl 0(%rax,%rax,1); ret", class: ClassSingleStepped, bytes: "f30f1efa"},
		"endbr_nop1":        {code: "endbr64; nop; ret", offset: 4, class: ClassEmulated, bytes: "90"},
		"entry_wanted":      {code: "endbr64; push %rbx; pop %rbx; ret", request: SiteRequest{Entry: true}, class: ClassSingleStepped, bytes: "f30f1efa"},
		"tracepoint":        {code: "endbr64; mov %fs:0,%eax; test %eax,%eax; jne 1f; ret; 1: ud2", offset: 14, class: ClassEmulated, bytes: "7501"},
		"past_frame":        {code: "endbr64; sub $24,%rsp; mov %rdi,8(%rsp); test %esi,%esi; je 1f; nop; 1: add $24,%rsp; ret", offset: 15, stack: 24, class: ClassEmulated, bytes: "7401"},
		"past_other_pushes": {code: "push $5; test %edi,%edi; je 1f; nop; 1: pop %rax; ret", offset: 4, stack: 8, class: ClassEmulated, bytes: "7401"},
		"argument_lost":     {code: "endbr64; mov (%rdi),%rdi; push %rbx; pop %rbx; ret", class: ClassSingleStepped, bytes: "f30f1efa"},
		"part_of_one_lost":  {code: "endbr64; mov $1,%sil; push %rbx; pop %rbx; ret", class: ClassSingleStepped, bytes: "f30f1efa"},
		"unwanted_one_lost": {code: "endbr64; mov (%rdi),%rdx; push %rbx; pop %rbx; ret", request: SiteRequest{Arguments: 2}, offset: 7, class: ClassEmulated, bytes: "53"},
		"multiplication":    {code: "endbr64; mul %rdi; push %rbx; pop %rbx; ret", class: ClassSingleStepped, bytes: "f30f1efa"},
		"call_inside":       {code: "sub $8,%rsp; .byte 0xe8,0,0,0,0; add $8,%rsp; ret", offset: 4, stack: 8, class: ClassEmulated, bytes: "e800000000"},
		"no_calls":          {code: "sub $8,%rsp; .byte 0xe8,0,0,0,0; add $8,%rsp; ret", request: SiteRequest{NoCalls: true}, class: ClassSingleStepped, bytes: "4883ec08"},
		"measured_same":     {code: "endbr64; push %rbx; pop %rbx; ret", request: SiteRequest{Cheaper: func(one, other Site) bool { return false }}, class: ClassSingleStepped, bytes: "f30f1efa"},
		"measured_sub":      {code: "endbr64; sub $8,%rsp; push %rbx; ret", request: SiteRequest{Cheaper: prefers("48")}, offset: 4, class: ClassSingleStepped, bytes: "4883ec08"},
		"measured_branch":   {code: "endbr64; push %rbx; test %edi,%edi; je 1f; nop; 1: pop %rbx; ret", request: SiteRequest{Cheaper: prefers("74")}, offset: 7, stack: 8, class: ClassEmulated, bytes: "7401"},
		"measured_looped":   {code: "endbr64; mov %rdi,%rax; 1: sub $8,%rsp; dec %rax; jne 1b; ret", request: SiteRequest{Cheaper: prefers("4883")}, class: ClassSingleStepped, bytes: "f30f1efa"},
		"loop_over_site":    {code: "mov %rdi,%rax; 1: test %rax,%rax; je 2f; mov (%rax),%rax; jmp 1b; 2: ret", class: ClassSingleStepped, bytes: "4889f8"},
		"loop_to_site":      {code: "mov %rdi,%rax; test %rax,%rax; 1: je 2f; dec %rax; jmp 1b; 2: ret", class: ClassSingleStepped, bytes: "4889f8"},
		"loop_to_push":      {code: "endbr64; 1: push %rbx; pop %rbx; dec %rdi; jne 1b; ret", class: ClassSingleStepped, bytes: "f30f1efa"},
		"jump_table":        {code: "test %edi,%edi; je 1f; jmp *%rax; 1: ret", class: ClassSingleStepped, bytes: "85ff"},
		"push_and_table":    {code: "endbr64; push %rbx; pop %rbx; jmp *%rax", offset: 4, class: ClassEmulated, bytes: "53"},
		"behind_skipped":    {code: "test %edi,%edi; jmp 1f; push %rbx; 1: ret", offset: 2, class: ClassEmulated, bytes: "eb01"},
		"align_stack":       {code: "lea 8(%rsp),%r10; and $-32,%rsp; push %rbx; ret", class: ClassSingleStepped, bytes: "4c8d542408"},
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
			site, err := file.FunctionSite(symbol, test.request)
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
			if site.Address != symbol.Address+test.offset || site.FileOffset != offset || site.Class != test.class || site.StackOffset != test.stack ||
				hex.EncodeToString(site.Instruction) != test.bytes {
				t.Errorf("site at +%d: %+v", site.Address-symbol.Address, site)
			}
		})
	}
}

// prefers says that instructions with that beginning cost less than all others.
func prefers(beginning string) func(one, other Site) bool {
	is := func(site Site) bool { return strings.HasPrefix(hex.EncodeToString(site.Instruction), beginning) }
	return func(one, other Site) bool { return is(one) && !is(other) }
}

func TestFunctionSiteOutsideCode(t *testing.T) {
	requireX86(t)
	file := assemble(t, map[string]string{"f": "ret"})
	for _, address := range []uint64{0, 1 << 40, ^uint64(0)} {
		if site, err := file.FunctionSite(Symbol{Name: "outside", Address: address}, SiteRequest{}); !errors.Is(err, ErrNotMapped) {
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
