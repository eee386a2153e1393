package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// chooseLinks decides for whom the links are. Of processes to come the first events are recorded by links for every
// process only.
func (s *Session) chooseLinks(ctx context.Context, found []*target.Process) trace.Links {
	if s.configuration.systemWide() {
		return trace.Links{Shared: true}
	}
	return ChooseLinks(ctx, s.finder, len(found), s.options.Costs)
}

// ChooseLinks decides for whom the links of a recording of so many processes are, which run. It counts the others that
// run ROS 2. Where processes may have shadow stacks, links for every process do not probe callers, which makes them
// dearer; they are not chosen then.
func ChooseLinks(ctx context.Context, finder *target.Finder, recorded int, costs *probes.Costs) trace.Links {
	if recorded < 2 || loader.MayHaveShadowStacks() {
		return trace.Links{}
	}
	others := max(0, finder.CountROS2(ctx)-recorded)
	return trace.Links{Shared: attaching.AreSharedLinksCheaper(recorded, others, costs), Recorded: recorded, Others: others}
}

const (
	// linkInterval is how often it is looked whether links of the other kind would be cheaper. A look takes at most
	// 1/linkShare of the time.
	linkInterval = 5 * time.Second
	linkShare    = 1000
	// linkPatience is how long they must have been before all links are replaced, which costs some 10 ms for each
	// process. After each attempt it doubles.
	linkPatience    = 10 * time.Second
	maxLinkPatience = time.Hour
	// maxLinkChanges bounds session.json.
	maxLinkChanges = 100
)

// linkChanges has links replaced by such of the other kind when processes have come or gone. It is of the session's own
// goroutine.
type linkChanges struct {
	// Set once.
	attacher linkAttacher
	// recorded counts the processes of ROS 2 that are recorded, all those that run; the error says that it took too long.
	recorded func() int
	all      func(ctx context.Context) (int, error)
	costs    *probes.Costs
	clock    datasetClock
	journal  *journal

	patience time.Duration
	next     time.Time // when to look again
	since    time.Time // since when the other kind was cheaper; zero: it is not
	attempts int
}

// linkAttacher is the part of an attaching.Attacher that replaces links.
type linkAttacher interface {
	SharesLinks() bool
	MayChangeLinks() bool
	ChangeLinks(ctx context.Context, shared bool) error
}

// mayChangeLinks reports whether a recording has a choice.
func (s *Session) mayChangeLinks() bool {
	return !s.configuration.systemWide() && !loader.MayHaveShadowStacks() && s.loader.MayChangeLinks()
}

// countROS2 counts the processes that run ROS 2, unless that takes long.
func (s *Session) countROS2(ctx context.Context) (int, error) {
	patient, cancel := context.WithTimeout(ctx, firstPatience)
	defer cancel()
	count := s.finder.CountROS2(patient)
	return count, patient.Err()
}

// look replaces the links if the other kind is cheaper, and has been for a while.
func (l *linkChanges) look(ctx context.Context, now time.Time) {
	if now.Before(l.next) || l.attempts >= maxLinkChanges {
		return
	}
	l.next = now.Add(linkInterval)
	recorded, shares := l.recorded(), l.attacher.SharesLinks()
	if !shares && !attaching.IsChangeWorth(shares, recorded, 0, l.costs) {
		l.since = time.Time{} // others would only make links for every process dearer
		return
	}
	begin := time.Now()
	all, err := l.all(ctx)
	l.next = now.Add(max(linkInterval, linkShare*time.Since(begin)))
	if err != nil {
		return // nobody knows
	}
	others := max(0, all-recorded)
	switch {
	case !attaching.IsChangeWorth(shares, recorded, others, l.costs):
		l.since = time.Time{}
	case l.since.IsZero():
		l.since = now
	case now.Sub(l.since) >= l.patience && l.attacher.MayChangeLinks():
		l.change(ctx, trace.Links{Shared: !shares, Recorded: recorded, Others: others})
	}
}

func (l *linkChanges) change(ctx context.Context, to trace.Links) {
	err := l.attacher.ChangeLinks(ctx, to.Shared)
	stay := errors.Is(err, attaching.ErrLinksStay)
	if stay && ctx.Err() != nil {
		return // the recording ends
	}
	l.since, l.attempts = time.Time{}, l.attempts+1
	l.patience = min(2*l.patience, maxLinkPatience)
	l.journal.warn(err)
	if stay {
		return
	}
	at := l.clock.now()
	l.journal.with(func(report *trace.Session) {
		report.LinkChanges = append(report.LinkChanges, trace.LinkChange{Timestamp: at, Links: to})
	})
	l.journal.message(fmt.Sprintf("from now on probes are made %s", &to))
}
