package former

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/caret-bpf/caret-bpf/identity"
)

// Bounds say how much a folder keeps. 0 means no bound.
type Bounds struct {
	// Bytes is how large all recordings and snapshots may be together, with the one that goes on.
	Bytes int64
	// Age is how long they are kept after something was last written in them, by the machine's clock.
	Age time.Duration
	// FreeBytes is how much of the disk is to be left. For it alone nothing is removed.
	FreeBytes int64
}

// Options say where recordings are kept within bounds, and for whom.
type Options struct {
	Bounds
	// Output is the directory of the recording that goes on. Others are looked for beside it.
	Output string
	// Ring says that Output has snapshots only, which are looked at, too.
	Ring bool
	// As is whose recordings they are; nil is the program with all its rights.
	As *identity.Identity
	// MayGo is asked, with its path, before a recording is removed: it stays where that says no. nil says yes.
	MayGo func(path string) bool
	// Now is the machine's clock; nil is time.Now.
	Now func() time.Time
}

// Keeper keeps a folder within bounds. One goroutine uses it at a time.
type Keeper struct {
	options Options
	known   map[string]dataset
}

// New returns the keeper of the folder in which a recording is.
func New(o Options) *Keeper {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Keeper{options: o}
}

// Kept is what there is after a look.
type Kept struct {
	// Recordings are those that have ended, and snapshots; Bytes is how large they are together.
	Recordings int
	Bytes      int64
	// Removed are the paths of those that were removed.
	Removed []string
	// FreeBytes is how much of the disk is left.
	FreeBytes int64
	// Exhausted says that less is left than Bounds.FreeBytes, and that nothing else can be removed.
	Exhausted bool
}

// Keep removes the oldest recordings until what is left is within the bounds, or nothing can be removed any more.
// current is the size of the recording that goes on. What cannot be removed stays, and the error says so.
func (k *Keeper) Keep(ctx context.Context, current int64) (kept Kept, err error) {
	err = k.options.As.Run(func() error {
		kept, err = k.keep(ctx, current)
		return err
	})
	return kept, err
}

func (k *Keeper) keep(ctx context.Context, current int64) (kept Kept, err error) {
	o := k.options
	where, own := filepath.Split(filepath.Clean(o.Output))
	f, err := openFolder(where, k.options.As.ID())
	if err != nil {
		return kept, fmt.Errorf("looking for former recordings: %w", err)
	}
	defer func() { _ = f.root.Close() }()
	f.own, f.ring, f.known = own, o.Ring, k.known
	errs := []error{f.finish(".")}
	found, err := f.find()
	if err != nil {
		return kept, fmt.Errorf("looking for former recordings: %w", err)
	}
	k.known = f.known
	for _, d := range found {
		kept.Bytes += d.bytes
	}
	kept.Recordings = len(found)
	within := false
	for _, d := range found {
		over, err := k.isOver(f, d, kept.Bytes+current)
		if err != nil {
			return kept, err
		}
		if !over || ctx.Err() != nil {
			within = true
			break
		}
		if o.MayGo != nil && !o.MayGo(filepath.Join(where, d.name)) {
			continue
		}
		if err := f.remove(d); err != nil {
			if !errors.Is(err, errNot) && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fmt.Errorf("removing the former recording %s: %w", filepath.Join(where, d.name), err))
			}
			continue
		}
		delete(k.known, d.name)
		kept.Recordings--
		kept.Bytes -= d.bytes
		kept.Removed = append(kept.Removed, filepath.Join(where, d.name))
		f.removeRing(d.name)
	}
	kept.FreeBytes, err = f.free()
	kept.Exhausted = !within && kept.FreeBytes < o.FreeBytes
	return kept, errors.Join(append(errs, err)...)
}

// isOver reports whether a recording is to go, of those that are left and have so many bytes together.
func (k *Keeper) isOver(f *folder, d dataset, total int64) (bool, error) {
	b := k.options.Bounds
	if b.Bytes > 0 && total > b.Bytes || b.Age > 0 && k.options.Now().Sub(d.last) > b.Age {
		return true, nil
	}
	if b.FreeBytes <= 0 || b.Bytes == 0 && b.Age == 0 {
		return false, nil
	}
	free, err := f.free()
	return free < b.FreeBytes, err
}

// removeRing removes the folder of a ring whose last snapshot was removed, unless that goes on.
func (f *folder) removeRing(snapshot string) {
	ring := path.Dir(snapshot)
	if ring == "." || ring == f.own {
		return
	}
	if info, err := f.root.Lstat(ring); err == nil && info.Mode()&os.ModeType == os.ModeDir {
		_ = f.root.Remove(ring) // it stays while it has others
	}
}
