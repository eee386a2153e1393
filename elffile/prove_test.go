package elffile

import (
	"errors"
	"testing"
)

// An address is proven to be a site only by the function that it lies in, and only where an instruction begins.
func TestSiteInFunction(t *testing.T) {
	requireX86(t)
	file := assemble(t, map[string]string{
		"f":       "endbr64; push %rbx; mov $0x11223344,%eax; nopl 0(%rax,%rax,1); test %edi,%edi; je 1f; 1: pop %rbx; ret",
		"g":       "push %rbp; pop %rbp; ret",
		"unknown": "push %rbp; .byte 0x06; pop %rbp; ret",
	})
	start := func(name string) uint64 {
		t.Helper()
		symbol, err := file.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		return symbol.Address
	}
	for name, test := range map[string]struct {
		function string
		address  uint64
		err      error
	}{
		"entry":                         {"f", start("f"), nil},
		"first instruction behind":      {"f", start("f") + 4, nil},
		"a branch further on":           {"f", start("f") + 16, nil},
		"inside the first instruction":  {"f", start("f") + 1, ErrNoSafeSite},
		"an immediate value":            {"f", start("f") + 6, ErrNoSafeSite},
		"a nop of several bytes":        {"f", start("f") + 10, ErrNoSafeSite},
		"another function's entry":      {"f", start("g"), ErrNoSafeSite},
		"behind what cannot be decoded": {"unknown", start("unknown") + 2, ErrUnexpectedShape},
		"a function that is not there":  {"h", start("g"), ErrSymbolNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			site, err := file.SiteInFunction(test.function, test.address)
			if !errors.Is(err, test.err) || err == nil && site.Address != test.address {
				t.Errorf("%+v, %v; not %v", site, err, test.err)
			}
		})
	}
}

// Without a name, what a frame description entry covers is decoded.
func TestSiteAt(t *testing.T) {
	requireX86(t)
	file := buildLibrary(t, "library.s", `.text
	.globl f
	.type f,@function
f:	.cfi_startproc
	push %rbx
	mov $0x11223344,%eax
	pop %rbx
	ret
	.cfi_endproc
	.size f,.-f
	.globl bare
	.type bare,@function
bare:	push %rbx
	ret
	.size bare,.-bare
	.section .note.GNU-stack,"",@progbits
`, "-nostdlib")
	f, err := file.Lookup("f")
	if err != nil {
		t.Fatal(err)
	}
	bare, err := file.Lookup("bare")
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[uint64]error{f.Address: nil, f.Address + 6: nil, f.Address + 2: ErrNoSafeSite, bare.Address: ErrNoSafeSite} {
		if site, err := file.SiteAt(address); !errors.Is(err, want) || err == nil && site.Address != address {
			t.Errorf("%#x: %+v, %v; not %v", address-f.Address, site, err, want)
		}
	}
}
