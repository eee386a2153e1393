package elffile

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// buildLibrary compiles a shared library from C or assembly source ("library.c", "library.s") and opens it.
func buildLibrary(t testing.TB, fileName, source string, options ...string) *File {
	t.Helper()
	return openFile(t, buildLibraryFile(t, fileName, source, options...))
}

// eachMachine runs a test with a compiler for each machine whose code is followed. build is buildLibrary for the
// machine; options that only the compilers for another know are left out.
func eachMachine(t *testing.T, test func(t *testing.T, build func(t *testing.T, fileName, source string, options ...string) *File)) {
	for machine, compiler := range map[elf.Machine]string{elf.EM_X86_64: "x86_64-linux-gnu-gcc", elf.EM_AARCH64: "aarch64-linux-gnu-gcc"} {
		if machine == hostMachine() {
			compiler = "gcc"
		}
		t.Run(machine.String(), func(t *testing.T) {
			test(t, func(t *testing.T, fileName, source string, options ...string) *File {
				t.Helper()
				file := openFile(t, compileLibrary(t, compiler, fileName, source, append(optionsFor(machine, options), "-nostdlib")...))
				if file.Machine() != machine {
					t.Fatalf("compiled for %v", file.Machine())
				}
				return file
			})
		})
	}
}

// optionsFor leaves out the options that a machine's compiler does not know.
func optionsFor(machine elf.Machine, options []string) []string {
	foreign := []string{"-fcf-protection", "-mno-omit-leaf-frame-pointer"}
	if machine == elf.EM_X86_64 {
		foreign = []string{"-mbranch-protection", "-mno-outline-atomics"}
	}
	return slices.DeleteFunc(slices.Clone(options), func(option string) bool {
		return slices.ContainsFunc(foreign, func(prefix string) bool { return strings.HasPrefix(option, prefix) })
	})
}

func buildLibraryFile(t testing.TB, fileName, source string, options ...string) string {
	t.Helper()
	return compileLibrary(t, "gcc", fileName, source, options...)
}

func compileLibrary(t testing.TB, gcc, fileName, source string, options ...string) string {
	t.Helper()
	compiler, err := exec.LookPath(gcc)
	if err != nil {
		t.Skipf("%s is not installed", gcc)
	}
	directory := t.TempDir()
	sourceFile := filepath.Join(directory, fileName)
	if err := os.WriteFile(sourceFile, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(directory, "library.so")
	arguments := append([]string{"-shared", "-fPIC", "-o", library, sourceFile}, options...)
	if output, err := exec.Command(compiler, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", gcc, err, output)
	}
	return library
}

func openFile(t testing.TB, path string) *File {
	t.Helper()
	file, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// mustLookup is Lookup of a symbol that must be there.
func mustLookup(t testing.TB, file *File, name string) Symbol {
	t.Helper()
	symbol, err := file.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return symbol
}
