package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/caret-bpf/caret-bpf/trace"
)

// ErrOver is returned for what is asked of a recording that has ended.
var ErrOver = errors.New("the recording has ended")

// Handle drives a recording from outside while it runs. Its methods may be called by several goroutines.
type Handle struct {
	session *Session
	status  atomic.Pointer[Status]
	begun   atomic.Bool
	stopped chan struct{} // has room for one

	// ended ends what is under way when the recording is about to end, which then waits for it.
	ended    context.Context
	end      context.CancelFunc
	underway sync.RWMutex
}

func newHandle(s *Session) *Handle {
	h := &Handle{session: s, stopped: make(chan struct{}, 1)}
	h.ended, h.end = context.WithCancel(context.Background())
	return h
}

// Status is how the recording was about a second ago, at most.
func (h *Handle) Status() Status {
	if s := h.status.Load(); s != nil {
		return *s
	}
	return Status{}
}

// Now is the present on the dataset's clock, in Unix nanoseconds.
func (h *Handle) Now() int64 { return h.session.clock.now() }

// Stop ends the recording as an interrupt would. It does not wait.
func (h *Handle) Stop() {
	select {
	case h.stopped <- struct{}{}:
	default: // somebody was here before
	}
}

// Flush returns when all that was recorded before the call is on disk, in closed segments. A callback that had not
// ended by then is in the table open_callback, and once more in the table callback when it ends; a publish is written
// when it ends. It fails with ErrOver, ctx's error or what ends the recording.
func (h *Handle) Flush(ctx context.Context) error { return h.do(ctx, h.session.flush) }

// state is that of a recording which goes on.
func (h *Handle) state() trace.State {
	if h.hasBegun() {
		return trace.StateRecording
	}
	return trace.StateArmed
}

// do does something that takes a while, unless the recording has not begun, is over, or ends meanwhile.
func (h *Handle) do(ctx context.Context, what func(context.Context) error) error {
	if !h.hasBegun() {
		return ErrNotStarted
	}
	return h.whileItLasts(ctx, what)
}

// whileItLasts is do for what can be done before the recording begins.
func (h *Handle) whileItLasts(ctx context.Context, what func(context.Context) error) error {
	h.underway.RLock()
	defer h.underway.RUnlock()
	if h.ended.Err() != nil {
		return ErrOver
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.ended, cancel)()
	err := what(ctx)
	if err != nil && h.ended.Err() != nil {
		return ErrOver
	}
	return err
}

// close ends what is under way, and returns when that is over.
func (h *Handle) close() {
	h.end()
	h.underway.Lock()
	defer h.underway.Unlock()
}

// flush brings to disk what was recorded before. It may be called beside the session's own goroutine.
func (s *Session) flush(ctx context.Context) error {
	if err := s.bringHome(ctx); err != nil {
		return err
	}
	return s.writer.Flush(ctx)
}

// bringHome has the writer have all rows of what was recorded before.
func (s *Session) bringHome(ctx context.Context) error {
	// First: what ends later than this is in the ring buffer when that is drained. A program that runs meanwhile, or is
	// preempted, may have noted nothing yet of a callback that began before, or have no record yet of one that has ended.
	if err := s.loader.AwaitPrograms(); err != nil {
		return err
	}
	open, err := s.readOpenThreads()
	if err != nil {
		return err
	}
	if err := s.loader.AwaitPrograms(); err != nil {
		return err
	}
	if err := s.loader.Drain(ctx); err != nil {
		return fmt.Errorf("reading what was recorded: %w", err)
	}
	s.merger.EmitEntities(false)
	if err := open.tell(s.merger); err != nil {
		return err
	}
	return s.merger.Take(s.rows.Write)
}
