package writer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// queueLength bounds the batches between Write and the encoder.
	queueLength = 32
	// tickJitter is how much earlier than after a SegmentPeriod segments are closed: Ticks do not come on time.
	tickJitter = 100 * time.Millisecond
	// commitLength bounds the finished segments that wait for the disk; backlogBytes bounds their bytes.
	commitLength = 32
)

// Writer writes a dataset. Its methods are safe for concurrent use.
//
// The first input or output error ends the writing: every later call returns it, rows are discarded, and unfinished
// segments are removed. Segments that were closed before stay.
type Writer struct {
	dir     *directory
	options Options
	tables  *tables
	queue   chan task
	kept    *retained
	done    sync.WaitGroup

	mu           sync.Mutex
	err          error
	closed       bool
	lastRotation time.Time

	session sessionFile
}

// Create makes the directory path, with its parents, and starts a dataset in it. With Options.Memory the path counts
// for nothing. It fails with ErrExists when the path exists and is not an empty directory, with ErrUnwritable or
// ErrDiskFull when the file system refuses. The dataset is one for its readers after the first WriteSession.
func Create(path string, options Options) (*Writer, error) {
	options = options.withDefaults()
	var dir *directory
	var memory *os.File
	if options.Memory > 0 {
		var err error
		if memory, err = newMemory(options.Memory, options.As.ID()); err != nil {
			return nil, fmt.Errorf("create dataset: %w", err)
		}
		path = fmt.Sprintf("/proc/self/fd/%d", memory.Fd())
		defer func() {
			if dir == nil {
				_ = memory.Close()
			}
		}()
	}
	err := options.As.Run(func() (err error) {
		dir, err = openEmpty(path, options)
		return err
	})
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		err = fmt.Errorf("%w: choose another directory with -o", err)
	}
	if err != nil {
		return nil, fmt.Errorf("create dataset: %w", err)
	}
	dir.memory = memory
	w := &Writer{dir: dir, options: options, queue: make(chan task, queueLength)}
	w.session = sessionFile{dir: dir, reserved: options.Memory == 0}
	w.tables = newTables(w.queue, dir, limits{segmentBytes: options.SegmentBytes, rowGroupRows: options.RowGroupRows}, options.Now)
	w.kept = newRetained(dir, options, w.tables.entityBytes)

	commits := make(chan commitment, commitLength)
	waiting := newBacklog()
	e := &encoder{tables: w.tables, queue: w.queue, commits: commits, waiting: waiting, kept: w.kept, fail: w.fail}
	if err := w.start(func() { commitAll(dir, commits, w.kept, waiting, w.fail) }); err != nil {
		return nil, fmt.Errorf("create dataset: %w", errors.Join(err, dir.close()))
	}
	if err := w.start(e.run); err != nil {
		close(commits)
		return nil, fmt.Errorf("create dataset: %w", errors.Join(err, dir.close()))
	}
	return w, nil
}

// openEmpty makes the directory and sees that it can be written to.
func openEmpty(path string, options Options) (*directory, error) {
	dir, err := createDirectory(path, options.As.ID(), newPermissions(options.Mode))
	if err != nil || options.Memory > 0 {
		return dir, err
	}
	if err := dir.reserve(); err != nil {
		return nil, errors.Join(err, dir.remove(nil), dir.close())
	}
	return dir, nil
}

// start runs a stage as who makes the dataset. That is not only for what it opens: to root, a file system also gives
// what it keeps of its blocks for root, and more than a quota allows.
func (w *Writer) start(stage func()) error {
	w.done.Add(1)
	err := w.options.As.Go(func() {
		defer w.done.Done()
		stage()
	})
	if err != nil {
		w.done.Done()
	}
	return err
}

// Write adds the rows of a batch to their tables. It copies the rows, and blocks while the disk is behind.
func (w *Writer) Write(b *trace.Batch) error {
	if err := w.usable(); err != nil {
		return err
	}
	for place, table := range trace.Registry() {
		if rows := b.Of(table); rows.Len() > 0 {
			w.tables.at(place).append(rows)
		}
	}
	return nil
}

// Append adds rows to a table, as Write does.
func (w *Writer) Append(table *trace.Table, rows trace.AnyRows) error {
	if err := w.usable(); err != nil {
		return err
	}
	w.tables.at(slices.Index(trace.Registry(), table)).append(rows)
	return nil
}

// Adopt adds a whole segment of another dataset to a table, behind the rows that it has got so far. It returns when the
// segment is copied.
func (w *Writer) Adopt(table *trace.Table, segment *os.File, rows int64) error {
	if err := w.usable(); err != nil {
		return err
	}
	t := w.tables.at(slices.Index(trace.Registry(), table))
	t.submit()
	adopted := make(chan struct{})
	w.queue <- adoption{t, segment, rows, adopted}
	<-adopted
	return w.failure()
}

