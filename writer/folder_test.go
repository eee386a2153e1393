package writer

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A folder for datasets can be entered by those who may read what is in it, whatever the umask. One that is there stays
// as it is.
func TestMakeFolder(t *testing.T) {
	defer unix.Umask(unix.Umask(0o077))
	for name, test := range map[string]struct{ asked, want os.FileMode }{
		"the default": {0, 0o700},
		"everybody":   {0o644, 0o755},
		"the group":   {0o640, 0o750},
		"the owner":   {0o600, 0o700},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "above", "folder")
			for _, asked := range []os.FileMode{test.asked, 0o600} { // the second changes nothing
				if err := MakeFolder(folder, Options{Mode: asked}); err != nil {
					t.Fatal(err)
				}
				for _, path := range []string{filepath.Dir(folder), folder} {
					if info, err := os.Stat(path); err != nil || info.Mode().Perm() != test.want {
						t.Errorf("%s has the mode %v, want %v; %v", path, info.Mode().Perm(), test.want, err)
					}
				}
			}
		})
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := MakeFolder(file, Options{}); !errors.Is(err, ErrUnwritable) {
		t.Errorf("a file is taken for a folder: %v", err)
	}
}
