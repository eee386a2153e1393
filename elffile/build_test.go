package elffile

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// buildLibrary compiles a shared library from C or assembly source ("library.c", "library.s") and opens it.
func buildLibrary(t testing.TB, fileName, source string, options ...string) *File {
	t.Helper()
	return openFile(t, buildLibraryFile(t, fileName, source, options...))
}

func buildLibraryFile(t testing.TB, fileName, source string, options ...string) string {
	t.Helper()
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed")
	}
	directory := t.TempDir()
	sourceFile := filepath.Join(directory, fileName)
	if err := os.WriteFile(sourceFile, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(directory, "library.so")
	arguments := append([]string{"-shared", "-fPIC", "-o", library, sourceFile}, options...)
	if output, err := exec.Command(compiler, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, output)
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
