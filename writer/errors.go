package writer

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

var (
	// ErrExists is returned by Create for a directory that is not empty or that another recording writes to, and for what
	// is no directory.
	ErrExists = errors.New("output exists")
	// ErrUnwritable is wrapped by the error of a Writer to which the file system denies something, or whose disk fails.
	ErrUnwritable = errors.New("the recording cannot be written there")
	// ErrDiskFull is wrapped by the error of a Writer whose file system or quota is full.
	ErrDiskFull = errors.New("no space left for the recording")
	// ErrClosed is returned for the use of a closed Writer.
	ErrClosed = errors.New("dataset writer is closed")
)

// ioError describes a failed operation on the dataset: its error wraps ErrDiskFull or ErrUnwritable.
func ioError(action, path string, err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("%s %s: %w (%w): free space or record to another file system with -o; what was written before is readable",
			action, path, ErrDiskFull, err)
	}
	return fmt.Errorf("%s %s: %w: %w", action, path, ErrUnwritable, err)
}
