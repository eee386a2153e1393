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
)

// intraProcess is what a process has attached for intra-process communication only. On Humble that are functions that
// every callback passes (the executor's step, guard conditions), which most processes have no use for.
type intraProcess struct {
	detachable
	detachedAt int64     // CLOCK_MONOTONIC in nanoseconds
	asked      time.Time // when it was last asked who does without
}

// IntraProcessPatience is how long a process must have had nodes and created nothing before it is believed to do
// without intra-process communication.
const IntraProcessPatience = 5 * time.Second

// separateIntraProcess takes out the sites that only intra-process communication needs. Processes to come may need them
// from their first event, so that nothing is gained by detaching them.
func (o Options) separateIntraProcess(sites []probes.Site) (others, intra []probes.Site) {
	if o.ToCome {
		return sites, nil
	}
	for _, site := range sites {
		if site.OnlyIntraProcess() {
			intra = append(intra, site)
		} else {
			others = append(others, site)
		}
	}
	return others, intra
}

// intraSites are those that are attached for intra-process communication in a process, or in every one.
type intraSites struct {
	*intraProcess
	pid     int32
	account *quota.Account
	known   attachedSites
}

// intraOf are those by which the intra-process communication of a process is observed.
func (a *Attacher) intraOf(p *Process) intraSites {
	if p.sharesIntra {
		return a.sharedIntra()
	}
	return p.ownIntra()
}

func (a *Attacher) sharedIntra() intraSites {
	return intraSites{intraProcess: &a.intraProcess, known: a.attached}
}

func (p *Process) ownIntra() intraSites {
	return intraSites{&p.intraProcess, p.Target.PID, p.Target.Account(), p.attached}
}

// attachOwnIntraProcess attaches what a process alone needs for intra-process communication. sharesToo says that it
// also shares some of that, which then tells whether it has any.
func (a *Attacher) attachOwnIntraProcess(ctx context.Context, p *Process, sites []probes.Site, sharesToo bool) (attached int, err error) {
	if len(sites) > 0 && !sharesToo {
		p.sharesIntra = false
	}
	return p.ownIntra().attach(ctx, &a.prober, sites)
}

// attachSharedIntraProcess attaches what a process needs for intra-process communication for every process.
func (a *Attacher) attachSharedIntraProcess(ctx context.Context, p *Process, sites []probes.Site) (attached int, err error) {
	if len(sites) > 0 && !p.sharesIntra {
		p.sharesIntra = true
		a.returnToIntraProcess(ctx, p)
	}
	return a.sharedIntra().attach(ctx, &a.prober, sites)
}

// attach attaches sites unless they were detached because there is no intra-process communication. attached is how many
// are probed that were not.
func (in intraSites) attach(ctx context.Context, with *prober, sites []probes.Site) (attached int, err error) {
	fresh := slices.DeleteFunc(slices.Clone(sites), in.known.settled)
	if len(fresh) == 0 {
		return 0, nil
	}
	sortForAttaching(fresh)
	for _, site := range fresh {
		if !slices.ContainsFunc(in.sites, func(known probes.Site) bool { return keyOf(known) == keyOf(site) }) {
			in.sites = append(in.sites, site)
		}
	}
	if in.detached {
		return 0, nil
	}
	for _, group := range byFile(fresh) {
		count, err := in.attachFile(ctx, with, group)
		if err != nil {
			return 0, err
		}
		attached += count
	}
	in.since = time.Now()
	return attached, nil
}

// attachFile attaches sites that are all in one file.
func (in intraSites) attachFile(ctx context.Context, with *prober, sites []probes.Site) (attached int, err error) {
	attachments, attached, err := with.attachFile(ctx, in.pid, in.account, sites, in.known)
	in.attachments = append(in.attachments, attachments...)
	return attached, err
}

// detachIntraProcess detaches what only intra-process communication needs from a process that does without, or from
// every one if all do.
func (a *Attacher) detachIntraProcess(p *Process) {
	in := a.intraOf(p)
	if len(in.attachments) == 0 || time.Since(in.since) < IntraProcessPatience {
		return
	}
	if p.sharesIntra && time.Since(in.asked) < NoticeTime {
		return // another process has asked for all of them
	}
	in.asked = time.Now()
	sharing, whose := []*Process{p}, fmt.Sprintf("PID %d (%s)", p.Target.PID, p.Target.Command)
	if p.sharesIntra {
		sharing, whose = a.processes, "all processes"
	}
	if slices.ContainsFunc(sharing, func(p *Process) bool { return !a.entities.NoIntraProcess(p) }) {
		return
	}
	in.detachedAt = monotonicNow()
	a.prober.detach(&in.detachable, whose+": there is no intra-process communication, it is not probed")
}

// returnToIntraProcess attaches what intra-process communication needs again to a process that may begin with it.
func (a *Attacher) returnToIntraProcess(ctx context.Context, p *Process) {
	in := a.intraOf(p)
	if !in.detached {
		return
	}
	// In the order in which an enqueue would have to have passed them: what is seen of one has been seen from its
	// beginning.
	slices.SortStableFunc(in.sites, func(a, b probes.Site) int { return passRank(a.Event) - passRank(b.Event) })
	for _, site := range in.sites {
		if _, err := in.attachFile(ctx, &a.prober, []probes.Site{site}); err != nil { // all or none: the next look tries again
			if !errors.Is(err, loader.ErrProcessGone) {
				a.reporter.Warn(fmt.Errorf("attaching to PID %d: %w", p.Target.PID, err))
			}
			a.reporter.Warn(a.prober.close(in.attachments))
			in.attachments = nil
			for _, closed := range in.sites {
				in.known[keyOf(closed)] = siteState{settled: in.known.settled(closed)}
			}
			return
		}
	}
	in.comeBack()
}

// AwaitIntraProcess makes sure that a process is probed that has begun with intra-process communication, and says what
// was missed of it. It began at an instant of CLOCK_MONOTONIC in nanoseconds; 0 says that it is not known when.
func (a *Attacher) AwaitIntraProcess(ctx context.Context, p *Process, began int64) {
	in := a.intraOf(p)
	if began == 0 {
		if !in.detached {
			return
		}
		began = in.detachedAt // it may have gone on since then
	}
	a.returnToIntraProcess(ctx, p)
	if len(in.sites) > 0 && !in.detached && began < in.returned && !p.toldIntra {
		p.toldIntra = true // it is not detached again
		missed := a.armed(p, in.sites, func(site probes.Site) bool { return !p.sharesIntra || p.maps(site) })
		for i := range missed {
			missed[i].Since, missed[i].At = began, in.returned
		}
		a.reporter.Armed(p, missed)
		a.reporter.Warn(fmt.Errorf("PID %d (%s) has begun with intra-process communication: what passed its buffers in the first %v is not recorded",
			p.Target.PID, p.Target.Command, time.Duration(in.returned-began)))
	}
}

// settleIntraProcess detaches it or returns to it, as has become known of a process.
func (a *Attacher) settleIntraProcess(ctx context.Context, p *Process) {
	if a.intraOf(p).detached && a.entities.HasIntraProcess(p) {
		a.AwaitIntraProcess(ctx, p, 0)
	}
	a.detachIntraProcess(p)
}

// passRank is an event's place on the way of a message; attachOrder has them the other way round, for a recording that
// has not begun.
func passRank(event abi.Event) int {
	return slices.Index([]abi.Event{abi.EventExecutorExecute, abi.EventRclcppIntraPublish, abi.EventRclcppRingBufferEnqueue}, event)
}
