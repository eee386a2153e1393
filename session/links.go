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
	linkShare    = 200
	// linkPatience is how long they must have been before all links are replaced, which costs some 10 ms for each
	// process. After each change it doubles.
	linkPatience    = 10 * time.Second
	maxLinkPatience = time.Hour
	// maxLinkChanges bounds session.json.
	maxLinkChanges = 100
)

// linkChanges has links replaced by such of the other kind when processes have come or gone. It is of the session's own
// goroutine.
type linkChanges struct {
	// Set once.
	finder    *target.Finder
	processes *processes
	attacher  *attaching.Attacher
	costs     *probes.Costs
	clock     datasetClock
	journal   *journal

	patience time.Duration
	next     time.Time // when to look again
	since    time.Time // since when the other kind was cheaper; zero: it is not
	changes  int
}

// mayChangeLinks reports whether a recording has a choice.
func (s *Session) mayChangeLinks() bool {
	return !s.configuration.systemWide() && !loader.MayHaveShadowStacks() && !s.loader.SharesLinks()
}

// look replaces the links if the other kind is cheaper, and has been for a while.
func (l *linkChanges) look(ctx context.Context) {
	now := time.Now()
	if now.Before(l.next) || l.changes >= maxLinkChanges {
		return
	}
	patient, cancel := context.WithTimeout(ctx, firstPatience)
	defer cancel()
	recorded := l.processes.count()
	others := max(0, l.finder.CountROS2(patient)-recorded)
	l.next = now.Add(max(linkInterval, linkShare*time.Since(now)))
	switch shares := l.attacher.SharesLinks(); {
	case patient.Err() != nil: // nobody knows
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
	if ctx.Err() != nil {
		return
	}
	l.since, l.changes = time.Time{}, l.changes+1
	l.patience = min(2*l.patience, maxLinkPatience)
	if errors.Is(err, attaching.ErrLinksStay) {
		l.changes = maxLinkChanges // what hinders it lasts
	}
	l.journal.warn(err)
	if err == nil {
		at := l.clock.now()
		l.journal.with(func(report *trace.Session) {
			report.LinkChanges = append(report.LinkChanges, trace.LinkChange{Timestamp: at, Links: to})
		})
		l.journal.message(fmt.Sprintf("from now on probes are made %s", &to))
	}
}
