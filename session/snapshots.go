package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/caret-bpf/caret-bpf/excerpt"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// SnapshotRequest asks for a copy of what was recorded of a time span.
type SnapshotRequest struct {
	// Span is on the dataset's clock, which is real time as it was when the recording began. First 0 is as far as the
	// recording goes back, Last 0 is now.
	Span trace.Span
	// Lately, if it is not 0, is how long before now the span begins.
	Lately time.Duration
	// Path is the directory of the new dataset; "" chooses one by time and name.
	Path string
	// Name is a part of the path that is chosen. Reason is who asks, and why.
	Name, Reason string
	// Trigger is what has come; nil if somebody asks.
	Trigger *trace.Trigger
}

// Snapshot is a copy that was made.
type Snapshot struct {
	// Path is the absolute path of its directory.
	Path string
	trace.Snapshot
	// Rows are the numbers of rows, by table.
	Rows map[string]uint64
}

// ErrSpan is returned for a time span that ends before it begins, or lies in the future.
var ErrSpan = errors.New("there is nothing in that time span")

// Snapshot copies what was recorded of a time span into a new dataset. The recording goes on meanwhile. A callback that
// has not ended yet is in the table open_callback, a publish that has not is not in it. Errors are ErrOver, ErrSpan,
// ctx's and those of package writer.
func (h *Handle) Snapshot(ctx context.Context, r SnapshotRequest) (made Snapshot, err error) {
	err = h.do(ctx, func(ctx context.Context) error {
		made, err = h.session.snapshot(ctx, r)
		return err
	})
	return made, err
}

// snapshotLeaves is how many bytes a snapshot leaves of the disk: the recording itself may go on there.
const snapshotLeaves = 64 << 20

// maxNames bounds how many directories are tried of snapshots that are asked for in the same second.
const maxNames = 100

// snapshot may be called beside the session's own goroutine. One is made at a time.
func (s *Session) snapshot(ctx context.Context, r SnapshotRequest) (Snapshot, error) {
	done, err := s.alone(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	defer done()
	at := s.clock.now()
	if r.Span.Last == 0 {
		r.Span.Last = at
	}
	r.Span.Last = min(r.Span.Last, at)
	if r.Lately > 0 {
		r.Span.First = at - r.Lately.Nanoseconds()
	}
	if r.Span.Last < r.Span.First || r.Span.First > at {
		return Snapshot{}, ErrSpan
	}
	if err := s.countLossesNow(ctx); err != nil {
		return Snapshot{}, err
	}
	if err := s.flush(ctx); err != nil {
		return Snapshot{}, err
	}
	defer s.writer.Hold()()
	return s.copyTo(ctx, r.Path, r.Name, trace.Snapshot{Span: r.Span, Timestamp: at, Reason: r.Reason, Trigger: r.Trigger}, nil)
}

// alone waits until no other copy is made. The next one waits for done.
func (s *Session) alone(ctx context.Context) (done func(), err error) {
	select {
	case s.snapshots <- struct{}{}:
		return func() { <-s.snapshots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// copyTo makes a dataset of a part of what was recorded, at a path, or at one that is chosen by a name: of all that is
// before a cut, or of a time span if there is none.
func (s *Session) copyTo(ctx context.Context, path, name string, part trace.Snapshot, cut *writer.Cut) (Snapshot, error) {
	directory, err := s.writer.Reopen()
	if err != nil {
		return Snapshot{}, err
	}
	defer func() { _ = directory.Close() }()
	dataset, err := trace.OpenAs(fmt.Sprintf("/proc/self/fd/%d", directory.Fd()), s.options.Caller.Run)
	if err != nil {
		return Snapshot{}, err
	}
	made := Snapshot{Snapshot: part}
	describe := func() trace.Session {
		made.HeldFrom = max(s.writer.Removed().Until, s.losses.began) // it may have got later meanwhile
		session := s.journal.copy()
		session.Snapshot, session.Uploads = &made.Snapshot, nil
		session.Triggers = s.triggers.counts()
		return session
	}
	options := writer.Options{As: s.options.Caller, Mode: s.configuration.mode}
	for number := 1; ; number++ {
		made.Path = path
		if path == "" {
			made.Path = s.snapshotPath(name, number)
		}
		// Who is told of it may be in another folder, as programs of triggers are.
		if made.Path, err = filepath.Abs(made.Path); err != nil {
			return Snapshot{}, err
		}
		leave := snapshotLeaves + s.configuration.MinFreeBytes
		if cut == nil {
			made.Rows, err = excerpt.Write(ctx, dataset, part.Span, made.Path, leave, options, describe)
		} else {
			made.Rows, err = excerpt.WriteBefore(ctx, dataset, cut, made.Path, leave, options, describe)
		}
		if path == "" && number < maxNames && errors.Is(err, writer.ErrExists) {
			continue
		}
		return made, err
	}
}

// snapshotPath is where a snapshot is made for which nobody has chosen a place.
func (s *Session) snapshotPath(name string, number int) string {
	text := time.Now().Format("20060102-150405")
	if name != "" {
		text += "-" + name
	}
	if number > 1 {
		text += fmt.Sprintf("-%d", number)
	}
	if s.configuration.isRing() {
		return filepath.Join(s.configuration.Output, text)
	}
	return filepath.Clean(s.configuration.Output) + "-" + text
}
