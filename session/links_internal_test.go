package session

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/trace"
)

// fakeLinks replaces nothing, and keeps what it was asked for.
type fakeLinks struct {
	shared, busy bool
	failing      error
	asked        []bool
}

func (f *fakeLinks) SharesLinks() bool    { return f.shared }
func (f *fakeLinks) MayChangeLinks() bool { return !f.busy }
func (f *fakeLinks) ChangeLinks(_ context.Context, shared bool) error {
	f.asked = append(f.asked, shared)
	if !errors.Is(f.failing, attaching.ErrLinksStay) {
		f.shared = shared
	}
	return f.failing
}

// vehicle is what runs on a machine.
type vehicle struct {
	recorded, others int
	late             error
	counted          int
}

func newLinkChanges(f *fakeLinks, v *vehicle) *linkChanges {
	return &linkChanges{
		attacher: f, recorded: func() int { return v.recorded },
		all: func(context.Context) (int, error) {
			v.counted++
			return v.recorded + v.others, v.late
		},
		journal: newJournal(Observer{}), patience: linkPatience,
	}
}

// run looks each second, and returns in which of them links were to be replaced.
func run(l *linkChanges, f *fakeLinks, from time.Time, seconds int, each func(second int)) (changed []int) {
	for second := range seconds {
		if each != nil {
			each(second)
		}
		before := len(f.asked)
		if l.look(context.Background(), from.Add(time.Duration(second)*time.Second)); len(f.asked) > before {
			changed = append(changed, second)
		}
	}
	return changed
}

// Links are replaced when the other kind has been cheaper for a while, and each time that takes longer.
func TestWhenLinksAreReplaced(t *testing.T) {
	begin := time.Now()
	t.Run("others end and come", func(t *testing.T) {
		f, v := &fakeLinks{}, &vehicle{recorded: 20, others: 60}
		l := newLinkChanges(f, v)
		changed := run(l, f, begin, 200, func(second int) {
			switch second {
			case 50:
				v.others = 0
			case 100:
				v.others = 60
			}
		})
		if want := []int{60, 120}; !slices.Equal(changed, want) || !slices.Equal(f.asked, []bool{true, false}) {
			t.Errorf("in seconds %v, to shared %v", changed, f.asked)
		}
		changes := l.journal.report.LinkChanges
		if len(changes) != 2 || changes[0].Links != (trace.Links{Shared: true, Recorded: 20}) || changes[1].Links != (trace.Links{Recorded: 20, Others: 60}) {
			t.Errorf("%+v", changes)
		}
	})
	t.Run("not for a moment", func(t *testing.T) {
		f, v := &fakeLinks{}, &vehicle{recorded: 20}
		if changed := run(newLinkChanges(f, v), f, begin, 200, func(second int) { v.others = 60 * (second / 6 % 2) }); len(changed) != 0 {
			t.Errorf("in seconds %v", changed)
		}
	})
	t.Run("not while bodies are attached", func(t *testing.T) {
		f, v := &fakeLinks{busy: true}, &vehicle{recorded: 20}
		changed := run(newLinkChanges(f, v), f, begin, 100, func(second int) { f.busy = second < 40 })
		if !slices.Equal(changed, []int{40}) {
			t.Errorf("in seconds %v", changed)
		}
	})
	t.Run("not while nobody knows", func(t *testing.T) {
		f, v := &fakeLinks{}, &vehicle{recorded: 20, late: context.DeadlineExceeded}
		if changed := run(newLinkChanges(f, v), f, begin, 100, nil); len(changed) != 0 {
			t.Errorf("in seconds %v", changed)
		}
	})
	t.Run("one process alone", func(t *testing.T) {
		f, v := &fakeLinks{}, &vehicle{recorded: 1}
		if changed := run(newLinkChanges(f, v), f, begin, 100, nil); len(changed) != 0 || v.counted != 0 {
			t.Errorf("in seconds %v; others were counted %d times, which decides nothing", changed, v.counted)
		}
	})
	t.Run("to and fro for ever", func(t *testing.T) {
		f, v := &fakeLinks{}, &vehicle{recorded: 20}
		l := newLinkChanges(f, v)
		run(l, f, begin, 400_000, func(int) {
			v.others = 0
			if f.shared {
				v.others = 60
			}
		})
		if got := len(f.asked); got < maxLinkChanges || got > maxLinkChanges || len(l.journal.report.LinkChanges) != got {
			t.Errorf("%d changes", got)
		}
	})
}

// Links that cannot be replaced are tried again, later each time. What was replaced is said, whatever else went wrong.
func TestLinksThatCannotBeReplaced(t *testing.T) {
	begin := time.Now()
	for name, test := range map[string]struct {
		failing  error
		attempts int
		said     int
	}{
		"they stay":         {attaching.ErrLinksStay, 4, 0},
		"one is not closed": {errors.New("closing"), 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f, v := &fakeLinks{failing: test.failing}, &vehicle{recorded: 20}
			l := newLinkChanges(f, v)
			run(l, f, begin, 200, nil)
			if len(f.asked) != test.attempts || len(l.journal.report.LinkChanges) != test.said || len(l.journal.warnings.list()) == 0 {
				t.Errorf("%d attempts, %d changes, warnings %v", len(f.asked), len(l.journal.report.LinkChanges), l.journal.warnings.list())
			}
		})
	}
	t.Run("the recording ends", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f, v := &fakeLinks{failing: attaching.ErrLinksStay}, &vehicle{recorded: 20}
		l := newLinkChanges(f, v)
		l.look(ctx, begin)
		cancel()
		if l.look(ctx, begin.Add(time.Minute)); len(f.asked) != 1 || len(l.journal.warnings.list()) != 0 {
			t.Errorf("%d attempts, warnings %v", len(f.asked), l.journal.warnings.list())
		}
	})
}
