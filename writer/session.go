package writer

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	sessionTemporary = "." + trace.SessionFile + ".tmp"
	// reserveFile holds disk space back, with which a recording that fills the disk can still write how it ended.
	reserveFile  = ".reserve"
	reserveBytes = 1 << 20
)

// WriteSession replaces session.json: after a crash there is the former or the new one. It works after an error of the
// Writer, a full disk included, so that the dataset can say how it ended; but not after Close.
func (w *Writer) WriteSession(s *trace.Session) error {
	text, err := trace.EncodeSession(s)
	if err != nil {
		return err
	}
	return w.options.As.Run(func() error { return w.session.replace(text) })
}

// sessionFile is session.json with the space reserved for its last version.
type sessionFile struct {
	dir *directory

	mu       sync.Mutex
	reserved bool
	closed   bool
}

func (f *sessionFile) replace(text []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return ErrClosed
	}
	err := f.dir.replaceFile(trace.SessionFile, sessionTemporary, text)
	if errors.Is(err, ErrDiskFull) && f.reserved {
		f.removeReserve()
		err = f.dir.replaceFile(trace.SessionFile, sessionTemporary, text)
	}
	return err
}

// release gives the reserved space back and ends the use of the file.
func (f *sessionFile) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.removeReserve()
}

func (f *sessionFile) removeReserve() {
	if f.reserved {
		f.reserved = false
		_ = f.dir.root.Remove(reserveFile)
	}
}

// reserve makes the reserve file.
func (d *directory) reserve() error {
	f, err := d.createFile(reserveFile)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	err = unix.Fallocate(int(f.Fd()), 0, 0, reserveBytes)
	// tmpfs gives up, and begins anew, at each signal, and Go's scheduler sends them all the time: not to be repeated for
	// ever.
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINTR) {
		_, err = f.Write(make([]byte, reserveBytes))
	}
	if err != nil {
		_ = d.root.Remove(reserveFile)
		return ioError("reserve space in", d.path, err)
	}
	return nil
}

// replaceFile atomically gives the file a new content.
func (d *directory) replaceFile(name, temporary string, content []byte) error {
	if err := d.root.Remove(temporary); err != nil && !errors.Is(err, os.ErrNotExist) {
		return ioError("replace", d.describe(temporary), err)
	}
	f, err := d.createFile(temporary)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		d.discard(f, temporary)
		return ioError("write", d.describe(temporary), err)
	}
	return d.commit(f, temporary, name, d.self)
}
