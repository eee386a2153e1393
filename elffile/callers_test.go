package elffile

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// callersSource calls trace_a and trace_b in every usual way.
const callersSource = `
extern void trace_a(void *, int), trace_b(void *);
extern int other(int);
void plain(void *p) { trace_a(p, 1); other(2); trace_b(p); other(3); }
void tail(void *p) { other(1); trace_b(p); }
static __attribute__((noinline)) void local(void *p, int n) { if (n) trace_a(p, n); other(n); }
void branches(void *p, int n) { local(p, n); switch (n) { case 1: trace_a(p, 5); break; case 2: trace_b(p); break; default: other(n); } other(n); }
EXTRA
`

func TestCallersOf(t *testing.T) {
	requireX86(t)
	const assembly = `
.text
NAME:
	.cfi_startproc
	BODY
	ret
	.cfi_endproc
`
	const none = ""
	for name, test := range map[string]struct {
		extra     string
		assembly  string
		options   []string
		uncertain []string
	}{
		"plt":              {},
		"plt.sec":          {options: []string{"-fcf-protection=full", "-Wl,-z,ibtplt"}},
		"lazy binding":     {options: []string{"-Wl,-z,lazy"}},
		"binding at start": {options: []string{"-Wl,-z,now"}},
		"stripped":         {options: []string{"-s"}},
		"unoptimized":      {options: []string{"-O0"}},
		"calls through the GOT": {
			options: []string{"-fno-plt"}, uncertain: []string{"trace_a", "trace_b"},
		},
		"address in data":     {extra: "void (*pointer)(void *) = trace_b;", uncertain: []string{"trace_b"}},
		"address in code":     {extra: "void *taken(void) { return (void *)trace_a; }", uncertain: []string{"trace_a"}},
		"conditional jump":    {assembly: "je trace_a@plt", uncertain: []string{"trace_a"}},
		"prefixed call":       {assembly: ".byte 0x67; call trace_b@plt", uncertain: []string{"trace_b"}},
		"behind vzeroupper":   {assembly: "vzeroupper; call trace_b@plt"},
		"inside of a number":  {assembly: "movabs $0x11111100e8111111,%rax"},
		"unknown instruction": {assembly: ".byte 0x06; call trace_b@plt", uncertain: []string{"trace_b"}},
		"without frame description": {
			extra:     `__asm__(".text; bare: call trace_b@plt; ret");`,
			uncertain: []string{"trace_b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			extra := test.extra
			if test.assembly != none {
				code := strings.NewReplacer("NAME", "written", "BODY", test.assembly, "\n", `\n`).Replace(assembly)
				extra += fmt.Sprintf("\n__asm__(\"%s\");", code)
			}
			source := strings.Replace(callersSource, "EXTRA", extra, 1)
			path := buildLibraryFile(t, "library.c", source, append([]string{"-O2"}, test.options...)...)
			file := openFile(t, path)
			callers, err := file.CallersOf([]string{"trace_a", "trace_b", "trace_c"})
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Sorted(maps.Keys(callers.Uncertain)); !slices.Equal(got, test.uncertain) {
				t.Errorf("uncertain: %v", callers.Uncertain)
			}
			for _, caller := range callers.Known {
				if caller.Class != ClassEmulated || caller.Jump != (caller.Instruction[0] == 0xe9) {
					t.Errorf("%+v", caller)
				}
			}
			compareWithObjdump(t, path, []string{"trace_a", "trace_b"}, callers)
		})
	}
}

// compareWithObjdump requires exactly the callers that objdump shows, of the functions that are not uncertain.
func compareWithObjdump(t *testing.T, path string, names []string, callers Callers) (count int) {
	t.Helper()
	branch := regexp.MustCompile(`^(?:bnd )?(call|jmp)\s+[0-9a-f]+ <([^@>]+)@plt>$`)
	expected := map[string]bool{}
	for line := range objdumpLines(t, path) {
		address, text, found := strings.Cut(strings.TrimSpace(line), ":\t")
		number, err := strconv.ParseUint(address, 16, 64)
		if !found || err != nil {
			continue
		}
		match := branch.FindStringSubmatch(strings.TrimSpace(text))
		if match != nil && slices.Contains(names, match[2]) && callers.Uncertain[match[2]] == "" {
			expected[fmt.Sprintf("%x %s %s", number, match[1], match[2])] = true
		}
	}
	count = len(expected)
	for _, caller := range callers.Known {
		kind := map[bool]string{false: "call", true: "jmp"}[caller.Jump]
		key := fmt.Sprintf("%x %s %s", caller.Address, kind, caller.Callee)
		if !expected[key] && callers.Uncertain[caller.Callee] == "" {
			t.Errorf("objdump does not know the caller %s", key)
		}
		delete(expected, key)
	}
	for key := range expected {
		t.Errorf("caller %s was not found", key)
	}
	return count
}

func TestCallersWithoutSectionTable(t *testing.T) {
	file := &File{}
	file.header.Machine = uint16(hostMachine())
	requireX86(t)
	callers, err := file.CallersOf([]string{"f"})
	if err != nil || callers.Uncertain["f"] == "" {
		t.Errorf("%+v, %v", callers, err)
	}
}

func TestCallersOnOtherMachines(t *testing.T) {
	file := &File{reader: bytes.NewReader(nil)}
	if _, err := file.CallersOf([]string{"f"}); !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
}

// defines reports whether a library exports a function itself, as sanitizers do free.
func defines(t *testing.T, path, name string) bool {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		t.Fatal(err)
	}
	return slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == name && s.Section != elf.SHN_UNDEF })
}

// In the libraries of the machine, the callers of some functions that many call are those that objdump shows.
func TestCorpusCallers(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("objdump is asked for x86-64 code")
	}
	names := []string{"memcpy", "strcmp", "malloc", "free", "__stack_chk_fail", "pthread_mutex_lock", "ros_trace_callback_start", "ros_trace_callback_end"}
	var compared, uncertain int
	for _, path := range corpus(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			foreign := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return defines(t, path, name) })
			callers, err := openFile(t, path).CallersOf(foreign)
			if err != nil {
				t.Skip(err)
			}
			compared += compareWithObjdump(t, path, foreign, callers)
			uncertain += len(callers.Uncertain)
		})
	}
	t.Logf("%d callers compared, %d functions uncertain", compared, uncertain)
}
