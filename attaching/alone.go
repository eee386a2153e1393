package attaching

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// What shows intra-process communication is shared as long as processes begin or load something. When none does any
// more, and few have such communication, these have it for themselves, so that nobody else pays for it.

// maxAlone is how many processes may have for themselves what shows intra-process communication: attaching it takes
// some milliseconds for each.
const maxAlone = 32

// needingAlone are those of the processes that share what shows intra-process communication which should have it for
// themselves: none if that is not worth it or was tried in vain, if another one may need it, too, or if it was not yet
// told what one of them has missed.
func (a *Attacher) needingAlone(sharing []*Process) []*Process {
	if !a.prober.kernel.MayChangeLinks() {
		return nil
	}
	var needing []*Process
	for _, p := range sharing {
		switch {
		case !a.needsOccasional(p):
		case a.entities.HasIntraProcess(p) && !a.hasUntoldGaps(p):
			needing = append(needing, p)
		default:
			return nil
		}
	}
	if len(needing) > maxAlone || AreSharedLinksCheaper(len(needing), len(sharing)-len(needing), a.options.Costs) {
		return nil
	}
	if a.aloneRefused != nil && !slices.Contains(needing, a.aloneRefused) {
		a.aloneTries, a.aloneRefused = tries{}, nil // the others may succeed
	}
	if !a.aloneTries.isDue(time.Now()) {
		return nil
	}
	return needing
}

// attachAlone attaches for the processes that need it what every process has, and then detaches it from all others.
func (a *Attacher) attachAlone(ctx context.Context, o occasionalSites, needing []*Process) {
	a.Sweep()
	a.aloneRefused = nil
	if len(a.replaced) > 0 || !a.attachOwnOfAll(ctx, o, needing) { // what was replaced is older than links of all
		a.endAlone(&a.released) // no hit needs them: it comes to those for every process behind them
		a.Sweep()               // links for every process that are attached next are newer
		a.aloneTries.fail(time.Now(), IntraProcessPatience)
		return
	}
	a.aloneTries.succeed()
	for _, p := range needing {
		p.toldIntra = true // what was missed of it until now was told, and nothing is from now on
	}
	a.reporter.Warn(a.prober.close(o.release(&a.prober,
		fmt.Sprintf("intra-process communication is probed in the processes that have it only (%d)", len(needing)))))
}

// attachOwnOfAll attaches for processes what every process has, so that no hit of theirs needs the links for every
// process any more. It reports whether all of that succeeded.
func (a *Attacher) attachOwnOfAll(ctx context.Context, o occasionalSites, needing []*Process) bool {
	if !a.preferOwnLinks(true) {
		return false
	}
	for _, p := range needing {
		if err := a.attachOwnOf(ctx, p, o.sites); err != nil {
			a.warnUnlessGone(p, err)
			a.aloneRefused = p
			return false
		}
	}
	err := a.prober.kernel.AwaitHits()
	a.reporter.Warn(err)
	return err == nil
}

// attachOwnOf attaches those of the sites that a process has mapped, for it alone.
func (a *Attacher) attachOwnOf(ctx context.Context, p *Process, sites []probes.Site) error {
	own := &detachable{attached: p.attachedAlone}
	for _, site := range sites {
		if p.maps(site) {
			site.Role = abi.RoleOwnFunction
			own.sites = append(own.sites, site)
		}
	}
	sortForAttaching(own.sites)
	var attached int
	var err error
	own.attachments, attached, err = a.prober.attachByFile(ctx, p.Target.PID, p.Target.Account(), own.sites, own.attached)
	if err == nil && attached < len(own.sites) {
		err = a.prober.close(own.attachments)
		if err == nil {
			err = errNotReplaced
		}
	}
	if err != nil {
		return err
	}
	a.alone[p] = own
	return nil
}

// preferLinksOfAll says that links for every process are about to be attached, beside those that single ones have: also
// those of a process that was released stay until the next Sweep. It reports whether that succeeded.
func (a *Attacher) preferLinksOfAll() bool { return !a.prefersOwn || a.preferOwnLinks(false) }

func (a *Attacher) preferOwnLinks(own bool) bool {
	if err := a.prober.kernel.PreferOwnLinks(own); err != nil {
		a.reporter.Warn(err)
		return false
	}
	a.prefersOwn = own
	return true
}

// endAlone has the next Sweep detach what single processes have for themselves, because every process has it: closing
// is released or, if hits may need it that have passed the others' place, replaced.
func (a *Attacher) endAlone(closing *[]unitAttachment) {
	for _, own := range a.alone {
		*closing = append(*closing, own.attachments...)
	}
	clear(a.alone)
}

// containsAll reports whether all sites are attached.
func containsAll(own *detachable, sites []probes.Site) bool {
	return !slices.ContainsFunc(sites, func(site probes.Site) bool { return !own.isAttached(site) })
}
