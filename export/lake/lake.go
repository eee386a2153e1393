package lake

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/s3utils"

	"github.com/caret-bpf/caret-bpf/identity"
)

// ErrNotLake is returned for what is no lake.
var ErrNotLake = errors.New("not a lake")

// Options say how a lake is used.
type Options struct {
	// As is the user whose files a lake in a directory has, and who stages files; nil is the program's own.
	As *identity.Identity
	// Staging is the directory in which files for object storage are made; a lake in a directory has its own.
	Staging string
	// Patience is for how long object storage that does not answer is asked again. 0 is DefaultPatience.
	Patience time.Duration
	// Bandwidth is how many bytes a second are sent to object storage, at least MinBandwidth; 0 is no limit.
	Bandwidth int64
	// ReadOnly is for a lake that is only to be verified: nothing is made.
	ReadOnly bool
}

// Lake is an opened lake. Close it.
type Lake struct {
	store store
	as    *identity.Identity
}

const s3Scheme = "s3://"

// Check returns an error that wraps ErrNoBucket for what cannot name a lake. Whether there is one is not asked.
func Check(where string) error {
	if target, isS3 := strings.CutPrefix(where, s3Scheme); isS3 {
		bucket, _, _ := strings.Cut(target, "/")
		if err := s3utils.CheckValidBucketName(bucket); err != nil {
			return fmt.Errorf("%w: %q: %w", ErrNoBucket, where, err)
		}
	}
	return nil
}

// Open opens a lake: a directory, which is made where there is none, or s3://BUCKET/PREFIX. Errors wrap ErrUnwritable
// or ErrUnreachable.
func Open(ctx context.Context, where string, options Options) (*Lake, error) {
	if err := Check(where); err != nil {
		return nil, err
	}
	if target, isS3 := strings.CutPrefix(where, s3Scheme); isS3 {
		s, err := openS3(ctx, target, options)
		if err != nil {
			return nil, err
		}
		return &Lake{store: s, as: options.As}, nil
	}
	s, err := openLocal(where, options.ReadOnly, options.As)
	if err != nil {
		return nil, err
	}
	return &Lake{store: s, as: options.As}, nil
}

// Close lets go of the lake.
func (l *Lake) Close() error { return l.store.close() }

// openStaging opens the directory in which files for object storage are staged.
func openStaging(dir string, as *identity.Identity) (root *os.Root, err error) {
	err = as.Run(func() (err error) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			root, err = os.OpenRoot(dir)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: the folder to stage files in: %w", ErrUnwritable, err)
	}
	return root, nil
}
