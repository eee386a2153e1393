package attaching

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/target"
)

// ThreadShare is what the recording has cost a thread in a window of time, as shares of the time that passed.
type ThreadShare struct {
	PID, TID int32
	Share    float64
	Units    [abi.HitUnits]float64
}

// unitAttachment is an attachment that is closed when its unit is retired. Without a budget, and for all that is
// needed, the unit is notOptional.
type unitAttachment struct {
	attachment
	unit abi.Unit
	// file is the one that its sites are in, where they are attached file by file.
	file target.FileID
	// account is whose share of probes it takes; nil where it is for everybody.
	account *quota.Account
	probes  int64
	// proven is when its sites were last seen to be what was proven, CLOCK_MONOTONIC in nanoseconds.
	proven int64
}

// notOptional is no unit.
const notOptional = abi.HitUnits

// budget is what a recording has given up to cost no more than it may.
type budget struct {
	// limit is what it may cost a thread, as a share of its time; 0: whatever it takes.
	limit float64
	// byUnit says that sites are attached unit by unit, so that one can be detached.
	byUnit   bool
	optional map[abi.Unit]bool // units that are attached and may be retired
	// retired are units that are not probed.
	retired map[abi.Unit]retirement
	told    bool // that there is nothing left to give up
	// settling says that sites were detached within the window that is judged next.
	settling bool
}

// retirement is why a unit is not probed.
type retirement struct {
	why string // as a plan says it
	// forCost: for what it has cost a thread, else because the profile does without it.
	forCost bool
}

func newBudget(o Options) *budget {
	return &budget{
		limit: o.MaxOverhead, byUnit: o.MaxOverhead > 0 || o.Driven, optional: map[abi.Unit]bool{}, retired: map[abi.Unit]retirement{},
	}
}

// optionalUnit is the unit of a site that may be retired, notOptional of all others.
func optionalUnit(site probes.Site) abi.Unit {
	if site.Optional {
		return site.Unit()
	}
	return notOptional
}

// unitSites are sites that are attached together.
type unitSites struct {
	unit  abi.Unit
	sites []probes.Site
}

// groupByUnit puts what is not optional first. Where nothing will be retired all sites are one group.
func (b *budget) groupByUnit(sites []probes.Site) []unitSites {
	if !b.byUnit {
		return []unitSites{{notOptional, sites}}
	}
	groups := []unitSites{{unit: notOptional}}
	for _, site := range sites {
		unit := optionalUnit(site)
		index := slices.IndexFunc(groups, func(g unitSites) bool { return g.unit == unit })
		if index < 0 {
			index = len(groups)
			groups = append(groups, unitSites{unit: unit})
		}
		groups[index].sites = append(groups[index].sites, site)
	}
	return slices.DeleteFunc(groups, func(g unitSites) bool { return len(g.sites) == 0 })
}

// optionalUnits returns the optional units that have cost a thread anything, the dearest first.
func (b *budget) optionalUnits(of ThreadShare) []abi.Unit {
	var units []abi.Unit
	for unit := range b.optional {
		if of.Units[unit] > 0 {
			units = append(units, unit)
		}
	}
	slices.SortFunc(units, func(x, y abi.Unit) int {
		return cmp.Or(cmp.Compare(of.Units[y], of.Units[x]), cmp.Compare(x, y))
	})
	return units
}

// isRetired reports whether a site is not to be probed any more.
func (b *budget) isRetired(site probes.Site) bool {
	_, retired := b.retired[optionalUnit(site)]
	return retired
}

// omitRetired takes out of a plan what is not to be probed any more.
func (b *budget) omitRetired(plan *probes.Plan) {
	var reasons []string
	for _, r := range b.retired {
		reasons = append(reasons, r.why)
	}
	slices.Sort(reasons)
	for _, why := range slices.Compact(reasons) {
		plan.Omit(func(site probes.Site) bool { return b.isRetired(site) && b.retired[site.Unit()].why == why }, why)
	}
}

// KeepBudget retires units until the thread with the highest cost is within the budget: the dearest first, by what
// their hits cost this thread. It is given what threads were charged in the last window, the dearest first, and reports
// whether units were retired.
func (a *Attacher) KeepBudget(threads []ThreadShare) (retired bool) {
	limit := a.budget.limit
	settling := a.budget.settling
	a.budget.settling = false
	// Most of what bodies cost ends by itself.
	threads = slices.DeleteFunc(threads, func(t ThreadShare) bool { return a.settlesSoon(t.PID) })
	if limit == 0 || settling || len(threads) == 0 || threads[0].Share <= limit {
		return false
	}
	worst := threads[0]
	units := a.budget.optionalUnits(worst)
	for expected, rest := worst.Share, units; expected > limit && len(rest) > 0; rest = rest[1:] {
		expected -= worst.Units[rest[0]]
		a.retire(rest[0], worst)
	}
	if len(units) == 0 && !a.budget.told {
		a.budget.told = true
		a.reporter.Warn(fmt.Errorf("the recording costs thread %d of PID %d %s of its time, more than --max-overhead %s: what is left to probe is needed for "+
			"callbacks, takes and publishes", worst.TID, worst.PID, percent(worst.Share), percent(limit)))
	}
	return len(units) > 0
}

// settlesSoon reports whether a process has bodies probed for the few seconds after it has changed its libraries, or
// what only intra-process communication needs while it is not known to do without.
func (a *Attacher) settlesSoon(pid int32) bool {
	if a.sharedBodiesGoSoon() {
		return true
	}
	return slices.ContainsFunc(a.processes, func(p *Process) bool {
		in := a.occasionalOf(p)
		return p.Target.PID == pid && (p.bodies.goSoon() ||
			len(in.attachments) > 0 && time.Since(in.attachedAt) < IntraProcessPatience+NoticeTime)
	})
}

// retire detaches a unit from all processes because of what it costs a thread.
func (a *Attacher) retire(unit abi.Unit, of ThreadShare) {
	a.reporter.Retiring(unit, of)
	a.retireUnits([]abi.Unit{unit}, retirement{why: "it was detached while recording, to keep --max-overhead " + percent(a.budget.limit), forCost: true})
	a.reporter.Message(fmt.Sprintf("the recording costs thread %d of PID %d %s of its time, more than --max-overhead %s: %s, %s of it, is probed no more",
		of.TID, of.PID, percent(of.Share), percent(a.budget.limit), unit, percent(of.Units[unit])))
}

// percent shows a share as --max-overhead takes it.
func percent(share float64) string { return fmt.Sprintf("%.3g%%", 100*share) }
