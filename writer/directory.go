package writer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// directory is the dataset's directory. The user to whom it belongs can put a symbolic link anywhere in it: everything
// goes through an os.Root, which does not leave the directory. All methods are called with the identity of that user,
// so that what they make is his.
type directory struct {
	path string
	root *os.Root
	self *os.File // the directory itself: its lock, and to sync it
	made bool     // path did not exist before
	// memory is the file system that holds the directory, nil where it is one that others see.
	memory *os.File
	permissions
}

// createDirectory makes path, with its parents, and locks it. It fails with ErrExists when path exists and is not an
// empty directory, and with ErrUnwritable when it is one of another user than this one and root, or one that everybody
// may write to.
func createDirectory(path string, user int, p permissions) (_ *directory, err error) {
	made, err := makeDirectory(filepath.Clean(path), p)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		if info, statErr := os.Stat(path); statErr == nil && !info.IsDir() {
			return nil, fmt.Errorf("%w: %s is no directory: name one with -o", ErrExists, path)
		}
		return nil, ioError("open", path, err)
	}
	d := &directory{path: path, root: root, made: made, permissions: p}
	defer func() {
		if err != nil {
			_ = d.close()
		}
	}()
	if d.self, err = d.reopen(); err != nil {
		return nil, err
	}
	if err := checkHolder(d.self, user); err != nil {
		return nil, fmt.Errorf("open %s: %w: %w", path, ErrUnwritable, err)
	}
	// The lock lives as long as the recorder: it tells readers a live recording from a killed one.
	if err := unix.Flock(int(d.self.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s is locked by another recording: choose another directory with -o", ErrExists, path)
		}
		return nil, ioError("lock", path, err)
	}
	switch _, err := d.self.Readdirnames(1); {
	case err == nil:
		return nil, fmt.Errorf("%w: %s is not empty: choose another directory with -o", ErrExists, path)
	case !errors.Is(err, io.EOF):
		return nil, ioError("read", path, err)
	}
	return d, nil
}

// MakeFolder makes a folder for datasets, with its parents, unless it is there: with the permissions that the folders
// of datasets with these options have. Of the options As and Mode count. Errors wrap ErrUnwritable or ErrDiskFull.
func MakeFolder(path string, o Options) error {
	return o.As.Run(func() error {
		if _, err := makeDirectory(filepath.Clean(path), newPermissions(o.Mode)); err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() {
			err = unix.ENOTDIR
		}
		if err != nil {
			return ioError("open", path, err)
		}
		return nil
	})
}

// checkHolder refuses a directory in which somebody else than root and the user could put something: a pipe in the
// place of a segment, for example.
func checkHolder(f *os.File, user int) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return err
	}
	if holder := int(stat.Uid); holder != 0 && holder != user {
		return fmt.Errorf("it belongs to another user (UID %d): choose another directory with -o", holder)
	}
	if stat.Mode&unix.S_IWOTH != 0 {
		return errors.New("everybody may write to it: choose another directory with -o, or take that right away with chmod o-w")
	}
	return nil
}

// makeDirectory is os.MkdirAll that says whether path did not exist before.
func makeDirectory(path string, p permissions) (made bool, err error) {
	err = os.Mkdir(path, p.folders())
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := makeDirectory(filepath.Dir(path), p); err != nil {
			return false, err
		}
		err = os.Mkdir(path, p.folders())
	}
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err == nil && p.asked {
		err = restorePath(path, p)
	}
	if err != nil {
		return false, ioError("create", path, err)
	}
	if err := syncPath(filepath.Dir(path)); err != nil {
		return false, ioError("sync the folder of", path, err)
	}
	return true, nil
}

// madeFlags open a directory that was just made. Where others may write to the folder above, a link may have taken its
// place.
const madeFlags = os.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW

func restorePath(path string, p permissions) error {
	made, err := os.OpenFile(path, madeFlags, 0)
	if err != nil {
		return err
	}
	defer func() { _ = made.Close() }()
	return p.restore(made)
}

