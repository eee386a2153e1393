package session

import (
	"context"
	"fmt"

	"github.com/caret-bpf/caret-bpf/trace"
)

// RotationRequest asks that what was recorded so far be a dataset of its own.
type RotationRequest struct {
	// Path is the directory of the new dataset; "" chooses one by time and name.
	Path string
	// Name is a part of the path that is chosen. Reason is who asks, and why.
	Name, Reason string
	// Trigger is what has come; nil if somebody asks.
	Trigger *trace.Trigger
}

// Rotate moves all rows that were recorded so far into a new dataset, but for those of entities and processes, which
// both have then. The recording goes on: each later row is in it, and no row is in both or in none. Errors are ErrOver,
// ErrConfiguration where the newest rows are kept in memory, ctx's and those of package writer.
func (h *Handle) Rotate(ctx context.Context, r RotationRequest) (made Snapshot, err error) {
	err = h.do(ctx, func(ctx context.Context) error {
		made, err = h.session.rotate(ctx, r)
		return err
	})
	return made, err
}

// rotate may be called beside the session's own goroutine.
func (s *Session) rotate(ctx context.Context, r RotationRequest) (Snapshot, error) {
	if s.configuration.isRing() {
		return Snapshot{}, fmt.Errorf("%w: with --ring nothing is on disk but snapshots: take one", ErrConfiguration)
	}
	done, err := s.alone(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	defer done()
	if err := s.countLossesNow(ctx); err != nil {
		return Snapshot{}, err
	}
	if err := s.bringHome(ctx); err != nil {
		return Snapshot{}, err
	}
	defer s.writer.Hold()()
	cut, err := s.writer.Cut(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	first := max(s.writer.Removed().Until, s.losses.began)
	made, err := s.copyTo(ctx, r.Path, r.Name,
		trace.Snapshot{Span: trace.Span{First: first, Last: cut.At}, Timestamp: cut.At, Reason: r.Reason, Trigger: r.Trigger}, cut)
	if err != nil {
		return made, err
	}
	moved, err := s.writer.RemoveBefore(cut)
	s.journal.warn(err) // they are in both
	total := uint64(0)
	for _, rows := range moved {
		total += rows
	}
	s.noteRemoved()
	s.noteChange(trace.ChangeRotated, struct {
		Output string `json:"output"`
		Rows   uint64 `json:"rows"`
	}{made.Path, total})
	return made, nil
}
