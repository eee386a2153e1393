package forward

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// depth is how far below the folder datasets are looked for: snapshots are in a folder of their recording.
	depth = 2
	// maxSession bounds what is read of a session.json; trace refuses longer ones, too.
	maxSession = 64 << 20
	// deletedPrefix begins the name of a dataset that is being deleted.
	deletedPrefix = ".deleted."
	// lostAndFound is root's, in the topmost folder of many file systems.
	lostAndFound = "lost+found"
)

// dataset is a folder with a session.json.
type dataset struct {
	// name is its path in the folder, with slashes.
	name string
	// stamp tells it from another one under its name: the hash of its session.json.
	stamp string
	// ended orders datasets: when session.json was last written, in Unix nanoseconds.
	ended int64
	// bytes are those of its files.
	bytes int64
	// recording says that its recorder goes on.
	recording bool
	// err says why it cannot be read.
	err error
}

// finder looks for datasets. What did not change since the last look is not read again.
type finder struct {
	folder string
	as     *identity.Identity
	known  map[string]looked
}

// looked is what was found in a session.json of that size and time.
type looked struct {
	info    os.FileInfo
	dataset dataset
}

func newFinder(folder string, as *identity.Identity) *finder {
	return &finder{folder: folder, as: as, known: make(map[string]looked)}
}

// find returns the datasets below the folder. Nothing that begins with "." or "_" is looked into, and no link followed.
func (f *finder) find() (found []dataset, err error) {
	err = f.as.Run(func() error {
		root, err := os.OpenRoot(f.folder)
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }()
		now := make(map[string]looked)
		if err := f.look(root, ".", 1, now); err != nil {
			return err
		}
		f.known = now
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for datasets: %w", err)
	}
	for _, l := range f.known {
		found = append(found, l.dataset)
	}
	return found, nil
}

func (f *finder) look(root *os.Root, folder string, level int, now map[string]looked) error {
	entries, err := fs.ReadDir(root.FS(), folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		if !entry.IsDir() || strings.HasPrefix(entry.Name(), "_") || entry.Name() == lostAndFound {
			continue
		}
		if strings.HasPrefix(entry.Name(), ".") {
			if strings.HasPrefix(entry.Name(), deletedPrefix) {
				_ = root.RemoveAll(name) // its deletion was broken off; where it cannot be removed it takes room only
			}
			continue
		}
		info, err := root.Lstat(path.Join(name, trace.SessionFile))
		switch {
		case err == nil:
			now[name] = f.lookInto(root, name, info)
		case errors.Is(err, fs.ErrPermission):
			now[name] = looked{dataset: dataset{name: name, err: err}}
		case !errors.Is(err, fs.ErrNotExist):
			return err
		case level < depth:
			if err := f.look(root, name, level+1, now); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
				return err
			}
		}
	}
	return nil
}

// lookInto looks at a dataset whose session.json is as info says.
func (f *finder) lookInto(root *os.Root, name string, info os.FileInfo) looked {
	former, known := f.known[name]
	if known && former.info != nil && former.dataset.err == nil && !former.dataset.recording &&
		os.SameFile(former.info, info) && former.info.ModTime().Equal(info.ModTime()) && former.info.Size() == info.Size() {
		return former
	}
	d := dataset{name: name, ended: info.ModTime().UnixNano()}
	// Before it is read: a recorder that ends writes it, and only then lets go of the dataset.
	if opened, err := trace.Open(filepath.Join(f.folder, filepath.FromSlash(name))); err == nil {
		d.recording = opened.Live()
	}
	if d.stamp, d.err = stampOf(root, name); d.err == nil && !d.recording {
		d.bytes = bytesOf(root, name)
	}
	return looked{info, d}
}

// stampOf returns the stamp of a dataset.
func stampOf(root *os.Root, name string) (string, error) {
	file, err := root.OpenFile(path.Join(name, trace.SessionFile), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(fmt.Errorf("%s of %s is no file", trace.SessionFile, name), err)
	}
	hash := sha256.New()
	if read, err := io.Copy(hash, io.LimitReader(file, maxSession+1)); err != nil || read > maxSession {
		return "", errors.Join(fmt.Errorf("%s of %s cannot be read, or is too long", trace.SessionFile, name), err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// bytesOf are those of a dataset's files, as far as they can be looked at.
func bytesOf(root *os.Root, name string) (bytes int64) {
	_ = fs.WalkDir(root.FS(), name, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // the rest is counted
		}
		if info, err := entry.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// ErrAnother is returned for a dataset that is not the one that was to be deleted, or no finished one.
var ErrAnother = errors.New("it is not what it was")

// Delete deletes the finished dataset of that name and stamp in a folder, as a user. One whose deletion is broken off
// is gone nevertheless.
func Delete(folder, name, stamp string, as *identity.Identity) error {
	return as.Run(func() error {
		root, err := os.OpenRoot(folder)
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }()
		within, base := path.Split(name)
		if !filepath.IsLocal(name) || path.Clean(name) != name || strings.HasPrefix(base, ".") {
			return fmt.Errorf("%q is no name of a dataset", name)
		}
		if info, err := root.Lstat(name); err != nil || !info.IsDir() {
			return errors.Join(fmt.Errorf("delete %s: %w", name, ErrAnother), err)
		}
		now, err := stampOf(root, name)
		if err != nil || now != stamp {
			return errors.Join(fmt.Errorf("delete %s: %w", name, ErrAnother), err)
		}
		if d, err := trace.Open(filepath.Join(folder, filepath.FromSlash(name))); err == nil && d.Live() {
			return fmt.Errorf("delete %s: %w: it is being recorded", name, ErrAnother)
		}
		hidden := path.Join(within, deletedPrefix+base)
		if err := root.RemoveAll(hidden); err != nil {
			return err
		}
		if err := root.Rename(name, hidden); err != nil {
			return err
		}
		return root.RemoveAll(hidden)
	})
}
