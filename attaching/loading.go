package attaching

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
)

const (
	// maxLoading is how many processes have bodies of their own. While more load something at a time, as in a launch,
	// bodies are attached for every process: attaching them for one after the other would take too long for the last ones.
	maxLoading = 8
	// loadingPatience is how long after its last change of libraries a process keeps bodies of its own.
	loadingPatience = time.Second
)

// hasOwnBodies reports whether bodies in files with links for every process are attached for a process alone.
func (a *Attacher) hasOwnBodies(p *Process) bool {
	own := a.loading[p]
	return own != nil && len(own.attachments) > 0
}

// mayMap reports whether a process may come to map the file of a site: not if that is of another distribution.
func (a *Attacher) mayMap(p *Process, site probes.Site) bool {
	of := a.sharing.planned[site.File].distro
	return of == distros.Unknown || p.Target.Distro == distros.Unknown || of == p.Target.Distro
}

// awaitLoading attaches bodies for a process that is about to load libraries, once the recording has begun.
func (a *Attacher) awaitLoading(ctx context.Context, p *Process) {
	if !a.opened {
		return
	}
	_, err := a.attachBodiesToLoad(ctx, p)
	a.warnUnlessGone(p, err)
}

// warnUnlessGone says that attaching to a process failed, but not of one that has ended meanwhile.
func (a *Attacher) warnUnlessGone(p *Process, err error) {
	if err != nil && !errors.Is(err, loader.ErrProcessGone) {
		a.reporter.Warn(fmt.Errorf("attaching to PID %d: %w", p.Target.PID, err))
	}
}

// runsROS2 reports whether a process runs a program of ROS 2 itself. Another one, such as a shell, is about to begin
// one: in a process that is yet to come, or by becoming it.
func runsROS2(p *Process) bool { return p.Target.IsROS2() || p.Target.WillRunROS2() }

// attachBodiesOfPlan attaches the bodies that are remembered for what a process has, or is about to map: for every
// process if it may be one that is yet to come.
func (a *Attacher) attachBodiesOfPlan(ctx context.Context, p *Process) (attached int, err error) {
	if !runsROS2(p) {
		return a.attachSharedBodies(ctx, nil)
	}
	return a.attachBodiesToLoad(ctx, p)
}

// attachBodiesToLoad attaches the bodies that are remembered: for a process that loads something, or for every one if
// many do. attached is how many are probed that were not.
func (a *Attacher) attachBodiesToLoad(ctx context.Context, p *Process) (attached int, err error) {
	if len(a.bodies.attachments) > 0 || a.prober.kernel.SharesLinks() || !a.hasOwnBodies(p) && len(a.loading) >= maxLoading {
		return a.attachSharedBodies(ctx, nil)
	}
	own := a.loading[p]
	if own == nil {
		own = &detachable{attached: attachedSites{}}
	}
	own.since = time.Now()
	var fresh []probes.Site
	for _, site := range a.bodies.sites {
		if !own.attached.settled(site) && a.mayMap(p, site) {
			site.Role = abi.RoleOwnBody
			fresh = append(fresh, site)
		}
	}
	if len(fresh) == 0 {
		return 0, nil
	}
	sortForAttaching(fresh)
	attachments, attached, err := a.prober.attachByFile(ctx, p.Target.PID, p.Target.Account(), fresh, own.attached)
	switch {
	case errors.Is(err, loader.ErrProcessGone):
		return 0, loader.ErrProcessGone // and nothing is wrong with a file
	case err != nil:
		for _, site := range fresh {
			delete(own.attached, keyOf(site)) // those of some files were attached, and are not any more
		}
		return a.attachSharedBodies(ctx, nil)
	}
	own.attachments = append(own.attachments, attachments...)
	a.loading[p] = own
	return attached, nil
}

// detachOwnBodies detaches the bodies that a process has for itself, if it has not loaded anything for a while and all
// of its callers are probed.
func (a *Attacher) detachOwnBodies(p *Process) {
	if !a.hasOwnBodies(p) || p.bodies.stay || time.Since(a.loading[p].since) < loadingPatience {
		return
	}
	a.prober.detach(a.loading[p], "") // each program that begins has them for a moment
	delete(a.loading, p)
}

// endOwnBodies detaches the bodies that processes have for themselves, because every process has them now.
func (a *Attacher) endOwnBodies() {
	var closing []unitAttachment
	for _, own := range a.loading {
		closing = append(closing, own.attachments...)
	}
	clear(a.loading)
	a.reporter.Warn(a.prober.close(slices.Clip(closing)))
}
