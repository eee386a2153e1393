package lake

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/identity"
)

const (
	folderMode = 0o750
	fileMode   = 0o640
)

// staging is a folder in which the files of one recording are made. It is locked as long as its publisher runs, so that
// the next one can tell what a killed one has left.
type staging struct {
	as    *identity.Identity
	root  *os.Root
	path  string // in root
	lock  *os.File
	files atomic.Int64 // that were made, by any goroutine
}

// newStaging makes a folder in a folder of root, and removes there what killed publishers have left.
func newStaging(root *os.Root, parent string, as *identity.Identity) (*staging, error) {
	s := &staging{as: as, root: root}
	err := as.Run(func() error {
		for {
			if err := root.MkdirAll(parent, folderMode); err != nil {
				return err
			}
			if err := sweep(root, parent); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			s.path = path.Join(parent, rand.Text())
			if err := root.Mkdir(s.path, folderMode); errors.Is(err, fs.ErrNotExist) {
				continue // another publisher was the last one, and has ended
			} else if err != nil {
				return err
			}
			var err error
			if s.lock, err = root.Open(s.path); errors.Is(err, fs.ErrNotExist) {
				continue // another publisher has taken it for a left one before it was locked
			} else if err != nil {
				return err
			}
			if err := unix.Flock(int(s.lock.Fd()), unix.LOCK_EX); err != nil && !isUnlockable(err) {
				return errors.Join(err, s.lock.Close())
			}
			if _, err := root.Stat(s.path); err == nil {
				return nil
			}
			_ = s.lock.Close()
		}
	})
	if err != nil {
		return nil, fmt.Errorf("make a folder to stage files in: %w", err)
	}
	return s, nil
}

// isUnlockable tells of a file system that has no such locks.
func isUnlockable(err error) bool {
	return errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.EBADF) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS)
}

// sweep removes the folders that nobody has locked. Where there are no locks, all stay.
func sweep(root *os.Root, parent string) error {
	entries, err := fs.ReadDir(root.FS(), parent)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(parent, entry.Name())
		left, err := root.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
		if err != nil {
			continue // it is gone, of somebody else, or none of ours
		}
		if unix.Flock(int(left.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			err = root.RemoveAll(name)
		}
		if err = errors.Join(err, left.Close()); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// sweepStaging removes what killed publishers have left, and the folder if it is empty then.
func sweepStaging(root *os.Root, parent string, as *identity.Identity) error {
	return as.Run(func() error {
		if err := sweep(root, parent); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove left files: %w", err)
		}
		_ = root.Remove(parent)
		return nil
	})
}

// create makes a file.
func (s *staging) create() (file *os.File, name string, err error) {
	name = path.Join(s.path, fmt.Sprintf("%05d", s.files.Add(1)))
	err = s.as.Run(func() (err error) {
		file, err = s.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
		return err
	})
	return file, name, err
}

// text makes a file of a text that is to have a name in the lake.
func (s *staging) text(name string, text []byte) (*stagedFile, error) {
	file, local, err := s.create()
	if err != nil {
		return nil, err
	}
	if _, err = file.Write(text); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	hash := sha256.Sum256(text)
	return &stagedFile{local: local, File: File{Name: name, Bytes: int64(len(text)), SHA256: hex.EncodeToString(hash[:])}}, nil
}

// remove removes the folder, and that which it is in if nobody else has one there.
func (s *staging) remove() error {
	return s.as.Run(func() error {
		err := errors.Join(s.root.RemoveAll(s.path), s.lock.Close())
		_ = s.root.Remove(path.Dir(s.path))
		return err
	})
}
