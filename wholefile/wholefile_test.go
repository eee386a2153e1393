package wholefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/caret-bpf/caret-bpf/wholefile"
)

func names(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// What a path leads to does not matter: it becomes a file of its own.
func TestWriteReplacesWhatIsThere(t *testing.T) {
	for name, prepare := range map[string]func(path, victim string) error{
		"nothing": func(string, string) error { return nil },
		"a file": func(path, _ string) error {
			return os.WriteFile(path, []byte("old, and longer than what comes"), 0o600)
		},
		"a link":          func(path, victim string) error { return os.Symlink(victim, path) },
		"a hard link":     func(path, victim string) error { return os.Link(victim, path) },
		"a dangling link": func(path, victim string) error { return os.Symlink(victim+".missing", path) },
	} {
		t.Run(name, func(t *testing.T) {
			folder, elsewhere := t.TempDir(), t.TempDir()
			path, victim := filepath.Join(folder, "out"), filepath.Join(elsewhere, "victim")
			if err := os.WriteFile(victim, []byte("precious"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := prepare(path, victim); err != nil {
				t.Fatal(err)
			}
			if err := wholefile.Write(path, []byte("new")); err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(path)
			if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o644 {
				t.Errorf("%v, %v", info, err)
			}
			if content, err := os.ReadFile(path); string(content) != "new" {
				t.Errorf("%q, %v", content, err)
			}
			if content, err := os.ReadFile(victim); string(content) != "precious" {
				t.Errorf("the victim is %q, %v", content, err)
			}
			if got := len(names(t, folder)) + len(names(t, elsewhere)); got != 2 {
				t.Errorf("%d files", got)
			}
		})
	}
}

// The folder is that of the beginning, also if the path leads elsewhere when the file is whole.
func TestTheFolderIsExchanged(t *testing.T) {
	parent, elsewhere := t.TempDir(), t.TempDir()
	folder := filepath.Join(parent, "folder")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := wholefile.Create(filepath.Join(folder, "out"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(folder, folder+".old"), os.Symlink(elsewhere, folder)); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(0o644); err != nil {
		t.Fatal(err)
	}
	if got := names(t, folder+".old"); len(got) != 1 || got[0] != "out" || len(names(t, elsewhere)) > 0 {
		t.Errorf("%v, and elsewhere %v", got, names(t, elsewhere))
	}
}

func TestNothingIsLeft(t *testing.T) {
	folder := t.TempDir()
	f, err := wholefile.Create(filepath.Join(folder, "out"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Discard(); err != nil || len(names(t, folder)) > 0 {
		t.Errorf("%v, %v are left", err, names(t, folder))
	}
	if err := os.Mkdir(filepath.Join(folder, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.Write(filepath.Join(folder, "taken"), nil); err == nil || len(names(t, folder)) != 1 {
		t.Errorf("%v, %v are left", err, names(t, folder))
	}
	if err := wholefile.Write(filepath.Join(folder, "missing", "out"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