// Reopen opens the dataset's directory once more, for reading, whatever its path leads to by now.
func (w *Writer) Reopen() (f *os.File, err error) {
	err = w.options.As.Run(func() error {
		f, err = w.dir.reopen()
		return err
	})
	return f, err
}

// Tick closes the segments of all tables that have rows when SegmentPeriod has passed since it last did. The session
// calls it about once a second: without it, rows would wait for the next ones.
func (w *Writer) Tick(now time.Time) error {
	if err := w.usable(); err != nil {
		return err
	}
	w.mu.Lock()
	if w.lastRotation.IsZero() {
		w.lastRotation = now
	}
	due := now.Sub(w.lastRotation) >= w.options.SegmentPeriod-tickJitter
	if due {
		w.lastRotation = now
	}
	w.mu.Unlock()
	if due {
		w.rotate(rotation{})
	}
	return nil
}

// Flush closes the segments of all tables and returns when they are on disk, or with ctx's error when that takes too
// long.
func (w *Writer) Flush(ctx context.Context) error {
	if err := w.usable(); err != nil {
		return err
	}
	return w.await(ctx, nil)
}

// await ends all segments and returns when they are on disk.
func (w *Writer) await(ctx context.Context, cut *Cut) error {
	reached := make(chan struct{})
	w.rotate(rotation{reached, cut})
	select {
	case <-reached:
		return w.failure()
	case <-ctx.Done():
		return fmt.Errorf("flush %s: %w", w.dir.path, ctx.Err())
	}
}

// rotate ends all segments behind the rows accepted so far.
func (w *Writer) rotate(r rotation) {
	for _, t := range w.tables.all() {
		t.submit()
	}
	w.queue <- r
}

// Close closes the segments of all tables and releases the dataset. No other method may be running or called
// afterwards.
func (w *Writer) Close() error {
	if !w.end() {
		return ErrClosed
	}
	return errors.Join(w.options.As.Run(w.release), w.failure(), w.dir.close())
}

// Discard is Close for a recording that never began: it removes what the Writer made, so that the same path can be used
// again.
func (w *Writer) Discard() error {
	if !w.end() {
		return ErrClosed
	}
	names := []string{trace.SessionFile, sessionTemporary, reserveFile}
	for _, t := range w.tables.all() {
		names = append(names, t.name())
	}
	removed := w.options.As.Run(func() error { return errors.Join(w.release(), w.dir.remove(names)) })
	return errors.Join(removed, w.dir.close())
}

// end brings everything to disk and ends the goroutines; false if that was done before.
func (w *Writer) end() bool {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return false
	}
	w.closed = true
	w.mu.Unlock()

	w.rotate(rotation{})
	close(w.queue)
	w.done.Wait()
	return true
}

// release removes what is unfinished, and gives the reserved space back.
func (w *Writer) release() error {
	for _, t := range w.tables.all() {
		t.release()
	}
	w.session.release()
	return nil
}

// TakenRows returns the number of rows that Write took, by table.
func (w *Writer) TakenRows() map[string]uint64 {
	return w.tables.counts(func(t *table) uint64 { return t.taken.Load() })
}

// AcceptedRows returns the number of rows that Write took, by table, without those that Compact or retention has
// removed.
func (w *Writer) AcceptedRows() map[string]uint64 {
	return w.tables.counts(func(t *table) uint64 { return t.accepted.Load() })
}

// StoredRows returns the number of rows that are in closed segments which retention has left, by table.
func (w *Writer) StoredRows() map[string]uint64 {
	return w.tables.counts(func(t *table) uint64 { return t.stored.Load() })
}

// WrittenBytes returns the size of all segments, with those that are not closed yet: of these, what has been encoded.
// Those that retention has removed do not count.
func (w *Writer) WrittenBytes() (bytes int64) {
	for _, t := range w.tables.all() {
		bytes += t.bytes()
	}
	return bytes
}

// Removed returns what retention has removed so far.
func (w *Writer) Removed() Removed { return w.kept.removed() }

// Hold has retention remove nothing until the function that it returns is called, unless memory gets full.
func (w *Writer) Hold() (release func()) { return w.kept.hold() }

// FreeBytes returns how much the dataset's user can still write to its file system.
func (w *Writer) FreeBytes() (int64, error) { return w.dir.free() }

// usable returns why the Writer takes no rows, if it does not.
func (w *Writer) usable() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	return w.err
}

func (w *Writer) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *Writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}
