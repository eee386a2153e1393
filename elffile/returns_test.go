package elffile

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// returnsSource calls executed, which it exports, from functions of all kinds.
const returnsSource = `
int other(int);
void __attribute__((noinline)) executed(int *p) { *p = other(*p); }
int plain(int n) { executed(&n); return other(n); }
static __attribute__((noinline)) int local(int n) { other(n); executed(&n); return n + 1; }
int table(int n) { switch (n) { case 1: executed(&n); break; case 2: return other(7); case 3: return other(5); case 4: n = other(9); break; default: n = local(n); } return other(n); }
MORE
`

// TestReturnsOf: each instruction behind a call of the function is found, in local functions and behind jump tables,
// too.
func TestReturnsOf(t *testing.T) {
	eachMachine(t, func(t *testing.T, build func(*testing.T, string, string, ...string) *File) {
		for name, test := range map[string]struct {
			more    string
			options []string
			count   int
			err     error
		}{
			"plt":                 {count: 3},
			"stripped":            {options: []string{"-s"}, count: 3},
			"protected branches":  {options: []string{"-mbranch-protection=standard", "-fcf-protection=full"}, count: 3},
			"bound in the file":   {options: []string{"-Wl,-Bsymbolic"}, count: 3},
			"not optimized":       {options: []string{"-O0"}, count: 3},
			"jumped to":           {more: "void tail(int *p) { other(1); executed(p); }", err: ErrUnexpectedShape},
			"through the GOT":     {options: []string{"-fno-plt"}, err: ErrUnexpectedShape},
			"another's functions": {more: "void nothing(void) {}", count: 3},
		} {
			t.Run(name, func(t *testing.T) {
				source := strings.Replace(returnsSource, "MORE", test.more, 1)
				file := build(t, "library.c", source, append([]string{"-O2"}, test.options...)...)
				sites, err := file.ReturnsOf("executed")
				if !errors.Is(err, test.err) {
					t.Fatalf("error %v, expected %v", err, test.err)
				}
				if len(sites) != test.count {
					t.Fatalf("%d sites, not %d: %+v", len(sites), test.count, sites)
				}
				for _, site := range sites {
					requireBehindCall(t, file, site)
				}
			})
		}
	})
}

// requireBehindCall requires that the instruction before a site calls the function executed.
func requireBehindCall(t *testing.T, file *File, site Site) {
	t.Helper()
	targets, err := file.addressesOf("executed")
	if err != nil {
		t.Fatal(err)
	}
	bounds, err := file.FrameRange(site.Address)
	if err != nil {
		t.Fatal(err)
	}
	code, err := file.Decode(bounds)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(code, func(i Instruction) bool { return i.Address == site.Address })
	if i < 1 || code[i-1].Flow != FlowCall || !slices.Contains(targets, code[i-1].Target) || !slices.Equal(code[i].Bytes, site.Instruction) {
		t.Errorf("site %+v does not follow a call", site)
	}
}
