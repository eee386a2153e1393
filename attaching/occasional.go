package attaching

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/target"
)

// occasional is what a process, or every one, has attached only as long as it is needed, because all callbacks pass it:
// what shows intra-process communication on Humble, which most processes do without, and the executor's step, which
// tells of exceptions until these are seen being caught.
type occasional struct {
	detachable
	gaps       gaps      // in which it was not attached
	attachedAt time.Time // when it was last attached
}

// separateOccasional takes out the sites that are not attached like all others.
func (o Options) separateOccasional(sites []probes.Site) (others, occasional []probes.Site) {
	for _, site := range sites {
		if o.isOccasional(site) {
			occasional = append(occasional, site)
		} else {
			others = append(others, site)
		}
	}
	return others, occasional
}

// isOccasional reports whether processes may do without a site.
func (o Options) isOccasional(site probes.Site) bool {
	return site.OnlyIntraProcess() || o.ToCome && site.Event == abi.EventExecutorExecute
}

// occasionalSites are those of a process, or of every one.
type occasionalSites struct {
	*occasional
	pid     int32
	account *quota.Account
	known   attachedSites
}

// occasionalOf are those by which a process is observed.
func (a *Attacher) occasionalOf(p *Process) occasionalSites {
	if p.sharesOccasional {
		return a.sharedOccasional()
	}
	return p.ownOccasional()
}

func (a *Attacher) sharedOccasional() occasionalSites {
	return occasionalSites{occasional: &a.occasional, known: a.attached}
}

func (p *Process) ownOccasional() occasionalSites {
	return occasionalSites{&p.occasional, p.Target.PID, p.Target.Account(), p.attached}
}

// attachOwnOccasional attaches what a process alone has. sharesToo says that it also shares some of that, which then
// tells whether it is needed.
func (a *Attacher) attachOwnOccasional(ctx context.Context, p *Process, sites []probes.Site, sharesToo bool) (attached int, err error) {
	if len(sites) > 0 && !sharesToo {
		p.sharesOccasional = false
	}
	return p.ownOccasional().attach(ctx, &a.prober, sites)
}

// attachSharedOccasional attaches what a process needs for every process.
func (a *Attacher) attachSharedOccasional(ctx context.Context, p *Process, sites []probes.Site) (attached int, err error) {
	if len(sites) > 0 && !p.sharesOccasional {
		p.sharesOccasional = true
		a.returnToOccasional(ctx, a.sharedOccasional())
	}
	attached, err = a.sharedOccasional().attach(ctx, &a.prober, sites)
	if own := a.alone[p]; own != nil && !containsAll(own, sites) {
		a.returnToOccasional(ctx, a.sharedOccasional()) // this one needs more than it has for itself
	}
	return attached, err
}

// attach attaches sites unless they were detached because nobody needs them. attached is how many are probed that were
// not.
func (o occasionalSites) attach(ctx context.Context, with *prober, sites []probes.Site) (attached int, err error) {
	fresh := slices.DeleteFunc(slices.Clone(sites), o.known.settled)
	if len(fresh) == 0 {
		return 0, nil
	}
	sortForAttaching(fresh)
	for _, site := range fresh {
		if !slices.ContainsFunc(o.sites, func(known probes.Site) bool { return keyOf(known) == keyOf(site) }) {
			o.sites = append(o.sites, site)
		}
	}
	if o.detached {
		return 0, nil
	}
	for _, group := range byFile(fresh) {
		count, err := o.attachFile(ctx, with, group)
		if err != nil {
			return 0, err
		}
		attached += count
	}
	o.since, o.attachedAt = time.Now(), time.Now()
	return attached, nil
}

// attachFile attaches sites that are all in one file.
func (o occasionalSites) attachFile(ctx context.Context, with *prober, sites []probes.Site) (attached int, err error) {
	attachments, attached, err := with.attachFile(ctx, o.pid, o.account, sites, o.known)
	o.attachments = append(o.attachments, attachments...)
	return attached, err
}

// forgetAttached notes that nothing is attached any more.
func (o occasionalSites) forgetAttached() {
	for _, site := range o.sites {
		o.known[keyOf(site)] = siteState{settled: o.known.settled(site), unit: optionalUnit(site)}
	}
}

// needsOccasional reports whether a process has a use for what it has planned of that.
func (a *Attacher) needsOccasional(p *Process) bool {
	return len(a.showingIntraProcess(p)) > 0 && !a.entities.NoIntraProcess(p) || a.needsSteps(p)
}

// needsSteps reports whether only the executor's steps tell which exceptions the process catches.
func (a *Attacher) needsSteps(p *Process) bool {
	return !p.seesExceptions() && slices.ContainsFunc(p.plan.Sites, func(site probes.Site) bool {
		return site.Event == abi.EventExecutorExecute && !site.Optional && a.options.isOccasional(site)
	})
}

// seesExceptions reports whether it is seen that the process catches exceptions.
func (p *Process) seesExceptions() bool {
	return slices.ContainsFunc(p.plan.Sites, func(site probes.Site) bool {
		return site.Event == abi.EventExceptionCaught && p.attached[keyOf(site)].at != 0
	})
}

