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

// directory is the dataset's directory. The recorder runs as root while the directory may belong to the invoking user, who can
// put a symbolic link anywhere in it: everything goes through an os.Root, which does not leave the directory.
type directory struct {
	path  string
	root  *os.Root
	self  *os.File // the directory itself: its lock, and to sync it
	owner *Owner
	made  bool // path did not exist before
}

// What a recording tells of all users (names, command lines) is for its owner and the owner's group.
const (
	directoryMode = 0o750
	fileMode      = 0o640
)

// createDirectory makes path, with its parents, and locks it. It fails with ErrExists when path exists and is not an empty directory, and
// with ErrUnwritable when it is one of another user, or one that everybody may write to.
func createDirectory(path string, owner *Owner) (_ *directory, err error) {
	made, err := makeDirectory(filepath.Clean(path), owner)
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
	d := &directory{path: path, root: root, owner: owner, made: made}
	defer func() {
		if err != nil {
			_ = d.close()
		}
	}()
	if d.self, err = d.reopen(); err != nil {
		return nil, err
	}
	if err := checkHolder(d.self, owner); err != nil {
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

// checkHolder refuses a directory in which somebody else than root and the user could put something: a pipe in the place of a segment,
// for example.
func checkHolder(f *os.File, owner *Owner) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return err
	}
	user := os.Geteuid()
	if owner != nil {
		user = owner.UID
	}
	if holder := int(stat.Uid); holder != 0 && holder != user {
		return fmt.Errorf("it belongs to another user (UID %d): choose another directory with -o", holder)
	}
	if stat.Mode&unix.S_IWOTH != 0 {
		return errors.New("everybody may write to it: choose another directory with -o, or take that right away with chmod o-w")
	}
	return nil
}

// makeDirectory is os.MkdirAll that gives what it makes to the owner and says whether path did not exist before.
func makeDirectory(path string, owner *Owner) (made bool, err error) {
	err = os.Mkdir(path, directoryMode)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := makeDirectory(filepath.Dir(path), owner); err != nil {
			return false, err
		}
		err = os.Mkdir(path, directoryMode)
	}
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, ioError("create", path, err)
	}
	if owner != nil {
		made, err := os.OpenFile(path, madeFlags, 0)
		if err == nil {
			err = giveAway(made, owner)
		}
		if err != nil {
			return false, ioError("change the owner of", path, err)
		}
	}
	if err := syncPath(filepath.Dir(path)); err != nil {
		return false, ioError("sync the folder of", path, err)
	}
	return true, nil
}

// madeFlags open a directory that was just made.
const madeFlags = os.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW

// giveAway gives a directory that was just made to its owner, and closes it. Who may write to the folder above can have put another one in
// its place. So it is given only if it is the recorder's own and empty.
func giveAway(made *os.File, owner *Owner) error {
	defer func() { _ = made.Close() }()
	var stat unix.Stat_t
	if err := unix.Fstat(int(made.Fd()), &stat); err != nil {
		return err
	}
	if _, err := made.Readdirnames(1); int(stat.Uid) != os.Geteuid() || !errors.Is(err, io.EOF) {
		return errors.New("another directory was put in its place")
	}
	return made.Chown(owner.UID, owner.GID)
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return f.Sync()
}

// createFile makes a new file and gives it to the owner.
func (d *directory) createFile(name string) (*os.File, error) {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return nil, ioError("create", d.describe(name), err)
	}
	if d.owner != nil {
		if err := f.Chown(d.owner.UID, d.owner.GID); err != nil {
			_ = f.Close()
			return nil, ioError("change the owner of", d.describe(name), err)
		}
	}
	return f, nil
}

// openTable makes the table's folder and returns it.
func (d *directory) openTable(name string) (*os.File, error) {
	if err := d.root.Mkdir(name, directoryMode); err != nil {
		return nil, ioError("create", d.describe(name), err)
	}
	if d.owner != nil {
		made, err := d.root.OpenFile(name, madeFlags, 0)
		if err == nil {
			err = giveAway(made, d.owner)
		}
		if err != nil {
			return nil, ioError("change the owner of", d.describe(name), err)
		}
	}
	if err := d.self.Sync(); err != nil {
		return nil, ioError("sync", d.path, err)
	}
	folder, err := d.root.Open(name)
	if err != nil {
		return nil, ioError("open", d.describe(name), err)
	}
	return folder, nil
}

// commit makes a written file durable under its final name and closes it. folder is the directory that holds both names.
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
		return ioError("write", d.describe(final), err)
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

func (d *directory) describe(name string) string {
	return filepath.Join(d.path, name)
}

func (d *directory) close() error {
	var err error
	if d.self != nil {
		err = d.self.Close() // releases the lock
	}
	return errors.Join(err, d.root.Close())
}
