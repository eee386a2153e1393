package lake

import (
	"context"
	"errors"
	"io"
	"os"
)

var (
	// ErrUnwritable is wrapped by errors of a lake that cannot be written: something denies it, a disk is full.
	ErrUnwritable = errors.New("the lake cannot be written")
	// ErrUnreachable is wrapped by errors of object storage that does not answer, or refuses.
	ErrUnreachable = errors.New("the object storage cannot be used")
	// ErrNoBucket is returned for the name of a lake in object storage that names no bucket.
	ErrNoBucket = errors.New("a lake in object storage is s3://BUCKET/PREFIX")
	// errNotThere is returned for a file that is not in the lake.
	errNotThere = errors.New("it is not in the lake")
	// errChanged is returned for a file that is not what it was.
	errChanged = errors.New("somebody else has changed it")
)

// store is where a lake is. Names are paths in the lake, with slashes.
type store interface {
	// put makes a staged file appear under its name, whole, in place of what was there. The staged one may be gone then.
	put(ctx context.Context, f *stagedFile) error
	// swap puts a staged file in place of one that has a text, or of none if that is nil. The error wraps errChanged if
	// that is not what is there. Storage that cannot do this at once does it in two steps.
	swap(ctx context.Context, f *stagedFile, was []byte) error
	// read passes on what a file has; it may begin anew. The error wraps errNotThere if there is none.
	read(ctx context.Context, name string, consume func(io.Reader) error) error
	// has tells whether there is a file.
	has(ctx context.Context, name string) (bool, error)
	// remove removes a file; no error if there is none.
	remove(ctx context.Context, name string) error
	// list returns the names in a folder.
	list(ctx context.Context, folder string) ([]string, error)
	// walk returns the names of all files below a folder.
	walk(ctx context.Context, folder string) ([]string, error)
	// lock keeps others from putting recordings into the lake until unlock is called. Where that cannot be, it does
	// nothing.
	lock(ctx context.Context) (unlock func(), err error)
	// staging is where files are staged: a folder of a root.
	staging() (root *os.Root, folder string)
	close() error
}
