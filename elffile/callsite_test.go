package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
)

// writerSource has the shape of Cyclone's dds_write, with a variable middle.
const writerSource = `
typedef long long time_type;
extern time_type now(void);
extern int lock(int, void **);
extern void unlock(void *);
__attribute__((noinline, visibility("hidden"))) int write_impl(void *w, const void *d, time_type t, int action)
{ asm volatile("" :: "r"(w), "r"(d), "r"(t), "r"(action)); return action; }
int writer(int entity, const void *data)
{
	void *w; int result;
	if (data == 0) return -3;
	if ((result = lock(entity, &w)) < 0) return result;
	MIDDLE
	unlock(w);
	return result;
}
`

func TestCallAfter(t *testing.T) {
	eachMachine(t, testCallAfter)
}

func testCallAfter(t *testing.T, build func(*testing.T, string, string, ...string) *File) {
	const plain = "result = write_impl(w, data, now(), 0);"
	for name, test := range map[string]struct {
		middle  string
		options []string
		result  []int
		err     error
	}{
		"plt":            {middle: plain, result: []int{3}},
		"plt.sec":        {middle: plain, options: []string{"-fcf-protection=full"}, result: []int{3}},
		"stripped":       {middle: plain, options: []string{"-s"}, result: []int{3}},
		"unsafe stack":   {middle: plain, options: []string{"-fstack-protector-all"}, result: []int{3}},
		"second":         {middle: "result = write_impl(w, (void *)now(), 5, 0);", result: []int{2}},
		"not passed on":  {middle: "(void)now(); result = write_impl(w, data, 5, 0);", result: nil},
		"changed":        {middle: "result = write_impl(w, data, now() + 1, 0);", result: nil},
		"never called":   {middle: "result = write_impl(w, data, 5, 0);", err: ErrSymbolNotFound},
		"called twice":   {middle: "now(); " + plain, err: ErrUnexpectedShape},
		"branch between": {middle: "time_type t = now(); if (t > 5) lock(7, 0); result = write_impl(w, data, t, 0);", err: ErrUnexpectedShape},
		"loop": {middle: "time_type t = now(); do { result = write_impl(w, data, t, 0); } while (result > 5);",
			err: ErrUnexpectedShape},
		"no plt":        {middle: plain, options: []string{"-fno-plt"}, err: ErrSymbolNotFound},
		"indirect call": {middle: "extern int (*pointer)(void *, const void *, time_type); result = pointer(w, data, now());", err: ErrUnexpectedShape},
	} {
		t.Run(name, func(t *testing.T) {
			source := strings.Replace(writerSource, "MIDDLE", test.middle, 1)
			if test.err == nil && !slices.Contains(test.options, "-s") {
				test.options = append(test.options, "-g0")
			}
			file := build(t, "library.c", source, append([]string{"-O2"}, test.options...)...)
			site, err := file.CallAfter("writer", "now")
			if !errors.Is(err, test.err) {
				t.Fatalf("error %v, expected %v", err, test.err)
			}
			if test.err != nil {
				t.Log(err)
				return
			}
			if !slices.Equal(site.ResultArguments, test.result) {
				t.Errorf("result in arguments %v, expected %v", site.ResultArguments, test.result)
			}
			if site.Class != ClassEmulated || site.Emulation != "call" {
				t.Errorf("site %+v", site)
			}
			if implementation, err := file.Lookup("write_impl"); err == nil && site.Target != implementation.Address {
				t.Errorf("target %#x, expected %#x", site.Target, implementation.Address)
			}
		})
	}
}

func TestCallAfterDefinedCallee(t *testing.T) {
	eachMachine(t, testCallAfterDefinedCallee)
}

func testCallAfterDefinedCallee(t *testing.T, build func(*testing.T, string, string, ...string) *File) {
	source := strings.Replace(writerSource, "MIDDLE", "result = write_impl(w, data, now(), 0);", 1) +
		`long long now(void) { asm volatile("" ::: "memory"); return 5; }`
	for name, options := range map[string][]string{
		"interposable": {"-O2", "-fno-ipa-ra"},
		"symbolic":     {"-O2", "-Wl,-Bsymbolic-functions", "-fno-ipa-ra"},
	} {
		t.Run(name, func(t *testing.T) {
			file := build(t, "library.c", source, options...)
			site, err := file.CallAfter("writer", "now")
			if err != nil || !slices.Equal(site.ResultArguments, []int{3}) {
				t.Errorf("%+v, %v", site, err)
			}
		})
	}
}

