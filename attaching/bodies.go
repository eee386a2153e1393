package attaching

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// SiteMode says at which instructions events are observed.
type SiteMode string

const (
	// SitesAuto chooses the cheapest: where a function has none, its callers, and the function itself only as long as
	// callers may appear that are not probed yet.
	SitesAuto SiteMode = ""
	// SitesEntries observes every function at its first instruction.
	SitesEntries SiteMode = "entries"
	// SitesCallers observes functions without a cheap instruction at their callers only. What other callers do is not
	// recorded.
	SitesCallers SiteMode = "callers"
	// SitesBoth observes such functions at their callers and in themselves all the time.
	SitesBoth SiteMode = "both"
)

// SiteModes returns all modes.
func SiteModes() []SiteMode { return []SiteMode{SitesAuto, SitesEntries, SitesCallers, SitesBoth} }

// bodiesPatience is how long after the last change of a process's mappings the bodies of functions stay probed whose
// callers are. Programs load their libraries one after the other.
const bodiesPatience = 5 * time.Second

// bodies is what a process has attached of functions whose callers are probed, too.
type bodies struct {
	detachable
	// armed is since when they are attached, CLOCK_MONOTONIC in nanoseconds.
	armed int64
	// stay says that not all callers are certain: the bodies stay attached.
	stay bool
	// awaitFirst says that those for every process stay attached until one runs ROS 2.
	awaitFirst bool
}

func newBodies() bodies { return bodies{detachable: detachable{attached: attachedSites{}}} }

// recordFrom says that what is attached records from an instant of CLOCK_MONOTONIC in nanoseconds on.
func (b *bodies) recordFrom(at int64) {
	b.attached.recordFrom(at)
	b.armed = at
}

// goSoon reports whether they are attached only for some seconds.
func (b *bodies) goSoon() bool { return len(b.attachments) > 0 && !b.stay }

// probes reports whether a body of an event is among those that could be attached.
func (b *bodies) probes(event abi.Event) bool {
	for key, state := range b.attached {
		if key.event == event && state.at != 0 {
			return true
		}
	}
	return false
}

// remember remembers bodies that are to be attached when they are needed.
func (b *bodies) remember(sites []probes.Site) {
	for _, site := range sites {
		if !slices.ContainsFunc(b.sites, func(known probes.Site) bool { return keyOf(known) == keyOf(site) }) {
			b.sites = append(b.sites, site)
		}
	}
}

// bodySince is since when a body in a file with links for every process is attached by which an event of a process's
// plan is seen; Never if it is not.
func (a *Attacher) bodySince(p *Process, event abi.Event) int64 {
	key, planned := p.bodyOf[event]
	at := Never
	if !planned {
		return at
	}
	for _, bodies := range []*detachable{&a.bodies.detachable, a.loading[p]} {
		if bodies != nil && len(bodies.attachments) > 0 && bodies.attached[key].at != 0 {
			at = min(at, bodies.attached[key].at)
		}
	}
	return at
}

// separateBodies takes out the bodies that are not attached like all other sites, because they can be detached again.
func (m SiteMode) separateBodies(sites []probes.Site) (others, bodies []probes.Site) {
	if m == SitesBoth {
		return sites, nil
	}
	for _, site := range sites {
		if site.Role == abi.RoleBody {
			bodies = append(bodies, site)
		} else {
			others = append(others, site)
		}
	}
	if m == SitesCallers {
		bodies = nil
	}
	return others, bodies
}

// attachBodies attaches the bodies of a process whose mappings have changed: whatever it loads now can call them.
// Before a recording begins they may be only remembered. uncertain says that it has callers that cannot be probed.
// attached is how many are probed that were not.
func (a *Attacher) attachBodies(ctx context.Context, p *Process, sites []probes.Site, uncertain bool) (attached int, err error) {
	b := &p.bodies
	b.since = time.Now()
	b.stay = b.stay || uncertain
	if len(b.attachments) > 0 || len(sites) == 0 {
		return 0, nil
	}
	if a.remembersBodies() && !b.stay {
		b.sites, b.detached = sites, true
		return 0, nil
	}
	sortForAttaching(sites)
	attachments, attached, err := a.prober.attachByFile(ctx, p.Target.PID, p.Target.Account(), sites, b.attached)
	if err != nil {
		return 0, err
	}
	b.attachments, b.sites, b.armed = attachments, sites, monotonicNow()
	if b.detached {
		b.comeBack()
	}
	return attached, nil
}

// remembersBodies reports whether bodies of which all callers are probed are only remembered: before a recording begins
// there is time to attach all callers first.
func (a *Attacher) remembersBodies() bool { return !a.opened }

// attachRemembered attaches those bodies of a process, its own and those of every process, that were only remembered.
func (a *Attacher) attachRemembered(ctx context.Context, p *Process, own, shared []probes.Site) (attached int, err error) {
	if p.bodies.detached {
		if attached, err = a.attachBodies(ctx, p, own, true); err != nil {
			return 0, err
		}
	}
	if len(shared) == 0 {
		return attached, nil
	}
	a.bodies.remember(shared)
	count, err := a.attachBodiesOfPlan(ctx, p)
	return attached + count, err
}

// returnToBodies attaches the bodies of a process again that changes its libraries: the dynamic linker says so before
// it maps them, and once more before they do anything. What a library did before they were attached is told when it is
// planned for.
func (a *Attacher) returnToBodies(ctx context.Context, p *Process) {
	if a.options.Shared {
		a.awaitLoading(ctx, p)
	}
	b := &p.bodies
	if b.detached {
		_, err := a.attachBodies(ctx, p, b.sites, false)
		a.warnUnlessGone(p, err)
	}
	b.since = time.Now()
}

func isCaller(site probes.Site) bool { return site.Role == abi.RoleCaller }

// judgeCallers keeps the bodies for ever when a caller could not be attached.
func (b *bodies) judgeCallers(sites []probes.Site, failed map[siteKey]error) {
	b.stay = b.stay || slices.ContainsFunc(sites, func(site probes.Site) bool {
		return isCaller(site) && failed[keyOf(site)] != nil
	})
}

// detachBodies detaches the bodies of a process that has not mapped anything for a while, if all callers are probed.
func (a *Attacher) detachBodies(p *Process) {
	b := &p.bodies
	if len(b.attachments) == 0 || b.stay || time.Since(b.since) < bodiesPatience {
		return
	}
	a.prober.detach(&b.detachable,
		fmt.Sprintf("PID %d (%s): all callers of tracepoints are probed, their bodies no longer", p.Target.PID, p.Target.Command))
}

// NoticeTime is how long it may take until the mappings of a process that nobody has announced are noticed.
const NoticeTime = time.Second

// warnOfLateCallers says which files were mapped while bodies were not probed: their first calls are not recorded.
// Files that were expected were armed before.
func (a *Attacher) warnOfLateCallers(p *Process, sites []probes.Site) {
	if !p.bodies.detached || !a.opened {
		return
	}
	warned := map[string]bool{}
	for _, site := range sites {
		isNew := site.Role == abi.RoleCaller && !site.Armed && !a.isReinstated(site)
		if isNew && !warned[site.Library] {
			warned[site.Library] = true
			a.reporter.Warn(fmt.Errorf("PID %d has mapped %s, which was not expected: what it did before the recorder noticed, within about %v, is not recorded",
				p.Target.PID, site.Library, NoticeTime))
		}
	}
}
