package former

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// remove removes a recording as a whole: for readers it is there or not. It fails with errNot if it is not any more
// what was looked at, or somebody reads or writes it.
func (f *folder) remove(d dataset) error {
	self, err := f.open(d.name)
	if err != nil {
		return err
	}
	defer func() { _ = self.Close() }()
	info, err := self.Stat()
	if err != nil {
		return err
	}
	if err := unix.Flock(int(self.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("%w: %w", errNot, err)
	}
	if !os.SameFile(info, d.self) {
		return errNot
	}
	if err := f.measure(&d); err != nil { // somebody may have added something
		return err
	}
	within, base := path.Split(d.name)
	hidden := path.Join(within, removedPrefix+base)
	if err := f.root.Rename(d.name, hidden); err != nil {
		return err
	}
	return f.empty(hidden, self)
}

// empty removes a directory that is hidden already, with what is in it. What is removed is in the directory that is
// open, whatever its name leads to by now.
func (f *folder) empty(hidden string, self *os.File) error {
	info, err := self.Stat()
	if err != nil {
		return err
	}
	inside, err := f.root.OpenRoot(hidden)
	if err != nil {
		return err
	}
	defer func() { _ = inside.Close() }()
	if there, err := inside.Stat("."); err != nil || !os.SameFile(there, info) {
		return errors.Join(errNot, err)
	}
	entries, err := fs.ReadDir(inside.FS(), ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := inside.RemoveAll(entry.Name()); err != nil {
			return err
		}
	}
	return f.root.Remove(hidden)
}

// finish removes what a recorder that has ended did not remove to its end.
func (f *folder) finish(within string) error {
	entries, err := fs.ReadDir(f.root.FS(), within)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		base, isHidden := strings.CutPrefix(entry.Name(), removedPrefix)
		if !isHidden || !entry.IsDir() || !recordingName.MatchString(base) && !snapshotName.MatchString(base) {
			continue
		}
		name := path.Join(within, entry.Name())
		self, err := f.open(name)
		if err != nil {
			continue
		}
		if unix.Flock(int(self.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil { // else another recorder removes it
			errs = append(errs, f.empty(name, self))
		}
		_ = self.Close()
	}
	return errors.Join(errs...)
}

// free is how much of the disk is left for those who are not root, in bytes.
func (f *folder) free() (int64, error) {
	self, err := f.root.Open(".")
	if err != nil {
		return 0, err
	}
	defer func() { _ = self.Close() }()
	var of unix.Statfs_t
	if err := unix.Fstatfs(int(self.Fd()), &of); err != nil {
		return 0, err
	}
	return int64(of.Bavail) * of.Frsize, nil
}
