package target

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

const maxSymbolicLinks = 40

// rootDirectory is a process's root directory. Paths are resolved in it as the process would, absolute symbolic links
// included, and never lead out of it.
type rootDirectory struct {
	prefix string // such as /proc/PID/root
	handle *os.File
}

func (p *Process) openRoot() (*rootDirectory, error) {
	prefix := p.finder.processPath(p.PID, "root")
	fd, err := unix.Open(prefix, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: prefix, Err: err}
	}
	return &rootDirectory{prefix: prefix, handle: os.NewFile(uintptr(fd), prefix)}, nil
}

func (r *rootDirectory) close() { r.handle.Close() }

func (r *rootDirectory) open(name string, flags uint64) (*os.File, error) {
	fd, err := unix.Openat2(int(r.handle.Fd()), name, &unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: r.prefix + name, Err: err}
	}
	return os.NewFile(uintptr(fd), r.prefix+name), nil
}

// readFile reads a regular file of at most limit bytes.
func (r *rootDirectory) readFile(name string, limit int64) ([]byte, error) {
	file, err := r.open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%s: not a regular file of at most %d bytes", file.Name(), limit)
	}
	return io.ReadAll(io.LimitReader(file, limit))
}

// readDirectory is the names in a directory, at most limit of them.
func (r *rootDirectory) readDirectory(name string, limit int) ([]string, error) {
	directory, err := r.open(name, unix.O_RDONLY|unix.O_DIRECTORY)
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

// resolve follows all symbolic links of an absolute path. The result is a path in the root without any, so that it
// can be opened under the prefix without the host's links coming into play.
func (r *rootDirectory) resolve(name string) (string, error) {
	resolved := "/"
	pending := strings.Split(path.Clean("/"+name), "/")
	for links := 0; len(pending) > 0; {
		component := pending[0]
		pending = pending[1:]
		switch component {
		case "", ".":
			continue
		case "..":
			resolved = path.Dir(resolved)
			continue
		}
		next := path.Join(resolved, component)
		link, err := r.readLink(next)
		switch {
		case errors.Is(err, errNotLink):
			resolved = next
			continue
		case err != nil:
			return "", err
		}
		if links++; links > maxSymbolicLinks {
			return "", &os.PathError{Op: "resolve", Path: name, Err: unix.ELOOP}
		}
		if path.IsAbs(link) {
			resolved = "/"
		}
		pending = append(strings.Split(link, "/"), pending...)
	}
	return resolved, nil
}

var errNotLink = errors.New("not a symbolic link")

func (r *rootDirectory) readLink(name string) (string, error) {
	file, err := r.open(name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", err
	}
	defer file.Close()
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(file.Fd()), "", buffer)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EINVAL):
		return "", errNotLink
	case err != nil:
		return "", err
	}
	return string(buffer[:n]), nil
}
