package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// ErrDiffers is wrapped by errors of a lake whose files are not those that were put there.
var ErrDiffers = errors.New("files of the lake are not those that were published")

// Verified counts what Verify has read.
type Verified struct {
	Recordings, Files, Bytes int64
	// Problems say which files are missing or differ.
	Problems []string

	// named are the files that manifests name, claimed the recordings that somebody is publishing.
	named, claimed map[string]bool
}

// Verify reads all files of recordings, or of all that are in the lake if none is named, and compares their checksums
// with those of the manifests. Of all, it tells which files no manifest names, too. The error is about what could not
// be read; what differs is a problem.
func (l *Lake) Verify(ctx context.Context, recordings ...string) (Verified, error) {
	v := Verified{named: make(map[string]bool), claimed: make(map[string]bool)}
	names, err := l.store.list(ctx, manifestFolder)
	if err != nil {
		return v, err
	}
	all := len(recordings) == 0
	for _, name := range names {
		if recording, isClaim := strings.CutSuffix(path.Base(name), begunSuffix); isClaim {
			v.claimed[recording] = true
		}
		if recording, isManifest := strings.CutSuffix(path.Base(name), manifestSuffix); all && isManifest && !strings.HasPrefix(recording, ".") {
			recordings = append(recordings, recording)
		}
	}
	for _, recording := range recordings {
		if err := l.verify(ctx, recording, &v); err != nil {
			return v, err
		}
	}
	if !all {
		return v, nil
	}
	for _, recording := range slices.Sorted(maps.Keys(v.claimed)) {
		v.Problems = append(v.Problems, recording+" is being published, or a publisher was broken off: publish it again")
	}
	return v, l.findUnnamed(ctx, &v)
}

// findUnnamed tells of files that no manifest names. Those of a recording that somebody is publishing may be named
// later.
func (l *Lake) findUnnamed(ctx context.Context, v *Verified) error {
	for _, table := range Tables() {
		names, err := l.store.walk(ctx, table.Name)
		if err != nil {
			return err
		}
		for _, name := range names {
			isClaimed := false
			for recording := range v.claimed {
				isClaimed = isClaimed || isFileOf(name, recording)
			}
			if !isClaimed && !v.named[name] && strings.HasSuffix(name, parquetSuffix) {
				v.Problems = append(v.Problems, fmt.Sprintf("%q is in no manifest: no publisher has it there", name))
			}
		}
	}
	return nil
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
	if has, err := l.store.has(ctx, m.Row.Name); err != nil || !has && v.claimed[recording] {
		return err // it is not visible yet
	}
	v.Recordings++
	for _, f := range append(m.Files, m.Row) {
		v.named[f.Name] = true
		hash := sha256.New()
		var size int64
		err := l.store.read(ctx, f.Name, func(file io.Reader) (err error) {
			hash.Reset()
			size, err = io.Copy(hash, contextReader{ctx, file})
			return err
		})
		switch {
		case errors.Is(err, errNotThere):
			v.Problems = append(v.Problems, fmt.Sprintf("%q is missing", f.Name))
			continue
		case err != nil:
			return fmt.Errorf("verify %s: %w", f.Name, err)
		case size != f.Bytes || hex.EncodeToString(hash.Sum(nil)) != f.SHA256:
			v.Problems = append(v.Problems, fmt.Sprintf("%q differs from what was published", f.Name))
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
