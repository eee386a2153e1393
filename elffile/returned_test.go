package elffile

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// Objects as a type support library has them: a handle that only a function leads to, and pointers from one to the
// next.
const handleSource = `
static const char name[] = "header";
static const char *const members[] = {name, 0};
static const void *handle[] = {0, members};
int exported;
const void *get_handle(void) { return handle; }
const void *get_exported(void) { return &exported; }
const void *get_counted(void) { exported++; return handle; }
const void *get_either(int first) { return first ? (void *)handle : (void *)members; }
const void *get_null(void) { return 0; }
`

func TestReturnedAddress(t *testing.T) {
	eachMachine(t, func(t *testing.T, build func(*testing.T, string, string, ...string) *File) {
		for _, options := range [][]string{
			{"-O0"}, {"-O2"}, {"-O2", "-fcf-protection=none"}, {"-O2", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"},
			{"-O2", "-s"}, {"-Os"}, {"-O2", "-fPIC", "-Wl,-z,now"},
		} {
			t.Run(strings.Join(options, " "), func(t *testing.T) {
				file := build(t, "library.c", handleSource, options...)
				handle, err := file.ReturnedAddress(mustLookup(t, file, "get_handle"))
				if err != nil {
					t.Fatal(err)
				}
				members, err := file.PointerAt(handle + 8)
				if err != nil {
					t.Fatal(err)
				}
				name, err := file.PointerAt(members)
				if err != nil {
					t.Fatal(err)
				}
				text := make([]byte, len("header")+1)
				if _, err := file.ReadAt(name, text); err != nil || string(text) != "header\x00" {
					t.Errorf("%q, %v", text, err)
				}
				for _, address := range []uint64{handle, members + 8, name, handle + 1, 0} {
					if value, err := file.PointerAt(address); !errors.Is(err, ErrNotRelocated) {
						t.Errorf("pointer at %#x: %#x, %v", address, value, err)
					}
				}
				for _, function := range []string{"get_exported", "get_counted", "get_either", "get_null"} {
					if address, err := file.ReturnedAddress(mustLookup(t, file, function)); !errors.Is(err, ErrUnexpectedShape) {
						t.Errorf("%s: %#x, %v", function, address, err)
					}
				}
			})
		}
	})
}

// Words are as clang and GNU as encode them for code at 0x10000.
func TestReturnedAddressARM64(t *testing.T) {
	const (
		paciasp, autiasp, btiC           = 0xd503233f, 0xd50323bf, 0xd503245f
		pushFrame, setFrame, popFrame    = 0xa9bf7bfd, 0x910003fd, 0xa8c17bfd
		adrp, add                        = 0xf0000080, 0x9105e000 // adrp x0, .+0x13000; add x0, x0, #0x178
		adrpBack, addX1, adr, addShifted = 0xf0ffffe0, 0x9105e001, 0x10000100, 0x9145e000
		ldr, adrpX1                      = 0xf940bc00, 0xf0000081
	)
	for name, test := range map[string]struct {
		words   []uint32
		address uint64
	}{
		"leaf":               {[]uint32{adrp, add}, 0x23178},
		"bti":                {[]uint32{btiC, adrp, add}, 0x23178},
		"frame":              {[]uint32{paciasp, pushFrame, adrp, setFrame, add, popFrame, autiasp}, 0x23178},
		"backwards":          {[]uint32{adrpBack, add}, 0xf178},
		"near":               {[]uint32{adr}, 0x10020},
		"page only":          {[]uint32{adrp}, 0},
		"from the GOT":       {[]uint32{adrp, ldr}, 0},
		"other register":     {[]uint32{adrpX1, add}, 0},
		"into another":       {[]uint32{adrp, addX1}, 0},
		"shifted":            {[]uint32{adrp, addShifted}, 0},
		"added twice":        {[]uint32{adrp, add, add}, 0},
		"nothing":            {nil, 0},
		"formed then formed": {[]uint32{adrp, add, adr}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var code []Instruction
			for i, word := range test.words {
				code = append(code, Instruction{Address: 0x10000 + 4*uint64(i), Bytes: binary.LittleEndian.AppendUint32(nil, word)})
			}
			address, ok := returnedAddressARM64(code)
			if ok != (test.address != 0) || ok && address != test.address {
				t.Errorf("%#x, %v", address, ok)
			}
		})
	}
}
