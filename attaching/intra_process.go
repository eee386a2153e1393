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
)

// intraProcess is what a process has attached for intra-process communication only. On Humble that are functions that
// every callback passes (the executor's step, guard conditions), which most processes have no use for.
type intraProcess struct {
	detachable
	detachedAt int64 // CLOCK_MONOTONIC in nanoseconds
	told       bool  // what was missed
}

// IntraProcessPatience is how long a process must have had nodes and created nothing before it is believed to do
// without intra-process communication.
const IntraProcessPatience = 5 * time.Second

// separateIntraProcess takes out the sites that only intra-process communication needs. Where processes share their
// links they are for all.
func (a *Attacher) separateIntraProcess(sites []probes.Site) (others, intra []probes.Site) {
	if a.options.Shared {
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

// attachIntraProcess attaches what intra-process communication needs, unless the process is known to have none.
// attached is how many are probed that were not.
func (a *Attacher) attachIntraProcess(ctx context.Context, p *Process, sites []probes.Site) (attached int, err error) {
	in := &p.intraProcess
	fresh := slices.DeleteFunc(slices.Clone(sites), func(site probes.Site) bool { return p.attached.settled(site) })
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
	attachments, failed, err := a.attachSites(ctx, p.Target.PID, p.Target.Account(), fresh, p.attached)
	if err != nil {
		return 0, err
	}
	in.attachments = append(in.attachments, attachments...)
	in.since = time.Now()
	return len(fresh) - len(failed), nil
}

// detachIntraProcess detaches what only intra-process communication needs from a process that does without.
func (a *Attacher) detachIntraProcess(p *Process) {
	in := &p.intraProcess
	if len(in.attachments) == 0 || time.Since(in.since) < IntraProcessPatience || !a.entities.NoIntraProcess(p) {
		return
	}
	in.detachedAt = monotonicNow()
	a.detach(&in.detachable,
		fmt.Sprintf("PID %d (%s): there is no intra-process communication, it is not probed", p.Target.PID, p.Target.Command))
}

// returnToIntraProcess attaches what intra-process communication needs again to a process that may begin with it.
func (a *Attacher) returnToIntraProcess(ctx context.Context, p *Process) {
	in := &p.intraProcess
	if !in.detached {
		return
	}
	// In the order in which an enqueue would have to have passed them: what is seen of one has been seen from its
	// beginning.
	slices.SortStableFunc(in.sites, func(a, b probes.Site) int { return passRank(a.Event) - passRank(b.Event) })
	for _, site := range in.sites {
		attachments, _, err := a.attachSites(ctx, p.Target.PID, p.Target.Account(), []probes.Site{site}, p.attached)
		if err != nil { // all or none: the next look tries again
			if !errors.Is(err, loader.ErrProcessGone) {
				a.reporter.Warn(fmt.Errorf("attaching to PID %d: %w", p.Target.PID, err))
			}
			a.reporter.Warn(a.close(in.attachments))
			in.attachments = nil
			for _, closed := range in.sites {
				p.attached[keyOf(closed)] = siteState{settled: p.attached.settled(closed)}
			}
			return
		}
		in.attachments = append(in.attachments, attachments...)
	}
	in.comeBack()
}

// AwaitIntraProcess makes sure that a process is probed that has begun with intra-process communication, and says what
// was missed of it. It began at an instant of CLOCK_MONOTONIC in nanoseconds; 0 says that it is not known when.
func (a *Attacher) AwaitIntraProcess(ctx context.Context, p *Process, began int64) {
	in := &p.intraProcess
	if began == 0 {
		if !in.detached {
			return
		}
		began = in.detachedAt // it may have gone on since then
	}
	a.returnToIntraProcess(ctx, p)
	if len(in.sites) > 0 && !in.detached && began < in.returned && !in.told {
		in.told = true // it is not detached again
		missed := a.armed(p, in.sites, func(probes.Site) bool { return true })
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
	if p.intraProcess.detached && a.entities.HasIntraProcess(p) {
		a.AwaitIntraProcess(ctx, p, 0)
	}
	a.detachIntraProcess(p)
}

// passRank is an event's place on the way of a message; attachOrder has them the other way round, for a recording that
// has not begun.
func passRank(event abi.Event) int {
	return slices.Index([]abi.Event{abi.EventExecutorExecute, abi.EventRclcppIntraPublish, abi.EventRclcppRingBufferEnqueue}, event)
}
