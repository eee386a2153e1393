package attaching

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// Where processes share their links, bodies are attached as long as a process may have callers that are not probed: for
// it alone (loading.go) while few load something, for every process while many do or none runs ROS 2. A body that every
// process shares makes each hit dear for all, so it is detached as soon as it can be.

// separateShared takes out the sites in files with links for every process. Those of files that are planned for another
// distribution are left out.
func (a *Attacher) separateShared(ctx context.Context, p *Process, sites []probes.Site) (own, shared []probes.Site) {
	if !a.options.Shared {
		return sites, nil
	}
	for _, site := range sites {
		switch a.shares(ctx, p, site) {
		case sharedAsPlanned:
			shared = append(shared, shareable(site))
		case apart:
			own = append(own, site)
		}
	}
	return own, shared
}

// attachSharedBodies attaches bodies for every process, and those that were detached. attached is how many are probed
// that were not.
func (a *Attacher) attachSharedBodies(ctx context.Context, sites []probes.Site) (attached int, err error) {
	b := &a.bodies
	b.since = time.Now()
	a.bodies.remember(sites)
	fresh := slices.Clone(b.sites)
	if !b.detached {
		fresh = slices.DeleteFunc(fresh, b.attached.settled)
	}
	if len(fresh) == 0 {
		return 0, nil
	}
	sortForAttaching(fresh)
	attachments, attached, err := a.prober.attachByFile(ctx, 0, nil, fresh, b.attached)
	if err != nil {
		for _, site := range fresh {
			delete(b.attached, keyOf(site)) // those of some files were attached, and are not any more
		}
		return 0, err
	}
	b.attachments = append(b.attachments, attachments...)
	if b.detached {
		b.comeBack()
	}
	a.endOwnBodies() // behind the others: a call is seen by both of them, and recorded once
	return attached, nil
}

// attachSharedBodiesFor attaches the bodies of a process's plan, if it has callers that are not probed yet. Otherwise,
// and perhaps before the recording begins, they are remembered.
func (a *Attacher) attachSharedBodiesFor(ctx context.Context, p *Process, sites []probes.Site, groups []siteGroup) (attached int, err error) {
	fresh := slices.ContainsFunc(groups, func(g siteGroup) bool { return slices.ContainsFunc(g.sites, isCaller) })
	if (!fresh || a.remembersBodies()) && !p.bodies.stay {
		a.bodies.remember(sites)
		return 0, nil
	}
	if len(sites) == 0 {
		return 0, nil
	}
	a.bodies.remember(sites)
	return a.attachBodiesOfPlan(ctx, p)
}

// Open says that the recording begins now.
func (a *Attacher) Open() { a.opened, a.bodies.since = true, time.Now() }

// Await says that a process is about to run a program of which nothing is known, perhaps when the recording begins. It
// reports whether the bodies could be attached.
func (a *Attacher) Await(ctx context.Context) bool {
	_, err := a.attachSharedBodies(ctx, nil)
	if err != nil {
		a.reporter.Warn(fmt.Errorf("attaching for all processes: %w", err))
	}
	return err == nil
}

// AwaitLoading says that the recording is about to begin and that processes may still be mapping files that were never
// looked at. Few have bodies of their own then, and nobody else has to pay for them.
func (a *Attacher) AwaitLoading(ctx context.Context, processes []*Process) {
	if len(processes) > maxLoading {
		a.Await(ctx)
		return
	}
	for _, p := range processes {
		_, err := a.attachBodiesOfPlan(ctx, p)
		a.warnUnlessGone(p, err)
	}
}

// AwaitFirst keeps attached what is detached at times until Begin tells of a process. It costs nobody anything as long
// as none runs ROS 2, and the first one may be faster than who attaches for it.
func (a *Attacher) AwaitFirst(ctx context.Context) {
	a.awaitOccasional(ctx)
	if !a.bodies.awaitFirst {
		a.bodies.awaitFirst = a.Await(ctx)
	}
}

// EndAwaiting says that the first one runs: bodies stay for a while.
func (a *Attacher) EndAwaiting() {
	if b := &a.bodies; b.awaitFirst {
		b.awaitFirst, b.since = false, time.Now()
	}
}

// AwaitNone says that no process that is recorded runs ROS 2, but others do: what waits for the first one would cost
// them something.
func (a *Attacher) AwaitNone() {
	if b := &a.bodies; b.awaitFirst {
		b.awaitFirst, b.since = false, time.Time{}
		a.detachSharedBodies()
	}
	if o := a.sharedOccasional(); o.mayGo() && len(a.processesWith(o.sites)) == 0 {
		closing := o.release(&a.prober, "all processes: none that is recorded runs ROS 2, but others do: what is not always needed is not probed")
		a.reporter.Warn(a.prober.close(closing))
	}
}

// Begin says that a process runs ROS 2 or is about to, before anything is planned for it: what it maps may call
// tracepoints, and was perhaps never looked at.
func (a *Attacher) Begin(ctx context.Context, p *Process) {
	a.EndAwaiting()
	a.awaitOccasional(ctx)
	if slices.ContainsFunc(p.Target.Modules, func(m target.Module) bool { return !a.sharing.examined[m.File] && !slices.Contains(p.examined, m.File) }) {
		a.awaitLoading(ctx, p)
	}
}

// IsForAll reports whether the callers in a file are known, and attached for every process, or it has none.
func (a *Attacher) IsForAll(file target.FileID) bool { return a.sharing.examined[file] }

// detachSharedBodies detaches the bodies when no process has mapped anything for a while, if all callers are probed.
func (a *Attacher) detachSharedBodies() {
	b := &a.bodies
	if len(b.attachments) == 0 || b.awaitFirst || time.Since(b.since) < bodiesPatience {
		return
	}
	if a.bodiesStay() {
		b.since = time.Now() // until a process ends, which is seen soon enough
		return
	}
	a.prober.detach(&b.detachable, "all callers of tracepoints are probed for every process, their bodies no longer")
}

// sharedBodiesGoSoon reports whether those for every process are attached only for some seconds.
func (a *Attacher) sharedBodiesGoSoon() bool { return len(a.bodies.attachments) > 0 && !a.bodiesStay() }

// bodiesStay reports whether a process that has none for itself has callers that are not certain.
func (a *Attacher) bodiesStay() bool {
	return slices.ContainsFunc(a.processes, func(p *Process) bool { return p.bodies.stay && !a.hasOwnBodies(p) })
}
