package elffile

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// Functions as rclcpp's timers have them: a call of a function of another file is given a member, and the user's code follows.
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

func checkPassed(t *testing.T, file *File) {
	t.Helper()
	for function, want := range map[string]Member{
		"small":    {Offsets: []int64{41}, Address: true},
		"referred": {Offsets: []int64{48}},
		"wide":     {Offsets: []int64{64}, Address: true},
		"guarded":  {Offsets: []int64{41}, Address: true},
		"after":    {Offsets: []int64{64}, Address: true},
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
