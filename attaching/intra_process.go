package attaching

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/probes"
)

// IntraProcessPatience is how long a process must have had nodes and created nothing before it is believed to do
// without intra-process communication.
const IntraProcessPatience = 5 * time.Second

// AwaitIntraProcess makes sure that a process is probed that has begun with intra-process communication, and says what
// was missed of it. It began at an instant of CLOCK_MONOTONIC in nanoseconds; 0 says that it is not known when.
func (a *Attacher) AwaitIntraProcess(ctx context.Context, p *Process, began int64) {
	showing := a.showingIntraProcess(p)
	if len(showing) == 0 || a.alone[p] != nil {
		return
	}
	o := a.occasionalOf(p)
	a.returnToOccasional(ctx, o)
	if o.detached || p.toldIntra {
		return // it is tried again, or was told
	}
	p.toldIntra = true // it is not detached again
	instant := began
	if instant == 0 {
		instant = p.begun
	}
	var longest int64
	for _, missed := range p.formerGaps.followedBy(o.gaps).after(instant) {
		since := max(missed.from, began)
		if began == 0 && missed.from < p.begun {
			since = 0 // since it has mapped them
		}
		a.reporter.Armed(p, a.missedIn(p, showing, since, missed.to))
		longest = max(longest, missed.to-max(missed.from, began, p.begun))
	}
	if longest > 0 {
		a.reporter.Warn(fmt.Errorf("PID %d (%s) has begun with intra-process communication: what passed its buffers is not recorded for %v",
			p.Target.PID, p.Target.Command, time.Duration(longest)))
	}
}

// hasUntoldGaps reports whether something may have been missed of a process's intra-process communication, if it has
// any, that was not told.
func (a *Attacher) hasUntoldGaps(p *Process) bool {
	return len(p.formerGaps)+len(a.occasionalOf(p).gaps) > 0 && !p.toldIntra
}

// missedIn says that sites were not attached from one instant to another.
func (a *Attacher) missedIn(p *Process, sites []probes.Site, since, at int64) []Armed {
	missed := a.armed(p, sites, func(site probes.Site) bool { return !p.sharesOccasional || p.maps(site) })
	for i := range missed {
		missed[i].Since, missed[i].At = since, at
	}
	return missed
}

// MissedIntraProcess reports whether what passes buffers of intra-process communication is missing of a process that
// shares all links and has any, if it has been there since an instant of CLOCK_MONOTONIC in nanoseconds: the sites for
// that are not attached all the time.
func (a *Attacher) MissedIntraProcess(since int64) bool {
	return len(a.occasional.gaps.after(since)) > 0 && slices.ContainsFunc(a.occasional.sites, probes.Site.ShowsIntraProcess)
}

// showingIntraProcess are the sites planned for a process that show its intra-process communication and are detached at
// times.
func (a *Attacher) showingIntraProcess(p *Process) []probes.Site {
	if p.plan == nil {
		return nil
	}
	_, occasional := a.options.separateOccasional(p.plan.Sites)
	return slices.DeleteFunc(occasional, func(site probes.Site) bool { return !site.ShowsIntraProcess() })
}

// intraProcessArmedAt is since when it is recorded or told, of a process that is not known to have any, what passes its
// buffers: since it is recorded what the process creates. A site for it may be attached later than that.
func (a *Attacher) intraProcessArmedAt(p *Process) int64 {
	at, told := int64(0), false
	for _, site := range p.plan.Sites {
		if site.Event.IsInit() {
			at, told = max(at, a.armedAt(p, site)), true
		}
	}
	if !told || a.entities.HasIntraProcess(p) {
		return Never
	}
	return at
}
