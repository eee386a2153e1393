package lake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/identity"
)

const stagingFolder = "_staging"

// localStore is a lake in a directory. Nothing in it leads out of it.
type localStore struct {
	root *os.Root
	as   *identity.Identity
}

// openLocal opens a directory. Where there is none it is made, unless it is only to be read.
func openLocal(dir string, readOnly bool, as *identity.Identity) (*localStore, error) {
	s := &localStore{as: as}
	err := as.Run(func() (err error) {
		if !readOnly {
			if err := os.MkdirAll(dir, folderMode); err != nil {
				return err
			}
		}
		s.root, err = os.OpenRoot(dir)
		return err
	})
	switch {
	case err != nil && readOnly:
		return nil, fmt.Errorf("open lake: %w", err)
	case err != nil:
		return nil, s.failed(err)
	}
	return s, nil
}

// failed says what to do about an error of a file system.
func (s *localStore) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("%w: no space is left (%w): free some and publish again; nothing half is visible", ErrUnwritable, err)
	}
	return fmt.Errorf("%w: %w", ErrUnwritable, err)
}

func (s *localStore) do(what func() error) error { return s.failed(s.as.Run(what)) }

func (s *localStore) put(_ context.Context, f *stagedFile) error {
	return s.do(func() error { return s.rename(f.local, f.Name) })
}

// swap relies on the lock.
func (s *localStore) swap(ctx context.Context, f *stagedFile, was []byte) error {
	var now []byte
	err := s.read(ctx, f.Name, func(file io.Reader) (err error) {
		now, err = io.ReadAll(io.LimitReader(file, maxManifest+1))
		return err
	})
	if err != nil && !errors.Is(err, errNotThere) {
		return s.failed(err)
	}
	if (err == nil) != (was != nil) || !bytes.Equal(now, was) {
		return errChanged
	}
	return s.put(ctx, f)
}

// rename gives a file its name, so that it is there after a power cut, too.
func (s *localStore) rename(from, name string) error {
	folder := path.Dir(name)
	if err := s.makeFolder(folder); err != nil {
		return err
	}
	if err := s.root.Rename(from, name); err != nil {
		return err
	}
	return s.sync(folder)
}

// makeFolder makes a folder and those above it.
func (s *localStore) makeFolder(folder string) error {
	if _, err := s.root.Stat(folder); err == nil {
		return nil
	}
	if above := path.Dir(folder); above != "." {
		if err := s.makeFolder(above); err != nil {
			return err
		}
	}
	if err := s.root.Mkdir(folder, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return s.sync(path.Dir(folder))
}

// sync makes durable which names a folder has.
func (s *localStore) sync(folder string) error {
	f, err := s.root.Open(folder)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, unix.EINVAL) { // the file system cannot
		err = nil
	}
	return errors.Join(err, f.Close())
}

func (s *localStore) read(_ context.Context, name string, consume func(io.Reader) error) error {
	var file *os.File
	err := s.as.Run(func() (err error) {
		file, err = s.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0) // nothing that is waited for
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", name, errNotThere)
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(fmt.Errorf("%s is no file", name), err)
	}
	return consume(file)
}

func (s *localStore) has(_ context.Context, name string) (has bool, err error) {
	err = s.as.Run(func() error {
		_, err := s.root.Lstat(name)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (s *localStore) remove(_ context.Context, name string) error {
	return s.do(func() error {
		if err := s.root.Remove(name); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		return s.sync(path.Dir(name))
	})
}

func (s *localStore) list(_ context.Context, folder string) (names []string, err error) {
	err = s.as.Run(func() error {
		entries, err := fs.ReadDir(s.root.FS(), folder)
		for _, entry := range entries {
			names = append(names, path.Join(folder, entry.Name()))
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}

func (s *localStore) walk(_ context.Context, folder string) (names []string, err error) {
	err = s.as.Run(func() error {
		return fs.WalkDir(s.root.FS(), folder, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				names = append(names, name)
			}
			return err
		})
	})
	if errors.Is(err, fs.ErrNotExist) {
		return names, nil
	}
	return names, err
}

// lockPause is that between two attempts to get the lock.
const lockPause = 20 * time.Millisecond

func (s *localStore) lock(ctx context.Context) (unlock func(), err error) {
	var folder *os.File
	err = s.do(func() (err error) {
		if err := s.makeFolder(manifestFolder); err != nil {
			return err
		}
		folder, err = s.root.Open(manifestFolder)
		return err
	})
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil || isUnlockable(err):
			return func() { _ = folder.Close() }, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return nil, errors.Join(s.failed(err), folder.Close())
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), folder.Close())
		}
	}
}

func (s *localStore) staging() (root *os.Root, folder string) { return s.root, stagingFolder }

func (s *localStore) close() error { return s.root.Close() }
