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
	o := a.occasionalOf(p)
	showing := a.showingIntraProcess(p)
	if len(showing) == 0 || began == 0 && !o.detached {
		return
	}
	if began == 0 && p.begun < o.detachedAt {
		began = o.detachedAt // it may have gone on since then
	}
	a.returnToOccasional(ctx, o)
	missed := a.armed(p, showing, func(site probes.Site) bool {
		at := a.armedAt(p, site)
		return (!p.sharesOccasional || p.maps(site)) && began < at && at != Never // what never is, is told in the end
	})
	if len(missed) == 0 || p.toldIntra {
		return
	}
	p.toldIntra = true // it is not detached again
	for i := range missed {
		missed[i].Since = began
	}
	a.reporter.Armed(p, missed)
	a.reporter.Warn(fmt.Errorf("PID %d (%s) has begun with intra-process communication: what passed its buffers in the first %v is not recorded",
		p.Target.PID, p.Target.Command, time.Duration(missed[len(missed)-1].At-max(began, p.begun))))
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
