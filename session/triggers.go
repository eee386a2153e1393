package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/launch"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trigger"
)

const (
	// maxPending is how many triggers may wait to be acted upon, by as many as maxActing at a time.
	maxPending = 64
	maxActing  = 8
	// actPatience bounds what is done because of one trigger, once its time after has passed.
	actPatience = time.Minute
	// endPatience bounds what is done because of all when the recording ends.
	endPatience = 30 * time.Second
)

// triggers has done what is to be done when something comes. Its methods may be called by several goroutines.
type triggers struct {
	watch   *trigger.Watch
	act     func(ctx context.Context, f trigger.Firing) (output string, failed int)
	journal *journal

	pending chan trigger.Firing
	// ending ends the waiting for what comes after a trigger.
	ending context.Context
	hurry  context.CancelFunc
	// working ends what is done.
	working context.Context
	abort   context.CancelFunc
	acting  sync.WaitGroup

	mu   sync.Mutex
	over bool // nothing is pending any more
}

func newTriggers(
	definitions []trigger.Definition, act func(context.Context, trigger.Firing) (output string, failed int), journal *journal,
) *triggers {
	t := &triggers{act: act, journal: journal}
	if len(definitions) > 0 {
		t.watch = trigger.NewWatch(definitions)
	}
	t.pending = make(chan trigger.Firing, maxPending)
	t.ending, t.hurry = context.WithCancel(context.Background())
	t.working, t.abort = context.WithCancel(context.Background())
	return t
}

// begin has done what is to be done from now on.
func (t *triggers) begin() {
	if t.watch == nil {
		return
	}
	for range maxActing {
		t.acting.Go(func() {
			for f := range t.pending {
				t.handle(f)
			}
		})
	}
}

func (t *triggers) handle(f trigger.Firing) {
	timer := time.NewTimer(f.Definition.After)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ending.Done():
	}
	ctx, cancel := context.WithTimeout(t.working, actPatience)
	defer cancel()
	if ctx.Err() != nil {
		t.journal.warn(fmt.Errorf("trigger %s: nothing is done about it, because the recording has ended", f.Trigger.Name))
		t.watch.Acted(f, "", len(f.Definition.Actions))
		return
	}
	output, failed := t.act(ctx, f)
	t.watch.Acted(f, output, failed)
}

// end has done at once what is pending, and returns when it is.
func (t *triggers) end() {
	t.hurry()
	t.mu.Lock()
	t.over = true
	close(t.pending)
	t.mu.Unlock()
	defer time.AfterFunc(endPatience, t.abort).Stop()
	t.acting.Wait()
}

func (t *triggers) look(b *trace.Batch) {
	if t.watch != nil {
		t.fire(t.watch.Look(b))
	}
}

func (t *triggers) tick(now int64) {
	if t.watch == nil {
		return
	}
	t.fire(t.watch.Tick(now))
	if t.watch.Beyond() > 0 {
		t.journal.warn(errBeyond)
	}
}

// fire never blocks.
func (t *triggers) fire(firings []trigger.Firing) {
	if len(firings) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range firings {
		if t.over {
			t.watch.Drop(f)
			continue
		}
		select {
		case t.pending <- f:
		default:
			t.watch.Drop(f)
			t.journal.gather(fmt.Errorf("trigger %s: nothing is done about it, because too much is pending", f.Trigger.Name))
		}
	}
}

func (t *triggers) counts() []trace.TriggerCount {
	if t.watch == nil {
		return nil
	}
	return t.watch.Counts()
}

// errBeyond is a warning.
var errBeyond = errors.New("triggers do not watch everything: there are too many topics, or too many messages on the way along a path; name fewer")

// ErrNoTrigger is returned for the name of a trigger that there is not.
var ErrNoTrigger = errors.New("there is no such trigger")

// Fire has done what a trigger asks for, within its bounds.
func (h *Handle) Fire(name, reason string) error {
	t := h.session.triggers
	if t.watch == nil {
		return ErrNoTrigger
	}
	if !h.hasBegun() {
		return ErrNotStarted
	}
	if t.ending.Err() != nil {
		return ErrOver
	}
	firings, ok := t.watch.Fire(name, h.session.clock.now(), reason)
	if !ok {
		return fmt.Errorf("%w: %q", ErrNoTrigger, name)
	}
	t.fire(firings)
	return nil
}

// Triggers says how often each trigger has come, and what came of it.
func (h *Handle) Triggers() []trace.TriggerCount { return h.session.triggers.counts() }

// act does what is to be done about something that has come. It returns the dataset that it made last, and how many
// actions have failed.
func (s *Session) act(ctx context.Context, f trigger.Firing) (output string, failed int) {
	text := fmt.Sprintf("trigger %s: %s", f.Trigger.Name, f.Trigger.Reason)
	fail := func(err error) {
		failed++
		s.journal.warn(err)
	}
	for _, action := range f.Definition.Actions {
		switch action {
		case trigger.Snapshot:
			span := f.Span
			span.Last = min(span.Last, s.clock.now())
			made, err := s.snapshot(ctx, SnapshotRequest{Span: span, Name: f.Trigger.Name, Reason: text, Trigger: &f.Trigger})
			if err != nil {
				fail(fmt.Errorf("%s: no snapshot: %w", text, err))
				break
			}
			output = made.Path
			text += "; snapshot in " + output
		case trigger.Rotate:
			made, err := s.rotate(ctx, RotationRequest{Name: f.Trigger.Name, Reason: text, Trigger: &f.Trigger})
			if err != nil {
				fail(fmt.Errorf("%s: not rotated: %w", text, err))
				break
			}
			output = made.Path
			text += "; what was recorded so far is in " + output
		case trigger.Stop:
			s.driver.Stop()
		default:
			if err := s.runProgram(ctx, action.Program(), f.Trigger, output); err != nil {
				fail(err)
			}
		}
	}
	s.journal.message(text)
	return output, failed
}

// nobody runs programs where the recorder runs for root alone.
var nobody = &identity.Identity{User: 65534, Group: 65534}

// runProgram runs a program without root's rights.
func (s *Session) runProgram(ctx context.Context, path string, t trace.Trigger, snapshot string) error {
	as := s.options.Caller
	if as.ID() == 0 {
		as = nobody
	}
	plain := func(text string) string { return strings.ReplaceAll(text, "\x00", "") }
	err := launch.Run(ctx, as, path, []string{
		"PATH=" + os.Getenv("PATH"), "CARET_BPF_TRIGGER=" + t.Name, "CARET_BPF_REASON=" + plain(t.Reason), "CARET_BPF_SNAPSHOT=" + plain(snapshot),
	})
	if err != nil {
		return fmt.Errorf("trigger %s: %s: %w", t.Name, path, err)
	}
	return nil
}
