package trace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

var (
	// ErrLeased marks a file that another program holds a lease on. To open it could take 45 seconds each time, which no
	// signal ends, and a file's owner may take the lease again and again.
	ErrLeased = errors.New("another program holds a lease on it")

	errNotRegular = errors.New("it is no regular file")
)

// openRegular is openRegular done in its way.
func (as As) openRegular(path string) (f *os.File, info fs.FileInfo, err error) {
	err = as(func() error {
		f, info, err = openRegular(path)
		return err
	})
	return f, info, err
}

// openRegular opens a regular file for reading. What is none (a FIFO, a device) is not opened at all: opening one may
// wait for ever, or do something to the device. Nor is a lease waited for: then the error is ErrLeased.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	number, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	place := os.NewFile(uintptr(number), path)
	defer func() { _ = place.Close() }()
	info, err := place.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errNotRegular
	}
	// The path may lead elsewhere by now, the descriptor may not.
	number, err = unix.Open(fmt.Sprintf("/proc/self/fd/%d", place.Fd()), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EAGAIN) {
		return nil, nil, fmt.Errorf("%w: %w", ErrLeased, err)
	}
	if err != nil {
		return nil, nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(number), path), info, nil
}

// readRegular reads a regular file of at most limit bytes. It reads no more than the file's size: a file of the kernel
// has size 0, and reading one may wait for ever.
func (as As) readRegular(path string, limit int64) ([]byte, error) {
	f, info, err := as.openRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info.Size() > limit {
		return nil, fmt.Errorf("it has %d bytes, more than the %d that are read", info.Size(), limit)
	}
	return io.ReadAll(io.LimitReader(f, info.Size()))
}
