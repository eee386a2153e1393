// Package usercache keeps what can be found out again in files of a user, in a folder of his. They are read and written
// with his rights, whole or not at all.
package usercache

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/wholefile"
)

// ErrForeign is returned for what no program of ours has stored: a special file, or one that is too long.
var ErrForeign = errors.New("not a file of the cache")

// Store writes a value as JSON to a file in a folder, which it makes if need be, and returns the file's path.
func Store(folder, name string, value any, as *identity.Identity) (string, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return "", err
	}
	if err := as.Run(func() error { return os.MkdirAll(folder, 0o755) }); err != nil {
		return "", err
	}
	path := filepath.Join(folder, name)
	return path, wholefile.Write(path, append(text, '\n'), 0o644, as)
}

// Load reads a file of at most limit bytes. The error wraps os.ErrNotExist if there is none, and ErrForeign.
func Load(folder, name string, limit int64, as *identity.Identity) (text []byte, err error) {
	err = as.Run(func() (err error) {
		text, err = read(filepath.Join(folder, name), limit)
		return err
	})
	return text, err
}

func read(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, ErrForeign), err)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}
