package elffile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Functions as rclcpp's timers have them: a call of a function of another file is given a member, and the user's code
// follows.
const passedSource = `
extern void start(const void *callback, _Bool intra);
extern void end(const void *callback);
extern void user(void *functor, int), other(const void *);
struct timer { void *table; char padding[33]; char small; void *referred; struct { char wide[64]; } wide __attribute__((aligned(64))); };
typedef double vector __attribute__((vector_size(16)));
extern vector shared;
void small(struct timer *t) { start(&t->small, 0); user(&t->small, 1); end(&t->small); }
void referred(struct timer *t) { start(t->referred, 0); user(t->referred, 1); end(t->referred); }
void wide(struct timer *t) { start(&t->wide, 0); shared = shared * shared; user(&t->wide, 1); end(&t->wide); }
void guarded(struct timer *t) {
	if (!t->referred) return;
	start(&t->small, 0);
	for (int i = 0; i < 10; i++) user(&t->small, i);
	end(&t->small);
}
void after(struct timer *t) { other(t); start(&t->wide, 0); user(&t->wide, 1); }
void aligned(struct timer *t) { char local[200] __attribute__((aligned(128))); other(local); start(&t->small, 0); user(local, 1); other(local); }
void first(struct timer *t) { start(&t->small, 0); start(&t->wide, 0); }

void never(struct timer *t) { other(&t->small); }
void itself(struct timer *t) { start(t, 0); user(t, 1); }
void either(struct timer *t) { if (t->referred) start(&t->small, 0); else start(&t->wide, 0); user(t, 1); }
void second(struct timer *t, struct timer *u) { start(&u->small, 0); user(t, 1); }
void indexed(struct timer *t, int i) { start(&t->wide.wide[i], 0); user(t, 1); }
void global(struct timer *t) { start(&shared, 0); user(t, 1); }
`

func TestPassedMember(t *testing.T) {
	eachMachine(t, func(t *testing.T, build func(*testing.T, string, string, ...string) *File) {
		for _, options := range [][]string{
			{"-O2"}, {"-O0"}, {"-Os"}, {"-O2", "-fcf-protection=none"}, {"-O2", "-fno-omit-frame-pointer"}, {"-O3", "-s"},
			{"-O2", "-mbranch-protection=standard"}, {"-O2", "-Wl,-z,now"},
		} {
			t.Run(strings.Join(options, " "), func(t *testing.T) {
				file := build(t, "library.c", passedSource, append(options, "-fcommon")...)
				checkPassed(t, file)
			})
		}
	})
	t.Run("without PLT", func(t *testing.T) {
		file := buildLibrary(t, "library.c", passedSource, "-O2", "-fno-plt", "-nostdlib", "-Wl,-z,now")
		if file.Machine() != hostMachine() || file.Machine().String() != "EM_X86_64" {
			t.Skip("the address of the function is loaded by instructions of its own")
		}
		checkPassed(t, file)
	})
}

// Functions as rcl has them: a variable tells whether something was taken, and errors are reported in large buffers.
const passedLocalSource = `
extern int take(void *handle, void *info, void *message, _Bool *taken);
extern int report(const char *text, unsigned long size), fill(char *text);
int simple(void *handle, void *info, void *message) {
	_Bool taken = 0;
	return take(handle, info, message, &taken) ? 1 : taken ? 0 : 2;
}
int reports(void *handle, void *info, void *message) {
	_Bool taken = 0;
	if (!handle) {
		char text[700];
		if (fill(text)) return report(text, sizeof(text));
		return 11;
	}
	if (!info) {
		char text[300];
		for (int i = 0; i < 10; i++) fill(text);
		return report(text, sizeof(text));
	}
	int result = take(handle, info, message, &taken);
	return result ? result : taken ? 0 : 2;
}
int large(void *handle, void *info, void *message) {
	_Bool taken = 0;
	char text[5000];
	int result = fill(text) ? take(handle, info, message, &taken) : report(text, sizeof(text));
	return result ? result : taken ? 0 : 2;
}
static _Bool shared;
int elsewhere(void *handle, void *info, void *message) { return take(handle, info, message, &shared); }
int either(void *handle, void *info, void *message) {
	_Bool taken[2] = {0, 0};
	int result = handle ? take(handle, info, message, &taken[0]) : take(handle, info, message, &taken[1]);
	return result ? result : taken[0] + 2 * taken[1];
}
int passedOn(void *handle, void *info, void *message, _Bool *taken) { return take(handle, info, message, taken) + 1; }
`

