// Package wholefile writes files that are whole or not there: under a temporary name, which is new, until everything is written. A link that
// stands at the path is replaced and never written through, also where somebody else may write to the folder.
package wholefile

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// File is a file that is being written. Commit or Discard it.
type File struct {
	*os.File
	// folder keeps the folder that the file was made in, whatever the path leads to later.
	folder          *os.Root
	temporary, name string
}

// Create begins a file that Commit makes appear at path. Only its owner can read it until then.
func Create(path string) (*File, error) {
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	f := &File{folder: folder, name: filepath.Base(path), temporary: "." + filepath.Base(path) + "." + rand.Text() + ".tmp"}
	if f.File, err = folder.OpenFile(f.temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600); err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return f, nil
}

// Commit closes the file and gives it its mode and its name, where it replaces what was there. If that fails, nothing is left.
func (f *File) Commit(mode os.FileMode) error {
	err := errors.Join(f.Chmod(mode), f.Close())
	if err == nil {
		err = f.folder.Rename(f.temporary, f.name)
	}
	if err != nil {
		err = errors.Join(err, f.folder.Remove(f.temporary))
	}
	return errors.Join(err, f.folder.Close())
}

// Discard removes what was written.
func (f *File) Discard() error {
	return errors.Join(f.Close(), f.folder.Remove(f.temporary), f.folder.Close())
}

// Write writes a file that everybody may read.
func Write(path string, content []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Commit(0o644)
}
