package attaching

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// detachable are sites, of a process or of every one, that are detached when it turns out to do without them, and
// attached again when it may need them.
type detachable struct {
	attachments []unitAttachment // empty while there are none
	// sites are those that are attached, or that were.
	sites    []probes.Site
	attached attachedSites // of sites, those that the Reporter knows
	since    time.Time     // when there was last a reason to have them
	detached bool
	// returned is when they were attached again, CLOCK_MONOTONIC in nanoseconds; 0: never.
	returned int64
}

// forget forgets the sites in a file, whose links are closed.
func (of *detachable) forget(file target.FileID) {
	of.attached.forget(file)
	of.sites = slices.DeleteFunc(of.sites, func(site probes.Site) bool { return site.File == file })
	of.detached = of.detached && len(of.sites) > 0
}

// isAttached reports whether a site is attached.
func (of *detachable) isAttached(site probes.Site) bool {
	return len(of.attachments) > 0 && of.attached[keyOf(site)].at != 0
}

// comeBack notes that the sites are attached again.
func (of *detachable) comeBack() {
	of.detached, of.since, of.returned = false, time.Now(), monotonicNow()
}

// LibrariesChange attaches what a process may need now that its dynamic linker has said that it changes its libraries.
func (a *Attacher) LibrariesChange(ctx context.Context, p *Process) {
	a.returnToOccasional(ctx, p.ownOccasional())
	if a.options.Shared {
		a.awaitOccasional(ctx)
	}
	a.returnToBodies(ctx, p)
}

// Settle detaches what a process does without, and attaches again what it has turned out to need. It is to be called
// about every second.
func (a *Attacher) Settle(ctx context.Context, p *Process) {
	a.detachBodies(p)
	a.detachOwnBodies(p)
	a.settleOccasional(ctx, p)
}

// SettleShared detaches what is attached for every process and none needs. It is to be called about every second,
// behind Settle for each.
func (a *Attacher) SettleShared(ctx context.Context) {
	a.detachSharedBodies()
	if o := a.sharedOccasional(); o.mayGo() {
		sharing := a.processesWith(o.sites)
		if needing := a.needingAlone(sharing); len(needing) > 0 {
			a.attachAlone(ctx, o, needing)
		} else {
			a.detachOccasional(o, sharing)
		}
	}
}

// monotonicNow returns CLOCK_MONOTONIC in nanoseconds.
func monotonicNow() int64 {
	var now unix.Timespec
	// It cannot fail: the clock exists on every Linux and the address is valid.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano()
}
