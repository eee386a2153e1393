package target

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrUntrusted: a file could have been written by others than root and trusted users. The error says where that shows.
var ErrUntrusted = errors.New("others can write it")

const (
	writableByGroup  = 0o020
	writableByOthers = 0o002
)

// CheckTrusted returns ErrUntrusted unless nobody but root and some users could have written a file that the process
// holds: by owner and mode of the file, and of all folders above it in the process's root directory. In a sticky folder
// others can only add files, and so can the group root, which is root's. A file that its path does not lead to any more
// is not trusted, nor is one of a file system that lives in a process, which can give everybody other bytes.
func (p *Process) CheckTrusted(ctx context.Context, opened *OpenFile, users []uint32) error {
	var stat unix.Stat_t
	var statfs unix.Statfs_t
	fd := int(opened.file.Fd())
	if err := errors.Join(unix.Fstat(fd, &stat), unix.Fstatfs(fd, &statfs)); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrUntrusted, opened.path, err)
	}
	name, err := p.pathOf(opened)
	if err != nil {
		return err
	}
	if statfs.Type == unix.FUSE_SUPER_MAGIC {
		return fmt.Errorf("%w: %s is on a file system of a process (FUSE)", ErrUntrusted, name)
	}
	if err := checkOwner(name, &stat, users); err != nil {
		return err
	}
	if p.mountsAreForeign() {
		return fmt.Errorf("%w: what leads to %s was mounted in another user namespace", ErrUntrusted, name)
	}
	root, err := p.openRoot(ctx)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrUntrusted, name, err)
	}
	defer root.close()
	if err := checkFolders(root, path.Dir(name), users); err != nil {
		return err
	}
	found, err := root.stat(name)
	if err != nil || found.Dev != stat.Dev || found.Ino != stat.Ino {
		return fmt.Errorf("%w: %s is not there any more, or another file", ErrUntrusted, name)
	}
	return nil
}

// pathOf is the path of a file in the process's root directory.
func (p *Process) pathOf(opened *OpenFile) (string, error) {
	for _, module := range p.Modules {
		if module.opened == opened {
			return module.Path, nil
		}
	}
	for _, library := range p.expected {
		if library.Opened == opened {
			return library.Path, nil
		}
	}
	return "", fmt.Errorf("%w: %s: %w", ErrUntrusted, opened.path, ErrFileClosed)
}

// checkFolders checks a folder and all above it, from the top: what is in a trusted folder is what it was when it was
// looked at.
func checkFolders(root rootDirectory, folder string, users []uint32) error {
	at := "/"
	for _, component := range strings.Split(folder, "/") {
		at = path.Join(at, component)
		stat, err := root.stat(at)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrUntrusted, at, err)
		}
		if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
			return fmt.Errorf("%w: %s is no folder", ErrUntrusted, at)
		}
		if err := checkOwner(at, stat, users); err != nil {
			return err
		}
	}
	return nil
}

// checkOwner checks who can write a file, or change what is in a folder.
func checkOwner(name string, stat *unix.Stat_t, users []uint32) error {
	sticky := stat.Mode&unix.S_IFMT == unix.S_IFDIR && stat.Mode&unix.S_ISVTX != 0
	switch {
	case stat.Uid != 0 && !slices.Contains(users, stat.Uid):
		return fmt.Errorf("%w: %s is of user %d", ErrUntrusted, name, stat.Uid)
	case stat.Mode&writableByOthers != 0 && !sticky:
		return fmt.Errorf("%w: %s is writable by everybody", ErrUntrusted, name)
	case stat.Mode&writableByGroup != 0 && stat.Gid != 0 && !sticky:
		return fmt.Errorf("%w: %s is writable by group %d", ErrUntrusted, name, stat.Gid)
	}
	return nil
}