// serdataSource has the shape of Cyclone's dds_writecdr.
const serdataSource = `
struct serdata { char padding[24]; long long timestamp; };
extern long long now(void);
extern int write_impl(void *w, void *xp, struct serdata *d, int flush);
int writer(void *w, struct serdata *d) { d->timestamp = now(); return write_impl(w, w, d, 1) + 1; }
int computed(void *w, struct serdata *d) { d->timestamp = now() + 1; return write_impl(w, w, d, 1) + 1; }
`

func TestCallAfterStores(t *testing.T) {
	eachMachine(t, func(t *testing.T, build func(*testing.T, string, string, ...string) *File) {
		file := build(t, "library.c", serdataSource, "-O2")
		site, err := file.CallAfter("writer", "now")
		if err != nil || !slices.Equal(site.ResultStores[3], []int64{24}) {
			t.Errorf("%+v, %v", site, err)
		}
		site, err = file.CallAfter("computed", "now")
		if err != nil || len(site.ResultStores) > 0 {
			t.Errorf("%+v, %v", site, err)
		}
	})
}

// takerSource has the shape of rcl's service functions, with a variable middle.
const takerSource = `
extern int lower(void *handle, void *header, void *request, char *taken);
extern void set_error(const char *text, ...);
extern int taker(void **handle, void *header, void *request)
{
	char taken = 0; int result;
	if (!handle) { set_error("null"); return 11; }
	MIDDLE
	if (result != 0) { set_error("failed: %d", result); return result == 10 ? 10 : 1; }
	return taken ? 0 : 601;
}
`

func TestReturnOf(t *testing.T) {
	eachMachine(t, func(t *testing.T, build func(*testing.T, string, string, ...string) *File) {
		const plain = "result = lower(*handle, header, request, &taken);"
		for name, test := range map[string]struct {
			middle  string
			options []string
			err     error
		}{
			"plt":            {middle: plain},
			"stripped":       {middle: plain, options: []string{"-s"}},
			"stack checked":  {middle: plain, options: []string{"-fstack-protector-all"}},
			"authenticated":  {middle: plain, options: []string{"-mbranch-protection=standard", "-fcf-protection=full"}},
			"not optimized":  {middle: plain, options: []string{"-O0"}},
			"in a loop":      {middle: "do " + plain + " while (result == 7);"},
			"never called":   {middle: "result = 0;", err: ErrSymbolNotFound},
			"called twice":   {middle: plain + " if (result == 7) " + plain, err: ErrUnexpectedShape},
			"through memory": {middle: "extern int (*pointer)(void *); result = pointer(*handle);", err: ErrSymbolNotFound},
			"jump table": {middle: "static void *const labels[] = {&&a, &&b}; goto *labels[*(int *)request]; a: " + plain + " goto c; b: result = 3; c:",
				err: ErrUnexpectedShape},
		} {
			t.Run(name, func(t *testing.T) {
				source := strings.Replace(takerSource, "MIDDLE", test.middle, 1)
				file := build(t, "library.c", source, append([]string{"-O2"}, test.options...)...)
				site, err := file.ReturnOf("taker", "lower")
				if !errors.Is(err, test.err) {
					t.Fatalf("error %v, expected %v", err, test.err)
				}
				if test.err != nil {
					return
				}
				bounds, err := file.FunctionBounds(mustLookup(t, file, "taker"))
				if err != nil {
					t.Fatal(err)
				}
				code, err := file.Decode(bounds)
				if err != nil {
					t.Fatal(err)
				}
				entries, err := file.PLTEntriesOf("lower")
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(code, func(i Instruction) bool { return i.Address == site.Address })
				if i < 1 || code[i-1].Flow != FlowCall || !slices.Contains(entries, code[i-1].Target) || !slices.Equal(code[i].Bytes, site.Instruction) {
					t.Errorf("site %+v does not follow the call", site)
				}
			})
		}
	})
}

