package target

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxDepth is how many folders deep a path may lead: each is held open while it is followed.
const maxDepth = 256

// maxLinks is how many symbolic links one path may lead through, as in the kernel (path_resolution(7)).
const maxLinks = 40

// step is a directory on a way that a path leads.
type step struct {
	handle *os.File // open with O_PATH
	mount  handleMount
}

// walk resolves a path, one directory after the other: what is in a directory is asked for only when it is known that
// no program answers for it. The kernel would go the whole way at once, and wait for such a program for ever.
type walk struct {
	root rootDirectory
	// way leads from the root directory, which is not in it, to where the walk is.
	way   []step
	names []string // that are still to be followed
	links int
}

// find finds a file, and returns a descriptor that stands for it but opens nothing. If the path leads to a symbolic
// link, this is followed or else found itself. ErrNotRead if the path leads through a file system for which a program
// answers.
func (r rootDirectory) find(name string, follow bool) (*os.File, error) {
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	w := walk{root: r, names: namesIn(name)}
	defer w.end()
	found, err := w.last(follow)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: r.prefix + name, Err: err}
	}
	return os.NewFile(uintptr(found), r.prefix+name), nil
}

// namesIn are the parts of a path. One that ends with a slash leads to a directory, as if "." were behind it.
func namesIn(name string) []string {
	if strings.HasSuffix(name, "/") {
		name += "."
	}
	return slices.DeleteFunc(strings.Split(name, "/"), func(part string) bool { return part == "" })
}

func (w *walk) end() {
	for _, s := range w.way {
		s.handle.Close()
	}
}

func (w *walk) at() step {
	if len(w.way) == 0 {
		return w.root.start
	}
	return w.way[len(w.way)-1]
}

// last goes the whole way and returns a descriptor of what is at its end.
func (w *walk) last(follow bool) (int, error) {
	for len(w.names) > 0 {
		name := w.names[0]
		w.names = w.names[1:]
		if name == "." || name == ".." {
			if err := w.stay(); err != nil {
				return -1, err
			}
			if name == ".." {
				w.back()
			}
			continue
		}
		next, isLink, err := w.enter(name)
		if err != nil {
			return -1, err
		}
		if isLink && (follow || len(w.names) > 0) {
			err := w.followLink(next.handle)
			next.handle.Close()
			if err != nil {
				return -1, err
			}
			continue
		}
		w.way = append(w.way, next)
		if len(w.way) > maxDepth {
			return -1, unix.ENAMETOOLONG
		}
	}
	return unix.FcntlInt(w.at().handle.Fd(), unix.F_DUPFD_CLOEXEC, 0)
}

// stay returns an error unless the walk is in a directory in which names may be looked up.
func (w *walk) stay() error {
	fd, err := unix.Openat(int(w.at().handle.Fd()), ".", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func (w *walk) back() {
	if len(w.way) > 0 {
		w.at().handle.Close()
		w.way = w.way[:len(w.way)-1]
	}
}

// enter finds a name in the directory where the walk is. What is found may be asked for what it holds.
func (w *walk) enter(name string) (found step, isLink bool, err error) {
	from := w.at()
	// Without RESOLVE_IN_ROOT: a single name other than ".." leads to what is in the directory, or mounted on it.
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(int(from.handle.Fd()), name, &how)
	if err != nil {
		return step{}, false, err
	}
	found.handle = os.NewFile(uintptr(fd), path.Base(name))
	if found.mount, err = mountOf(fd); err == nil && found.mount.id != from.mount.id { // from is held, so its mount is
		err = w.root.refuse(found.mount)
	}
	if err != nil {
		found.handle.Close()
		return step{}, false, err
	}
	return found, found.mount.fileType == unix.S_IFLNK, nil
}

// followLink puts what a symbolic link says in front of the names that are still to be followed.
func (w *walk) followLink(link *os.File) error {
	if w.links++; w.links > maxLinks {
		return unix.ELOOP
	}
	buffer := make([]byte, unix.PathMax)
	length, err := unix.Readlinkat(int(link.Fd()), "", buffer)
	if err != nil {
		return fmt.Errorf("reading a symbolic link: %w", err)
	}
	text := string(buffer[:length])
	if path.IsAbs(text) {
		for len(w.way) > 0 {
			w.back()
		}
	}
	w.names = slices.Concat(namesIn(text), w.names)
	return nil
}