// callTakingSource has a take that tells how far above its caller's stack pointer the variable is that it is given.
const callTakingSource = `
#include <stdio.h>
extern int simple(void *, void *, void *), reports(void *, void *, void *), large(void *, void *, void *);
int report(const char *text, unsigned long size) { return 0; }
int fill(char *text) { text[0] = 1; return 1; }
int take(void *handle, void *info, void *message, _Bool *taken) {
	printf("%ld\n", (char *)taken - ((char *)__builtin_frame_address(0) + 16));
	return 0;
}
int main(void) { simple(main, main, main); reports(main, main, main); large(main, main, main); }
`

func TestPassedLocal(t *testing.T) {
	eachMachine(t, func(t *testing.T, build func(*testing.T, string, string, ...string) *File) {
		for _, options := range [][]string{
			{"-O2"}, {"-O0"}, {"-Os"}, {"-O2", "-fno-omit-frame-pointer"}, {"-O2", "-fstack-protector-all", "-fstack-clash-protection"},
		} {
			t.Run(strings.Join(options, " "), func(t *testing.T) {
				file := build(t, "library.c", passedLocalSource, options...)
				for _, function := range []string{"simple", "reports"} {
					if at, err := file.PassedLocal(mustLookup(t, file, function), "take", 4); err != nil || at >= 8<<10 {
						t.Errorf("%s: %d, %v", function, at, err)
					}
				}
				for _, function := range []string{"elsewhere", "either", "passedOn"} {
					if at, err := file.PassedLocal(mustLookup(t, file, function), "take", 4); !errors.Is(err, ErrUnexpectedShape) {
						t.Errorf("%s: %d, %v", function, at, err)
					}
				}
			})
		}
	})
}

// TestPassedLocalIsThere runs the functions.
func TestPassedLocalIsThere(t *testing.T) {
	if hostMachine().String() != "EM_X86_64" {
		t.Skip("where a call leaves the stack pointer is asked for as on x86-64")
	}
	for _, options := range [][]string{{"-O2"}, {"-O0"}, {"-O2", "-fstack-protector-all", "-fstack-clash-protection"}} {
		library := buildLibraryFile(t, "library.c", passedLocalSource, options...)
		file := openFile(t, library)
		var want strings.Builder
		for _, function := range []string{"simple", "reports", "large"} {
			at, err := file.PassedLocal(mustLookup(t, file, function), "take", 4)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&want, at)
		}
		if got := callTaking(t, library); got != want.String() {
			t.Errorf("%q: found at %q, is at %q", options, want.String(), got)
		}
	}
}

// callTaking runs the functions of a library and returns where they say that their variable is.
func callTaking(t *testing.T, library string) string {
	t.Helper()
	source, program := filepath.Join(t.TempDir(), "program.c"), filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(source, []byte(callTakingSource), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-rdynamic", "-o", program, source, library).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func checkPassed(t *testing.T, file *File) {
	t.Helper()
	for function, want := range map[string]Member{
		"small":    {Offsets: []int64{41}, Address: true},
		"referred": {Offsets: []int64{48}},
		"wide":     {Offsets: []int64{64}, Address: true},
		"guarded":  {Offsets: []int64{41}, Address: true},
		"after":    {Offsets: []int64{64}, Address: true},
		"aligned":  {Offsets: []int64{41}, Address: true},
		"first":    {Offsets: []int64{41}, Address: true},
	} {
		got, err := file.PassedMember(mustLookup(t, file, function).Address, "start")
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", function, got, err, want)
		}
	}
	for _, function := range []string{"never", "itself", "either", "second", "indexed", "global"} {
		if got, err := file.PassedMember(mustLookup(t, file, function).Address, "start"); !errors.Is(err, ErrUnexpectedShape) {
			t.Errorf("%s: %+v, %v", function, got, err)
		}
	}
	small := mustLookup(t, file, "small").Address
	if got, err := file.PassedMember(small+4, "start"); err == nil {
		t.Errorf("from the middle of a function: %+v", got)
	}
	if got, err := file.PassedMember(small, "absent"); err == nil {
		t.Errorf("to a function that nothing calls: %+v", got)
	}
}