// What a call returns to is no proof that it was called if a branch leads there, too. Words are as GNU as encodes them
// for code at 0x1000, and the function that they call lies behind.
func TestReturnOfBranchARM64(t *testing.T) {
	const (
		frame, restore  = 0xa9bf7bfd, 0xa8c17bfd // stp x29, x30, [sp, #-16]!; ldp x29, x30, [sp], #16
		moveToX19, ret  = 0xaa0003f3, 0xd65f03c0
		call            = 0x94000000             // bl .
		skip, skipBelow = 0xb4000040, 0xb4000060 // cbz x0, .+8, .+12
		back            = 0x17fffffe             // b .-8
		forward         = 0x14000002             // b .+8
		indirect        = 0xd61f0220             // br x17
	)
	for name, test := range map[string]struct {
		words []uint32 // call is that of what follows the words
		site  int      // its index, 0 if there is none
	}{
		"straight":             {[]uint32{frame, call, moveToX19, restore, ret}, 2},
		"branch past it":       {[]uint32{frame, skipBelow, call, moveToX19, restore, ret}, 3},
		"branch to it":         {[]uint32{frame, skip, call, moveToX19, restore, ret}, 0},
		"branch back to it":    {[]uint32{frame, call, moveToX19, skip, back, restore, ret}, 0},
		"branch behind it":     {[]uint32{frame, call, moveToX19, forward, ret, restore, ret}, 2},
		"branch through a reg": {[]uint32{frame, call, moveToX19, indirect}, 0},
		"no return":            {[]uint32{frame, call}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var code []byte
			for i, word := range test.words {
				if word == call {
					word |= uint32(len(test.words) - i)
				}
				code = binary.LittleEndian.AppendUint32(code, word)
			}
			bounds := Range{0x1000, 0x1000 + uint64(len(code))}
			file := &File{
				reader:   bytes.NewReader(code),
				header:   elf.Header64{Machine: uint16(elf.EM_AARCH64)},
				segments: []Segment{{Address: bounds.Start, FileSize: uint64(len(code)), Flags: elf.PF_X}},
			}
			instructions, err := file.Decode(bounds)
			if err != nil {
				t.Fatal(err)
			}
			site, err := file.returnSite(instructions, bounds, []uint64{bounds.End})
			if test.site == 0 {
				if !errors.Is(err, ErrUnexpectedShape) {
					t.Errorf("%+v, %v", site, err)
				}
				return
			}
			if err != nil || site.Address != 0x1000+4*uint64(test.site) || site.Class != ClassSingleStepped {
				t.Errorf("%+v, %v", site, err)
			}
		})
	}
}

// A branch from an outlined part of the function into the code between the calls would reach the site without the
// first call.
func TestCallAfterBranchFromOutlinedPart(t *testing.T) {
	requireX86(t)
	const source = `
.text
.globl now
.type now,@function
now: .cfi_startproc
	ret
.cfi_endproc
.size now,.-now
.type implementation,@function
implementation: .cfi_startproc
	ret
.cfi_endproc
.size implementation,.-implementation
.globl writer
.type writer,@function
writer: .cfi_startproc
	test %rdi,%rdi
	je writer.cold
	call now
	mov %rax,%rdx
middle:
	call implementation
back:
	ret
.cfi_endproc
.size writer,.-writer
.section .text.unlikely,"ax",@progbits
writer.cold: .cfi_startproc
	mov $1,%edx
	jmp TARGET
.cfi_endproc
.section .note.GNU-stack,"",@progbits
`
	for target, expected := range map[string]error{"back": nil, "middle": ErrUnexpectedShape, "back-1": ErrUnexpectedShape} {
		t.Run(target, func(t *testing.T) {
			file := buildLibrary(t, "library.s", strings.Replace(source, "TARGET", target, 1), "-nostdlib", "-Wl,-Bsymbolic")
			if _, err := file.CallAfter("writer", "now"); !errors.Is(err, expected) {
				t.Errorf("error %v, expected %v", err, expected)
			}
		})
	}
}

func TestCallAfterUnknownNames(t *testing.T) {
	requireX86(t)
	file := assemble(t, map[string]string{"f": "ret"})
	for _, names := range [][2]string{{"absent", "f"}, {"f", "absent"}} {
		if _, err := file.CallAfter(names[0], names[1]); !errors.Is(err, ErrSymbolNotFound) {
			t.Errorf("%v: %v", names, err)
		}
	}
}
