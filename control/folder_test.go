package control

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Sockets are in a folder of the program's user that everybody may look into, whatever the umask. Where others could
// have put a socket there is none.
func TestFolderOfSockets(t *testing.T) {
	const other = 12345
	for name, test := range map[string]struct {
		prepare func(path string) error
		mode    os.FileMode // 0: it is refused
		asRoot  bool
	}{
		"there is none": {func(string) error { return nil }, 0o755, false},
		"its own":       {func(path string) error { return os.Mkdir(path, 0o700) }, 0o700, false},
		"others may write": {func(path string) error {
			return errors.Join(os.Mkdir(path, 0o755), os.Chmod(path, 0o757))
		}, 0, false},
		"the group may write": {func(path string) error {
			return errors.Join(os.Mkdir(path, 0o755), os.Chmod(path, 0o775))
		}, 0, false},
		"others may write, like /tmp": {func(path string) error {
			return errors.Join(os.Mkdir(path, 0o755), unix.Chmod(path, 0o1777))
		}, 0, false},
		"another user's": {func(path string) error {
			return errors.Join(os.Mkdir(path, 0o755), os.Chown(path, other, other))
		}, 0, true},
		"a link to a folder": {func(path string) error {
			return errors.Join(os.Mkdir(path+".real", 0o755), os.Symlink(path+".real", path))
		}, 0, false},
		"a file":      {func(path string) error { return os.WriteFile(path, nil, 0o600) }, 0, false},
		"a lost link": {func(path string) error { return os.Symlink(path+".none", path) }, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			if test.asRoot && os.Geteuid() != 0 {
				t.Skip("giving a folder away needs root")
			}
			path := filepath.Join(t.TempDir(), "caret-bpf")
			if err := test.prepare(path); err != nil {
				t.Fatal(err)
			}
			former := syscall.Umask(0o077)
			err := MakeFolder(path)
			syscall.Umask(former)
			if test.mode == 0 {
				if !errors.Is(err, ErrSocket) {
					t.Errorf("it is used: %v", err)
				}
				return
			}
			var is unix.Stat_t
			if err := errors.Join(err, unix.Lstat(path, &is)); err != nil {
				t.Fatal(err)
			}
			if is.Uid != uint32(os.Geteuid()) || is.Mode != unix.S_IFDIR|uint32(test.mode) {
				t.Errorf("it is of user %d, with the mode %#o", is.Uid, is.Mode)
			}
		})
	}
}