// syncPath syncs a folder. Who may write to it, but not read it, cannot.
func syncPath(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return f.Sync()
}

// free returns how many bytes are left for those who are not root.
func (d *directory) free() (int64, error) {
	var of unix.Statfs_t
	if err := unix.Fstatfs(int(d.self.Fd()), &of); err != nil {
		return 0, ioError("ask for the free space of", d.path, err)
	}
	return int64(of.Bavail) * of.Frsize, nil
}

// createFile makes a new file.
func (d *directory) createFile(name string) (*os.File, error) {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, d.files)
	if err != nil {
		return nil, d.failed("create", name, err)
	}
	if err := d.restore(f); err != nil {
		d.discard(f, name)
		return nil, ioError("change the mode of", d.describe(name), err)
	}
	return f, nil
}

// openTable makes the table's folder and returns it.
func (d *directory) openTable(name string) (*os.File, error) {
	if err := d.root.Mkdir(name, d.folders()); err != nil {
		return nil, d.failed("create", name, err)
	}
	if err := d.self.Sync(); err != nil {
		return nil, ioError("sync", d.path, err)
	}
	folder, err := d.root.OpenFile(name, madeFlags, 0)
	if err != nil {
		return nil, ioError("open", d.describe(name), err)
	}
	if err := d.restore(folder); err != nil {
		_ = folder.Close()
		return nil, ioError("change the mode of", d.describe(name), err)
	}
	return folder, nil
}

// commit makes a written file durable under its final name and closes it. folder is the directory that holds both
// names.
func (d *directory) commit(f *os.File, temporary, final string, folder *os.File) error {
	err := f.Sync()
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = d.root.Rename(temporary, final)
	}
	if err != nil {
		_ = d.root.Remove(temporary)
		return d.failed("write", final, err)
	}
	if err := folder.Sync(); err != nil {
		return ioError("sync the folder of", d.describe(final), err)
	}
	return nil
}

// discard closes and removes an unfinished file. It is called after an error, which is the one to report.
func (d *directory) discard(f *os.File, temporary string) {
	_ = f.Close()
	_ = d.root.Remove(temporary)
}

// remove removes what has these names, and the directory itself if it was made for them and holds nothing else.
func (d *directory) remove(names []string) error {
	for _, name := range names {
		if err := d.root.RemoveAll(name); err != nil {
			return ioError("remove", d.describe(name), err)
		}
	}
	if !d.made {
		return nil
	}
	// The path may lead elsewhere by now. What is removed is an entry of the folder that holds this very directory.
	path := filepath.Clean(d.path)
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return ioError("open the folder of", d.path, err)
	}
	defer func() { _ = parent.Close() }()
	self, err := d.self.Stat()
	if err != nil {
		return ioError("look at", d.path, err)
	}
	if there, err := parent.Lstat(filepath.Base(path)); err != nil || !os.SameFile(self, there) {
		return nil
	}
	if err := parent.Remove(filepath.Base(path)); err != nil && !errors.Is(err, unix.ENOTEMPTY) {
		return ioError("remove", d.path, err)
	}
	return nil
}

func (d *directory) reopen() (*os.File, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, ioError("open", d.path, err)
	}
	return f, nil
}

// failed is ioError for a file or a folder that is made in the directory, where only a removal leaves no place for it.
func (d *directory) failed(action, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("somebody has removed it, or the folder that holds it: %w", err)
	}
	return ioError(action, d.describe(name), err)
}

func (d *directory) describe(name string) string {
	return filepath.Join(d.path, name)
}

func (d *directory) close() error {
	var err error
	if d.self != nil {
		err = d.self.Close() // releases the lock
	}
	err = errors.Join(err, d.root.Close())
	if d.memory != nil {
		err = errors.Join(err, d.memory.Close())
	}
	return err
}
