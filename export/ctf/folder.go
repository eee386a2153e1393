package ctf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/wholefile"
)

// ErrExists is returned when there is something already where the trace is to be.
var ErrExists = errors.New("there is something already: name a directory that is to be made")

// folder is the directory of a trace, which is being written.
type folder struct {
	path   string
	itself madeDirectory
	above  []madeDirectory // those that were made for it to be in, each in the one before
	root   *os.Root
	as     *identity.Identity
	files  []*os.File
	bytes  int64
}

// madeDirectory is one that was made, so that no other is removed that is at its path by now.
type madeDirectory struct {
	path string
	is   os.FileInfo
}

func makeDirectory(path string) (madeDirectory, error) {
	if err := os.Mkdir(path, 0o750); err != nil {
		return madeDirectory{}, err
	}
	is, err := os.Lstat(path)
	return madeDirectory{path, is}, err
}

// remove removes it if it is still there. It fails if there is something in it.
func (d madeDirectory) remove() error {
	if there, err := os.Lstat(d.path); err != nil || !os.SameFile(there, d.is) {
		return nil
	}
	return os.Remove(d.path)
}

// makeFolder makes the directory, with those that it is to be in.
func makeFolder(path string, as *identity.Identity) (*folder, error) {
	path = filepath.Clean(path) // a slash at its end would make it the directory that it is to be in
	f := &folder{path: path, as: as}
	err := as.Run(func() (err error) {
		defer func() {
			if err != nil {
				f.removeAbove()
			}
		}()
		if err = f.makeAbove(); err != nil {
			return err
		}
		if f.itself, err = makeDirectory(path); errors.Is(err, os.ErrExist) {
			return ErrExists
		} else if err != nil {
			return err
		}
		f.root, err = os.OpenRoot(path)
		return err
	})
	if errors.Is(err, ErrExists) {
		return nil, fmt.Errorf("%s: %w", path, ErrExists)
	}
	if err != nil {
		return nil, fmt.Errorf("make trace: %w", unwritable(err))
	}
	return f, nil
}

// makeAbove makes the directories that the trace is to be in.
func (f *folder) makeAbove() error {
	var missing []string
	for dir := filepath.Dir(f.path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			break
		}
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		made, err := makeDirectory(dir)
		if err == nil {
			f.above = append(f.above, made)
			continue
		}
		// Somebody else may have made it meanwhile.
		if there, statErr := os.Stat(dir); statErr != nil || !there.IsDir() {
			return err
		}
	}
	return nil
}

// removeAbove removes the directories that were made for the trace, but those in which there is something by now.
func (f *folder) removeAbove() {
	for _, dir := range slices.Backward(f.above) {
		if dir.remove() != nil {
			return
		}
	}
}

// create makes a file of the trace, which close closes.
func (f *folder) create(name string) (file *os.File, err error) {
	err = f.as.Run(func() (err error) {
		file, err = f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o640)
		return err
	})
	if err != nil {
		return nil, unwritable(err)
	}
	f.files = append(f.files, file)
	return file, nil
}

// unwritable tells errors of what is written from those of the dataset.
func unwritable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", wholefile.ErrUnwritable, err)
}

// write makes a file with this content.
func (f *folder) write(name string, content []byte) error {
	file, err := f.create(name)
	if err != nil {
		return err
	}
	return f.append(file, content)
}

// append writes to a file of the trace.
func (f *folder) append(file *os.File, content []byte) error {
	n, err := file.Write(content)
	f.bytes += int64(n)
	return unwritable(err)
}

// nameless makes a file that has no name when it is returned: nothing is left of it, however the program ends.
func (f *folder) nameless() (file *os.File, err error) {
	const name = ".unsorted"
	err = f.as.Run(func() (err error) {
		if file, err = f.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600); err != nil {
			return err
		}
		return f.root.Remove(name)
	})
	return file, unwritable(err)
}

// close closes the files. After an error it removes what was made. It returns that error, or its own.
func (f *folder) close(err error) error {
	for _, file := range f.files {
		err = errors.Join(err, unwritable(file.Close()))
	}
	if err != nil {
		err = errors.Join(err, f.as.Run(func() (err error) {
			for _, file := range f.files {
				err = errors.Join(err, f.root.Remove(filepath.Base(file.Name())))
			}
			if err = errors.Join(err, f.itself.remove()); err == nil {
				f.removeAbove()
			}
			return err
		}))
	}
	return errors.Join(err, f.root.Close())
}
