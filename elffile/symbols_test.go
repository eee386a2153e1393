package elffile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const symbolsSource = `
__asm__(".symver versioned_new, versioned@@SECOND");
__asm__(".symver versioned_old, versioned@FIRST");
int versioned_new(void) { return 2; }
int versioned_old(void) { return 1; }
int exported(void) { return 3; }
__attribute__((visibility("hidden"))) int hidden(void) { return 4; }
static int local(void) { return 5; }
int (*keep)(void) = local;
int data = 6;
static int chosen(void) { return 7; }
static int (*resolve(void))(void) { return chosen; }
int indirect(void) __attribute__((ifunc("resolve")));
int original(void) { return 8; }
int alias(void) __attribute__((alias("original")));
extern int imported(void);
int calls_imported(void) { return imported(); }
`

func symbolsLibrary(t *testing.T, options ...string) *File {
	t.Helper()
	versions := filepath.Join(t.TempDir(), "versions")
	if err := os.WriteFile(versions, []byte("FIRST { global: *; };\nSECOND {} FIRST;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return buildLibrary(t, "library.c", symbolsSource, append([]string{"-Wl,--version-script=" + versions}, options...)...)
}

func TestLookup(t *testing.T) {
	for name, options := range map[string][]string{
		"gnu hash":  {"-Wl,--hash-style=gnu"},
		"sysv hash": {"-Wl,--hash-style=sysv"},
		"optimized": {"-Wl,--hash-style=gnu", "-O2"},
	} {
		t.Run(name, func(t *testing.T) {
			file := symbolsLibrary(t, options...)
			for _, test := range []struct {
				name     string
				exported bool
				version  string
				err      error
			}{
				{name: "exported", exported: true, version: "FIRST"},
				{name: "versioned", exported: true, version: "SECOND"},
				{name: "hidden"},
				{name: "local"},
				{name: "alias", exported: true, version: "FIRST"},
				{name: "data", err: ErrNotFunction},
				{name: "indirect", err: ErrNotFunction},
				{name: "imported", err: ErrSymbolNotFound},
				{name: "export", err: ErrSymbolNotFound},
				{name: "exportedx", err: ErrSymbolNotFound},
				{name: "versioned@@SECOND", err: ErrSymbolNotFound},
				{name: "", err: ErrSymbolNotFound},
				{name: "exported\x00hidden", err: ErrSymbolNotFound},
			} {
				symbol, err := file.Lookup(test.name)
				if !errors.Is(err, test.err) {
					t.Errorf("%q: error %v, expected %v", test.name, err, test.err)
					continue
				}
				if test.err != nil {
					continue
				}
				if symbol.Name != test.name || symbol.Exported != test.exported || symbol.Version != test.version || symbol.Size == 0 {
					t.Errorf("%q: %+v", test.name, symbol)
				}
			}
			if newest, old := mustLookup(t, file, "versioned"), mustLookup(t, file, "versioned_old"); newest.Address == old.Address {
				t.Error("the old version was taken for the default")
			}
		})
	}
}

func TestLookupInStrippedLibrary(t *testing.T) {
	file := symbolsLibrary(t, "-s")
	if _, err := file.Lookup("exported"); err != nil {
		t.Error(err)
	}
	if _, err := file.Lookup("local"); !errors.Is(err, ErrSymbolNotFound) {
		t.Errorf("local symbol of a stripped library: %v", err)
	}
	if exports, err := file.Exports("data"); err != nil || !exports {
		t.Errorf("Exports of data: %v, %v", exports, err)
	}
	if exports, err := file.Exports("imported"); err != nil || exports {
		t.Errorf("Exports of an import: %v, %v", exports, err)
	}
}

func TestLookupAmbiguous(t *testing.T) {
	directory := t.TempDir()
	second := filepath.Join(directory, "second.c")
	if err := os.WriteFile(second, []byte("static int twin(void){return 2;} int (*keep2)(void)=twin;"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := buildLibrary(t, "first.c", "static int twin(void){return 1;} int (*keep1)(void)=twin;", second)
	if _, err := file.Lookup("twin"); !errors.Is(err, ErrAmbiguousSymbol) {
		t.Errorf("two local functions of one name: %v", err)
	}
}

func TestSymbolsAtSharedAddress(t *testing.T) {
	file := symbolsLibrary(t)
	symbols, err := file.SymbolsAt(mustLookup(t, file, "original").Address)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, symbol := range symbols {
		names = append(names, symbol.Name)
	}
	if !slices.Equal(names, []string{"alias", "original"}) {
		t.Errorf("symbols %v", names)
	}
	if symbols, err := file.SymbolsAt(1); err != nil || len(symbols) != 0 {
		t.Errorf("symbols at an address without: %v, %v", symbols, err)
	}
}

const cppSource = `
#include <memory>
namespace rclcpp {
struct TimerBase {};
template <class M> struct Publisher { __attribute__((noinline)) void publish(const M &) { asm(""); } };
struct CallbackGroup { void add_timer(std::shared_ptr<TimerBase>) {} void add_timer_other() {} CallbackGroup() {} };
void CallbackGroup_use() { CallbackGroup g; g.add_timer(nullptr); g.add_timer_other(); Publisher<int>().publish(1); Publisher<double>().publish(1); }
}
`

func TestLookupPrefixAndMatch(t *testing.T) {
	file := buildLibrary(t, "library.cpp", cppSource, "-O0", "-lstdc++")
	symbols, err := file.LookupPrefix("_ZN6rclcpp13CallbackGroup9add_timerE")
	if err != nil || len(symbols) != 1 || symbols[0].Name != "_ZN6rclcpp13CallbackGroup9add_timerESt10shared_ptrINS_9TimerBaseEE" {
		t.Errorf("prefix: %+v, %v", symbols, err)
	}
	symbols, err = file.Match(func(demangled string) bool {
		return strings.HasPrefix(demangled, "rclcpp::Publisher<") && strings.Contains(demangled, "::publish(")
	})
	if err != nil || len(symbols) != 2 {
		t.Errorf("match: %+v, %v", symbols, err)
	}
	if symbols, err := file.LookupPrefix("no_such"); err != nil || len(symbols) != 0 {
		t.Errorf("prefix without match: %+v, %v", symbols, err)
	}
}

func TestDemangleBoundsItsWork(t *testing.T) {
	// Every substitution doubles the demangled type: 2^60 characters if carried out.
	var name strings.Builder
	name.WriteString("_Z1fI1aEv")
	for i := range 60 {
		name.WriteString("St4pairI")
		for range 2 {
			if i == 0 {
				name.WriteString("S_")
			} else {
				name.WriteString("S" + strings.ToUpper(string("0123456789abcdefghijklmnopqrstuvwxyz"[(i-1)%36])) + "_")
			}
		}
		name.WriteString("E")
	}
	if result := Demangle(name.String()); len(result) > 1<<17 {
		t.Errorf("demangled to %d bytes", len(result))
	}
	if name := strings.Repeat("_Z", maxMangledLength); Demangle(name) != name {
		t.Error("a name that is too long was changed")
	}
	if plain := Demangle("ros_trace_callback_start"); plain != "ros_trace_callback_start" {
		t.Errorf("C name became %q", plain)
	}
}