// mayGo reports whether it is attached, and nothing has asked for it for a while.
func (o occasionalSites) mayGo() bool {
	return len(o.attachments) > 0 && time.Since(o.since) >= IntraProcessPatience
}

// SettleBeforeOpening detaches what no process needs by what its memory says, and does not wait until each has created
// nothing for a while. It is to be called before the recording begins, of processes none of which has just begun, when
// what they create is seen since before their memory was searched.
func (a *Attacher) SettleBeforeOpening() {
	var closing []unitAttachment
	for _, p := range a.processes {
		if own := p.ownOccasional(); p.plan != nil && len(own.attachments) > 0 {
			closing = append(closing, a.releaseOccasional(own, []*Process{p})...)
		}
	}
	if o := a.sharedOccasional(); len(o.attachments) > 0 {
		closing = append(closing, a.releaseOccasional(o, a.processesWith(o.sites))...)
	}
	a.reporter.Warn(a.prober.close(closing))
}

// detachOccasional detaches what may go.
func (a *Attacher) detachOccasional(o occasionalSites, sharing []*Process) {
	a.reporter.Warn(a.prober.close(a.releaseOccasional(o, sharing)))
}

// releaseOccasional returns what is to be closed of what may go from the processes that share it: nothing if one of
// them needs it. Where none has mapped it, it stays: it costs nobody that is recorded anything, and the first one may
// need it.
func (a *Attacher) releaseOccasional(o occasionalSites, sharing []*Process) []unitAttachment {
	if len(sharing) == 0 || slices.ContainsFunc(sharing, a.needsOccasional) {
		return nil
	}
	why := "exceptions are seen being caught, the executor's steps are not probed"
	if slices.ContainsFunc(o.sites, probes.Site.ShowsIntraProcess) {
		why = "there is no intra-process communication, it is not probed"
	}
	whose := "all processes"
	if o.pid != 0 {
		whose = fmt.Sprintf("PID %d (%s)", o.pid, sharing[0].Target.Command)
	}
	return o.release(&a.prober, whose+": "+why)
}

// release notes that it is not attached from now on, and returns what is to be closed.
func (o occasionalSites) release(with *prober, why string) []unitAttachment {
	o.gaps.begin(monotonicNow())
	o.forgetAttached()
	return with.release(&o.detachable, why)
}

// processesWith are those with a plan that have mapped a file of the sites.
func (a *Attacher) processesWith(sites []probes.Site) []*Process {
	files := map[target.FileID]bool{}
	for _, site := range sites {
		files[site.File] = true
	}
	return slices.DeleteFunc(slices.Clone(a.processes), func(p *Process) bool {
		return p.plan == nil || !slices.ContainsFunc(p.Target.Modules, func(m target.Module) bool { return files[m.File] })
	})
}

// returnToOccasional attaches it again.
func (a *Attacher) returnToOccasional(ctx context.Context, o occasionalSites) {
	if !o.detached || o.pid == 0 && !a.preferLinksOfAll() {
		return
	}
	// In the order in which an enqueue would have to have passed them: what is seen of one has been seen from its
	// beginning.
	slices.SortStableFunc(o.sites, func(a, b probes.Site) int { return passRank(a.Event) - passRank(b.Event) })
	for _, site := range o.sites {
		attached, err := o.attachFile(ctx, &a.prober, []probes.Site{site})
		if refused := attached == 0 && !o.known.settled(site); err != nil || refused { // all or none: the next look tries again
			if err != nil && !errors.Is(err, loader.ErrProcessGone) {
				a.reporter.Warn(fmt.Errorf("attaching to %s: %w", o.whom(), err))
			}
			a.reporter.Warn(a.prober.close(o.attachments))
			o.attachments = nil
			o.forgetAttached()
			return
		}
	}
	o.comeBack()
	o.attachedAt = time.Now()
	o.gaps.end(o.returned)
	if o.pid == 0 {
		a.endAlone(&a.replaced)
	}
}

func (o occasionalSites) whom() string {
	if o.pid == 0 {
		return "all processes"
	}
	return fmt.Sprintf("PID %d", o.pid)
}

// awaitOccasional attaches it again for a process that begins, of which nothing is known. It stays for a while.
func (a *Attacher) awaitOccasional(ctx context.Context) {
	a.returnToOccasional(ctx, a.sharedOccasional())
	a.occasional.since = time.Now()
}

// settleOccasional detaches what a process alone has, or returns to it, as has become known of the process.
func (a *Attacher) settleOccasional(ctx context.Context, p *Process) {
	if p.plan == nil {
		return
	}
	o := a.occasionalOf(p)
	if a.hasUntoldGaps(p) && a.entities.HasIntraProcess(p) {
		a.AwaitIntraProcess(ctx, p, 0)
	}
	if o.detached && a.needsSteps(p) && a.alone[p] == nil {
		a.returnToOccasional(ctx, o)
	}
	if own := p.ownOccasional(); own.mayGo() {
		a.detachOccasional(own, []*Process{p})
	}
}

// passRank is an event's place on the way of a message; attachOrder has them the other way round, for a recording that
// has not begun.
func passRank(event abi.Event) int {
	return slices.Index([]abi.Event{abi.EventExecutorExecute, abi.EventRclcppIntraPublish, abi.EventRclcppRingBufferEnqueue}, event)
}
