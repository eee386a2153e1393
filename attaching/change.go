package attaching

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
)

// ErrLinksStay says that links could not be replaced by such of the other kind.
var ErrLinksStay = errors.New("the links of probes stay as they are")

// errNotReplaced says that something is attached which cannot be by links of the other kind.
var errNotReplaced = errors.New("it cannot be probed by links of the other kind")

// SharesLinks reports whether links are for every process, where that is allowed.
func (a *Attacher) SharesLinks() bool { return a.options.Shared }

// MayChangeLinks reports whether ChangeLinks would not attach bodies that are about to be detached: they are dear.
func (a *Attacher) MayChangeLinks() bool {
	return !a.sharedBodiesGoSoon() && !slices.ContainsFunc(a.processes, func(p *Process) bool {
		return p.bodies.goSoon() || a.hasOwnBodies(p) && !p.bodies.stay
	})
}

// ChangeLinks replaces all links while the recording goes on: by such for every process, which look up whether it is
// recorded, or by such of single processes. Each hit is recorded by either the former links or the new ones. If
// something that is attached cannot be attached by new links, the former ones stay, and the error wraps ErrLinksStay.
func (a *Attacher) ChangeLinks(ctx context.Context, shared bool) error {
	a.Sweep()
	if len(a.replaced) > 0 || !a.preferLinksOfAll() {
		return fmt.Errorf("%w: there are still others of single processes", ErrLinksStay)
	}
	if err := a.prober.kernel.BeginChange(shared); err != nil {
		return fmt.Errorf("%w: %w", ErrLinksStay, err)
	}
	former := a.beginAnew(shared)
	err := a.attachAnew(ctx, former)
	if err == nil {
		err = a.prober.kernel.CommitChange()
	}
	if err != nil {
		vain := a.copyLinks()
		former.restore(a)
		return errors.Join(fmt.Errorf("%w: %w", ErrLinksStay, err), a.endChange(vain))
	}
	at := monotonicNow()
	err = a.endChange(former)
	a.recordFrom(at)
	former.keepGaps(at)
	a.budget.settling = true
	a.tellAttached(former)
	return err
}

// recordFrom says that nothing was recorded by the present links before an instant of CLOCK_MONOTONIC in nanoseconds.
func (a *Attacher) recordFrom(at int64) {
	a.attached.recordFrom(at)
	a.bodies.recordFrom(at)
	for _, p := range a.processes {
		p.attached.recordFrom(at)
		p.bodies.recordFrom(at)
	}
}

func (a *Attacher) endChange(superseded allLinks) error {
	err := a.prober.close(superseded.attachments())
	return errors.Join(err, a.prober.kernel.EndChange())
}

// beginAnew has an Attacher to which nothing is attached, and returns what was.
func (a *Attacher) beginAnew(shared bool) allLinks {
	former := a.copyLinks()
	a.options.Shared = shared
	sharing := newSharing(a.options, a.reporter)
	maps.Copy(sharing.unshareable, former.shared.sharing.unshareable)
	maps.Copy(sharing.apart, former.shared.sharing.apart)
	sharing.apartTold = former.shared.sharing.apartTold
	a.sharedLinks = newSharedLinks(sharing)
	for p, links := range former.of {
		p.ownLinks = newOwnLinks()
		p.bodies.stay = links.own.bodies.stay
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
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			a.sharing.noteExamined(p.examined)
		case !errors.Is(err, loader.ErrProcessGone): // perhaps it could not be attached by the former links either
			a.reporter.Warn(fmt.Errorf("attaching to PID %d: %w", p.Target.PID, err))
		}
	}
	return a.checkReplaced(former)
}

// checkReplaced returns errNotReplaced if something was attached to a process that is not attached by new links.
func (a *Attacher) checkReplaced(former allLinks) error {
	for _, p := range a.processes {
		if p.plan == nil || !p.Target.Alive() {
			continue
		}
		before, was := former.attachedTo(p, a)
		for _, site := range p.plan.Sites {
			if before.isAttached(was, site) && !a.isAttached(p, site) {
				return fmt.Errorf("%w: %s in %s of PID %d", errNotReplaced, site.Event, site.Library, p.Target.PID)
			}
		}
	}
	return nil
}

// isAttached reports whether a site of a process's plan is attached, or what it shows is seen elsewhere.
func (a *Attacher) isAttached(p *Process, site probes.Site) bool {
	if _, bodies := a.options.Sites.separateBodies([]probes.Site{site}); len(bodies) > 0 {
		own := a.loading[p]
		return p.bodies.isAttached(site) || a.bodies.isAttached(site) || own != nil && own.isAttached(site)
	}
	return a.armedAt(p, site) != Never
}

// tellAttached tells what is attached that could not be attached by the former links.
func (a *Attacher) tellAttached(former allLinks) {
	for _, p := range a.processes {
		if p.plan == nil {
			continue
		}
		before, was := former.attachedTo(p, a)
		for _, known := range []struct {
			pid   int32
			sites attachedSites
		}{{0, a.attached}, {p.Target.PID, p.attached}} {
			var fresh []probes.Site
			for _, site := range p.plan.Sites {
				if known.sites[keyOf(site)].at != 0 && !before.isAttached(was, site) {
					fresh = append(fresh, site)
				}
			}
			if len(fresh) > 0 {
				a.reporter.Attached(known.pid, fresh)
			}
		}
		a.tellArmed(p)
	}
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
