package elffile

import (
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
	requireX86(t)
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
			file := buildLibrary(t, "library.c", source, append([]string{"-O2"}, test.options...)...)
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
			if site.Class != ClassEmulated || site.Instruction[0] != 0xe8 {
				t.Errorf("site %+v", site)
			}
			if implementation, err := file.Lookup("write_impl"); err == nil && site.Target != implementation.Address {
				t.Errorf("target %#x, expected %#x", site.Target, implementation.Address)
			}
		})
	}
}

func TestCallAfterDefinedCallee(t *testing.T) {
	requireX86(t)
	source := strings.Replace(writerSource, "MIDDLE", "result = write_impl(w, data, now(), 0);", 1) +
		`long long now(void) { asm volatile("" ::: "memory"); return 5; }`
	for name, options := range map[string][]string{
		"interposable": {"-O2", "-fno-ipa-ra"},
		"symbolic":     {"-O2", "-Wl,-Bsymbolic-functions", "-fno-ipa-ra"},
	} {
		t.Run(name, func(t *testing.T) {
			file := buildLibrary(t, "library.c", source, options...)
			site, err := file.CallAfter("writer", "now")
			if err != nil || !slices.Equal(site.ResultArguments, []int{3}) {
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
