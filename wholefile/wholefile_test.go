package wholefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/caret-bpf/caret-bpf/identity"
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
			if err := wholefile.Write(path, []byte("new"), 0o644, nil); err != nil {
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
	f, err := wholefile.Create(filepath.Join(folder, "out"), 0o644, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(folder, folder+".old"), os.Symlink(elsewhere, folder)); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, folder+".old"); len(got) != 1 || got[0] != "out" || len(names(t, elsewhere)) > 0 {
		t.Errorf("%v, and elsewhere %v", got, names(t, elsewhere))
	}
}

func TestNothingIsLeft(t *testing.T) {
	folder := t.TempDir()
	f, err := wholefile.Create(filepath.Join(folder, "out"), 0o644, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Discard(); err != nil || len(names(t, folder)) > 0 {
		t.Errorf("%v, %v are left", err, names(t, folder))
	}
	if err := os.Mkdir(filepath.Join(folder, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.Write(filepath.Join(folder, "taken"), nil, 0o644, nil); err == nil || len(names(t, folder)) != 1 {
		t.Errorf("%v, %v are left", err, names(t, folder))
	}
	if err := wholefile.Write(filepath.Join(folder, "missing", "out"), nil, 0o644, nil); !errors.Is(err, os.ErrNotExist) || !errors.Is(err, wholefile.ErrUnwritable) {
		t.Errorf("got %v", err)
	}
}

// Who called sudo gets a file of his own, where he may make one, and none elsewhere.
func TestFilesAreMadeAsTheUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can act for another user")
	}
	const caller, group = 12345, 23456
	as := &identity.Identity{User: caller, Group: group}
	for name, test := range map[string]struct {
		user    int
		mode    os.FileMode
		file    string // that is there, root's
		allowed bool
	}{
		"his folder":                  {caller, 0o700, "", true},
		"his folder, with root's":     {caller, 0o700, "out", true},
		"everybody's":                 {0, 0o777, "", true},
		"everybody's, sticky":         {0, 0o777 | os.ModeSticky, "", true},
		"everybody's, sticky, root's": {0, 0o777 | os.ModeSticky, "out", false},
		"root's":                      {0, 0o755, "", false},
		"his, not to write":           {caller, 0o500, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if test.file != "" {
				if err := os.WriteFile(filepath.Join(folder, test.file), []byte("precious"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(os.Chmod(filepath.Dir(folder), 0o755), os.Chown(folder, test.user, group), os.Chmod(folder, test.mode)); err != nil {
				t.Fatal(err)
			}
			before := names(t, folder)
			path := filepath.Join(folder, "out")
			err := wholefile.Write(path, []byte("new"), 0o640, as)
			if !test.allowed {
				if !errors.Is(err, wholefile.ErrUnwritable) || !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "UID 12345") {
					t.Errorf("error %v", err)
				}
				if content, _ := os.ReadFile(path); len(names(t, folder)) != len(before) || string(content) == "new" {
					t.Errorf("%v are left, %q", names(t, folder), content)
				}
				return
			}
			info, statError := os.Stat(path)
			if err != nil || statError != nil || len(names(t, folder)) != 1 {
				t.Fatal(err, statError, names(t, folder))
			}
			if stat := info.Sys().(*syscall.Stat_t); stat.Uid != caller || stat.Gid != group || info.Mode() != 0o640 {
				t.Errorf("%d:%d, %v", stat.Uid, stat.Gid, info.Mode())
			}
		})
	}
}

// The mode of a file is what was asked for and the umask has left.
func TestTheUmaskIsKept(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	path := filepath.Join(t.TempDir(), "out")
	if err := wholefile.Write(path, nil, 0o644, nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// What is no file stays: a device would be gone for everybody.
func TestWriteLeavesWhatIsNoFile(t *testing.T) {
	folder := t.TempDir()
	pipe, directory := filepath.Join(folder, "pipe"), filepath.Join(folder, "directory")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Mkdir(directory, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, directory, "/dev/null", "/dev/stdout"} {
		before, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := wholefile.Write(path, []byte("new"), 0o644, nil); !errors.Is(err, wholefile.ErrUnwritable) {
			t.Errorf("%s: %v", path, err)
		}
		if after, err := os.Lstat(path); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s is %v, %v", path, after, err)
		}
	}
}
