package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// ErrDiffers is wrapped by errors of a lake whose files are not those that were put there.
var ErrDiffers = errors.New("files of the lake are not those that were published")

// Verified counts what Verify has read.
type Verified struct {
	Recordings, Files, Bytes int64
	// Problems say which files are missing or differ.
	Problems []string
}

// Verify reads all files of recordings, or of all that are in the lake if none is named, and compares their checksums
// with those of the manifests. The error is about what could not be read; what differs is a problem.
func (l *Lake) Verify(ctx context.Context, recordings ...string) (Verified, error) {
	var v Verified
	if len(recordings) == 0 {
		names, err := l.store.list(ctx, manifestFolder)
		if err != nil {
			return v, err
		}
		for _, name := range names {
			if recording, isManifest := strings.CutSuffix(path.Base(name), manifestSuffix); isManifest && !strings.HasPrefix(recording, ".") {
				recordings = append(recordings, recording)
			}
		}
	}
	for _, recording := range recordings {
		if err := l.verify(ctx, recording, &v); err != nil {
			return v, err
		}
	}
	return v, nil
}

func (l *Lake) verify(ctx context.Context, recording string, v *Verified) error {
	m, err := readManifest(ctx, l.store, recording)
	switch {
	case errors.Is(err, ErrManifest):
		v.Problems = append(v.Problems, err.Error())
		return nil
	case err != nil:
		return err
	case m == nil:
		v.Problems = append(v.Problems, recording+" is not in the lake: publish it")
		return nil
	}
	v.Recordings++
	for _, f := range append(m.Files, m.Row) {
		hash := sha256.New()
		var size int64
		err := l.store.read(ctx, f.Name, func(file io.Reader) (err error) {
			hash.Reset()
			size, err = io.Copy(hash, contextReader{ctx, file})
			return err
		})
		switch {
		case errors.Is(err, errNotThere):
			v.Problems = append(v.Problems, f.Name+" is missing")
			continue
		case err != nil:
			return fmt.Errorf("verify %s: %w", f.Name, err)
		case size != f.Bytes || hex.EncodeToString(hash.Sum(nil)) != f.SHA256:
			v.Problems = append(v.Problems, f.Name+" differs from what was published")
		}
		v.Files++
		v.Bytes += size
	}
	return nil
}

// contextReader ends when its context does.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(into []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(into)
}
