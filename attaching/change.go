package attaching

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// ErrLinksStay says that links could not be replaced by such of the other kind.
var ErrLinksStay = errors.New("the links of probes stay as they are")

// errNotReplaced says that something is attached which cannot be by links of the other kind.
var errNotReplaced = errors.New("it cannot be probed by links of the other kind")

// SharesLinks reports whether links are for every process, where that is allowed.
func (a *Attacher) SharesLinks() bool { return a.options.Shared }

// MayChangeLinks reports whether ChangeLinks would not attach bodies that are about to be detached: they are dear.
func (a *Attacher) MayChangeLinks() bool {
	if len(a.bodies.attachments) > 0 && !a.bodiesStay() {
		return false
	}
	for _, p := range a.processes {
		if len(p.bodies.attachments) > 0 && !p.bodies.stay {
			return false
		}
	}
	return true
}

// ChangeLinks replaces all links while the recording goes on: by such for every process, which look up whether it is
// recorded, or by such of single processes. Each hit is recorded by either the former links or the new ones. If something
// that is attached cannot be attached by new links, the former ones stay, and the error wraps ErrLinksStay.
func (a *Attacher) ChangeLinks(ctx context.Context, shared bool) error {
	a.Sweep()
	if err := a.prober.kernel.BeginChange(shared); err != nil {
		return fmt.Errorf("%w: %w", ErrLinksStay, err)
	}
	former := a.beginAnew(shared)
	err := a.attachAnew(ctx, former)
	if err == nil {
		err = a.prober.kernel.CommitChange()
	}
	superseded := former
	if err != nil {
		superseded = a.copyLinks()
		former.restore(a)
		err = fmt.Errorf("%w: %w", ErrLinksStay, err)
	}
	errs := []error{err, a.prober.close(superseded.attachments())}
	errs = append(errs, a.prober.kernel.EndChange())
	if err == nil {
		former.keepGaps(monotonicNow())
		a.budget.settling = true
		for _, p := range a.processes {
			if p.plan != nil {
				a.tellArmed(p, p.plan.Sites) // what could not be attached by the former links
			}
		}
	}
	return errors.Join(errs...)
}

// allLinks are all links of a recording at one time.
type allLinks struct {
	isShared bool
	shared   sharedLinks
	own      map[*Process]ownLinks
	plans    map[*Process]*probes.Plan
	told     map[*Process]map[siteKey]bool
	lost     map[*Process]map[target.FileID]int64
}

func (a *Attacher) copyLinks() allLinks {
	all := allLinks{
		isShared: a.options.Shared, shared: a.sharedLinks, own: map[*Process]ownLinks{}, plans: map[*Process]*probes.Plan{},
		told: map[*Process]map[siteKey]bool{}, lost: map[*Process]map[target.FileID]int64{},
	}
	for _, p := range a.processes {
		all.own[p], all.plans[p], all.told[p], all.lost[p] = p.ownLinks, p.plan, maps.Clone(p.told), maps.Clone(p.lostSince)
	}
	return all
}

func (l allLinks) restore(a *Attacher) {
	a.options.Shared, a.sharedLinks = l.isShared, l.shared
	for p, own := range l.own {
		p.ownLinks = own
	}
}

// restoreTold has what was told of processes as it was: nothing was lost.
func (l allLinks) restoreTold() {
	for p := range l.own {
		p.plan, p.told, p.lostSince = l.plans[p], l.told[p], l.lost[p]
	}
}

// attachments are all that there are.
func (l allLinks) attachments() []unitAttachment {
	all := append([]unitAttachment(nil), l.shared.shared...)
	all = append(all, l.shared.bodies.attachments...)
	all = append(all, l.shared.occasional.attachments...)
	for _, own := range l.own {
		all = append(all, own.attachments...)
		all = append(all, own.bodies.attachments...)
		all = append(all, own.occasional.attachments...)
	}
	return all
}

// keepGaps keeps when occasional sites were not attached by these links, which were replaced at an instant of
// CLOCK_MONOTONIC in nanoseconds by others that have them all.
func (l allLinks) keepGaps(at int64) {
	for p, own := range l.own {
		last := own.occasional.gaps
		if own.sharesOccasional {
			last = l.shared.occasional.gaps
		}
		p.formerGaps = p.formerGaps.followedBy(last)
		p.formerGaps.end(at)
	}
}

// beginAnew has an Attacher to which nothing is attached, and returns what was.
func (a *Attacher) beginAnew(shared bool) allLinks {
	former := a.copyLinks()
	a.options.Shared = shared
	sharing := newSharing(a.options, a.reporter)
	maps.Copy(sharing.unshareable, former.shared.sharing.unshareable)
	maps.Copy(sharing.apart, former.shared.sharing.apart)
	a.sharedLinks = newSharedLinks(sharing)
	for _, p := range a.processes {
		p.ownLinks = newOwnLinks()
		p.bodies.stay = former.own[p].bodies.stay
	}
	return former
}

// attachAnew attaches what was attached to all processes. Nothing is told of it but what goes wrong.
func (a *Attacher) attachAnew(ctx context.Context, former allLinks) error {
	reporter, opened := a.reporter, a.opened
	a.setReporter(warningsOnly{reporter})
	a.opened = false // bodies are not needed, as before a recording begins
	defer func() {
		a.setReporter(reporter)
		a.opened = opened
		former.restoreTold()
	}()
	for _, p := range a.processes {
		if p.plan == nil {
			continue
		}
		plan := *p.plan
		plan.Unread = nil // it was told
		err := a.attachPlan(ctx, p, &plan)
		if err != nil && !errors.Is(err, loader.ErrProcessGone) {
			return fmt.Errorf("attaching to PID %d: %w", p.Target.PID, err)
		}
	}
	a.bodies.awaitFirst = former.shared.bodies.awaitFirst
	return a.checkReplaced(former)
}

// checkReplaced returns errNotReplaced if something was attached to a process that is not attached by new links.
func (a *Attacher) checkReplaced(former allLinks) error {
	before := &Attacher{options: a.options, entities: a.entities, sharedLinks: former.shared}
	for _, p := range a.processes {
		if p.plan == nil || !p.Target.Alive() {
			continue
		}
		was := *p
		was.ownLinks = former.own[p]
		sites, _ := a.options.Sites.separateBodies(p.plan.Sites)
		for _, site := range sites {
			if before.armedAt(&was, site) != Never && a.armedAt(p, site) == Never {
				return fmt.Errorf("%w: %s in %s of PID %d", errNotReplaced, site.Event, site.Library, p.Target.PID)
			}
		}
	}
	return nil
}

func (a *Attacher) setReporter(reporter Reporter) {
	a.reporter, a.prober.reporter, a.sharing.reporter = reporter, reporter, reporter
}

// warningsOnly tells what goes wrong.
type warningsOnly struct{ Reporter }

func (warningsOnly) Message(string)                     {}
func (warningsOnly) Attached(int32, []probes.Site)      {}
func (warningsOnly) Armed(*Process, []Armed)            {}
func (warningsOnly) Missing(*Process, []probes.Missing) {}
