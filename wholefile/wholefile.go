// Package wholefile writes files that are whole or not there: under a temporary name, which is new, until everything is
// written. A link that stands at the path is replaced and never written through, also where somebody else may write to
// the folder. Files are made by, and belong to, the user whom an identity names.
package wholefile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/identity"
)

// ErrUnwritable is wrapped by errors of files that cannot be made or written.
var ErrUnwritable = errors.New("it cannot be written")

// File is a file that is being written. Commit or Discard it.
type File struct {
	file *os.File
	// folder keeps the folder that the file was made in, whatever the path leads to later.
	folder                *os.Root
	path, temporary, name string
	as                    *identity.Identity
}

// Create begins a file that Commit makes appear at path, where nothing is, a file or a link. The umask may take
// something from its mode.
func Create(path string, mode os.FileMode, as *identity.Identity) (*File, error) {
	f := &File{path: path, name: filepath.Base(path), temporary: "." + filepath.Base(path) + "." + rand.Text() + ".tmp", as: as}
	err := f.do(func() (err error) {
		if f.folder, err = os.OpenRoot(filepath.Dir(path)); err != nil {
			return err
		}
		if f.file, err = f.folder.OpenFile(f.temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, mode); err != nil {
			return errors.Join(err, f.folder.Close())
		}
		if there, err := f.folder.Lstat(f.name); err == nil && !isReplaceable(there, filepath.Dir(path)) {
			return errors.Join(errors.New("there is something that is no file"), f.file.Close(), f.folder.Remove(f.temporary), f.folder.Close())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// isReplaceable refuses devices and their like, and links to them where devices are: they would be gone for everybody.
func isReplaceable(there os.FileInfo, folder string) bool {
	switch there.Mode().Type() {
	case 0:
		return true
	case os.ModeSymlink:
		absolute, err := filepath.Abs(folder)
		return err == nil && absolute != "/dev"
	}
	return false
}

// do does something to the file as its user.
func (f *File) do(what func() error) error {
	if err := f.as.Run(what); err != nil {
		return fmt.Errorf("%s: %w: %w", f.path, ErrUnwritable, err)
	}
	return nil
}

// Write appends to the file. Few long pieces are faster than many short ones.
func (f *File) Write(text []byte) (written int, err error) {
	err = f.do(func() (err error) {
		written, err = f.file.Write(text)
		return err
	})
	return written, err
}

// Commit closes the file and gives it its name, where it replaces what was there. If that fails, nothing is left.
func (f *File) Commit() error {
	return f.do(func() error {
		err := f.file.Close()
		if err == nil {
			err = f.folder.Rename(f.temporary, f.name)
		}
		if err != nil {
			err = errors.Join(err, f.folder.Remove(f.temporary))
		}
		return errors.Join(err, f.folder.Close())
	})
}

// Discard removes what was written.
func (f *File) Discard() error {
	return f.do(func() error { return errors.Join(f.file.Close(), f.folder.Remove(f.temporary), f.folder.Close()) })
}

// Write writes a file as Create does.
func Write(path string, content []byte, mode os.FileMode, as *identity.Identity) error {
	f, err := Create(path, mode, as)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Commit()
}
