package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/caret-bpf/caret-bpf/former"
)

// formerInterval is how often former recordings are looked at.
const formerInterval = time.Minute

// formerRecordings keeps what the folder of a recording has beside it within bounds. Its goroutine does, because
// removing may take long. A nil one keeps everything.
type formerRecordings struct {
	keeper  *former.Keeper
	bounds  former.Bounds
	journal *journal
	asked   chan struct{} // to look at once; has room for one
	kept    atomic.Pointer[former.Kept]
	removed atomic.Uint64
	looks   atomic.Uint64 // how many have ended

	// awaited is the look that tells whether there is room, 0 while there is. Of the session's own goroutine.
	awaited uint64
}

// newFormerRecordings is nil if there is no bound.
func newFormerRecordings(c *compiled, options Options, journal *journal) (*formerRecordings, error) {
	if c.KeepTotalBytes == 0 && c.KeepTotalAge == 0 {
		return nil, nil
	}
	output, err := filepath.Abs(c.Output)
	if err != nil {
		return nil, err
	}
	bounds := former.Bounds{Bytes: c.KeepTotalBytes, Age: c.KeepTotalAge, FreeBytes: c.MinFreeBytes}
	keeper := former.New(former.Options{
		Bounds: bounds, Output: output, Ring: c.isRing(), As: options.Caller, MayGo: options.MayGo,
	})
	return &formerRecordings{keeper: keeper, bounds: bounds, journal: journal, asked: make(chan struct{}, 1)}, nil
}

// keep removes what is too much beside the recording, which has so many bytes.
func (r *formerRecordings) keep(ctx context.Context, current int64) {
	if r == nil {
		return
	}
	kept, err := r.keeper.Keep(ctx, current)
	if !errors.Is(err, fs.ErrNotExist) { // the folder may be to be made
		r.journal.warn(err)
	}
	for _, path := range kept.Removed {
		r.journal.message(fmt.Sprintf("removed %s: --keep-total-size and --keep-total-age say what is kept", path))
	}
	r.removed.Add(uint64(len(kept.Removed)))
	r.kept.Store(&kept)
	r.looks.Add(1)
}

// begin has it done from now on, until the function that it returns is called. current is the size of the recording.
func (r *formerRecordings) begin(current func() int64) (end func()) {
	if r == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(formerInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			case <-r.asked:
			}
			r.keep(ctx, current())
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// makeRoom has recordings removed because the disk gets full. It reports whether there is hope: it is false when
// nothing can be removed any more.
func (r *formerRecordings) makeRoom() bool {
	if r == nil {
		return false
	}
	if r.awaited == 0 {
		r.awaited = r.looks.Load() + 2 // one may be under way, which has seen less
	}
	if r.looks.Load() >= r.awaited {
		r.awaited = 0
		return !r.kept.Load().Exhausted
	}
	select {
	case r.asked <- struct{}{}:
	default: // it is under way
	}
	return true
}

// hasRoom notes that the disk does not get full.
func (r *formerRecordings) hasRoom() {
	if r != nil {
		r.awaited = 0
	}
}

// room is how large the recording may get, 0 if it may be as large as it gets: what is asked for, or for what the disk
// has room if that is less.
func (r *formerRecordings) room() int64 {
	if r == nil || r.bounds.Bytes == 0 {
		return 0
	}
	room := r.bounds.Bytes
	if kept := r.kept.Load(); kept != nil && kept.FreeBytes > 0 {
		room = min(room, kept.Bytes+kept.FreeBytes-r.bounds.FreeBytes-formerRoom)
	}
	return max(room, minKeepBytes)
}

// formerRoom is how much of the disk is left beside a recording that may take all room: its unfinished segments.
const formerRoom = 256 << 20

// state is what was kept when it was last looked at.
func (r *formerRecordings) state() FormerRecordings {
	if r == nil {
		return FormerRecordings{}
	}
	now := FormerRecordings{Removed: r.removed.Load()}
	if kept := r.kept.Load(); kept != nil {
		now.Kept, now.Bytes = kept.Recordings, kept.Bytes
	}
	return now
}

// FormerRecordings are what is in the folder of a recording beside it, as far as this may be removed. All is 0 where
// nothing bounds it.
type FormerRecordings struct {
	// Kept are recordings and snapshots, Bytes is how large they are together.
	Kept  int
	Bytes int64
	// Removed is how many were removed since the recording began.
	Removed uint64
}
