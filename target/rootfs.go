package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// rootDirectory is a process's root directory. Paths are resolved in it as the process would, absolute symbolic links
// included, and never lead out of it. Only a delegate opens files in it.
type rootDirectory struct {
	prefix string // such as /proc/PID/root
	path   string // what the kernel calls it
	start  step
	// ctx is of who asks: when it ends, nothing more is looked for.
	ctx context.Context
	// refuse returns an error for a mount that is not asked for anything.
	refuse func(m handleMount) error
}

// openRoot opens the process's root directory. What is read to resolve paths in it is done for ctx, until that ends.
// The process's user pays.
func (p *Process) openRoot(ctx context.Context) (rootDirectory, error) {
	ctx = p.PaidBy(ctx)
	foreign := p.mountsAreForeign() // a delegate may not ask that
	root := rootDirectory{
		prefix: p.finder.processPath(p.PID, "root"), ctx: ctx,
		refuse: func(m handleMount) error { return p.refuseMount(ctx, m, foreign) },
	}
	fd, err := unix.Open(root.prefix, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return rootDirectory{}, &os.PathError{Op: "open", Path: root.prefix, Err: err}
	}
	root.start.handle = os.NewFile(uintptr(fd), root.prefix)
	if root.path, err = os.Readlink(linkTo(root.start.handle)); err != nil {
		root.close()
		return rootDirectory{}, err
	}
	if root.start.mount, err = mountOf(fd); err == nil {
		err = root.refuse(root.start.mount)
	}
	if err != nil {
		root.close()
		return rootDirectory{}, fmt.Errorf("%s: %w", root.prefix, err)
	}
	return root, nil
}

func (r rootDirectory) close() { r.start.handle.Close() }

// linkTo leads to an open file, whatever has become of its path.
func linkTo(file *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", file.Fd()) }

// stat looks at a file, at a symbolic link itself.
func (r rootDirectory) stat(name string) (*unix.Stat_t, error) {
	file, err := r.find(name, false)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return nil, &os.PathError{Op: "stat", Path: r.prefix + name, Err: err}
	}
	return &stat, nil
}

// open opens a file of one type for reading. The result is the file that was looked at, whatever its path leads to by
// now.
func (r rootDirectory) open(name string, fileType uint32) (*os.File, error) {
	found, err := r.find(name, true)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	return openFound(found, fileType)
}

// openFound opens a file for reading that is open with O_PATH.
func openFound(found *os.File, fileType uint32) (*os.File, error) {
	if err := refuseSpecial(found, fileType); err != nil {
		return nil, err
	}
	fd, err := unix.Open(linkTo(found), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: found.Name(), Err: err}
	}
	return os.NewFile(uintptr(fd), found.Name()), nil
}

// openFile opens a regular file.
func (r rootDirectory) openFile(name string) (*os.File, error) { return r.open(name, unix.S_IFREG) }

// namedFile is an open file with its path in the root directory, without symbolic links, and the index of the path by
// which it was found.
type namedFile struct {
	file  *os.File // nil if none was found
	path  string
	index int
}

// openFirst opens the first of some regular files that there is.
func (r rootDirectory) openFirst(names []string) (namedFile, error) {
	for i, name := range names {
		file, err := r.openFile(name)
		if err != nil {
			continue
		}
		path, err := r.pathOf(file)
		if err != nil {
			file.Close()
			continue
		}
		return namedFile{file, path, i}, nil
	}
	return namedFile{}, nil
}

// readFile reads a regular file of at most limit bytes.
func (r rootDirectory) readFile(name string, limit int64) ([]byte, error) {
	file, err := r.openFile(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readAll(file, limit)
}

// readAll reads a file of at most limit bytes.
func readAll(file *os.File, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s: more than %d bytes", file.Name(), limit)
	}
	return text, err
}

// readDirectory is the names in a directory, at most limit of them.
func (r rootDirectory) readDirectory(name string, limit int) ([]string, error) {
	directory, err := r.open(name, unix.S_IFDIR)
	if err != nil {
		return nil, err
	}
	defer directory.Close()
	names, err := directory.Readdirnames(limit)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

// locate follows all symbolic links of a path. The result is for people and for comparing: another file may be there by
// now.
func (r rootDirectory) locate(name string) (string, error) {
	found, err := r.find(name, true)
	if err != nil {
		return "", err
	}
	defer found.Close()
	return r.pathOf(found)
}

// pathOf is the path of an open file in the root directory, without symbolic links.
func (r rootDirectory) pathOf(file *os.File) (string, error) {
	path, err := os.Readlink(linkTo(file))
	if err != nil || r.path == "/" {
		return path, err
	}
	inside, found := strings.CutPrefix(path, r.path)
	if !found {
		return "", fmt.Errorf("%s: not below %s", path, r.path)
	}
	return inside, nil
}
