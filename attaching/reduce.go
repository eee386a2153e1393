package attaching

import (
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// Change sets what the recording may cost a thread, as a share of its time (0: whatever it takes), and which profile
// it follows. What the profile does without is detached from all processes, and left out of those that come. It returns
// the units that were left out before and may be attached again (BeginReinstating): those of a larger profile and, if
// the limit is another one, those that had cost too much.
func (a *Attacher) Change(limit float64, profile probes.Profile) (wanted []abi.Unit) {
	forgiven := limit != a.budget.limit
	a.budget.limit, a.budget.told = limit, a.budget.told && !forgiven
	left := retirement{why: fmt.Sprintf("the profile %s, set while recording, leaves it out", profile)}
	var unwanted []abi.Unit
	for unit := range abi.Unit(abi.HitUnits) {
		former, retired := a.budget.retired[unit]
		switch {
		case profile.LeavesOut(unit) && retired:
			a.budget.retired[unit] = left
		case profile.LeavesOut(unit):
			unwanted = append(unwanted, unit)
		case retired && (forgiven || !former.forCost):
			wanted = append(wanted, unit)
		}
	}
	if len(unwanted) > 0 {
		a.retireUnits(unwanted, left)
		a.budget.settling = true
	}
	return wanted
}

// retireUnits detaches units from all processes.
func (a *Attacher) retireUnits(units []abi.Unit, r retirement) {
	for _, unit := range units {
		a.prober.retire(unit, r)
	}
	lists := append(a.sharedLists(), &a.replaced)
	for _, p := range a.processes {
		lists = append(lists, p.attachmentLists()...)
	}
	a.prober.closeIf(func(held unitAttachment) bool { return slices.Contains(units, held.unit) }, lists...)
	for _, group := range a.sharedDetachables() {
		group.sites = slices.DeleteFunc(group.sites, a.budget.isRetired)
	}
	for _, p := range a.processes {
		for _, group := range p.detachables() {
			group.sites = slices.DeleteFunc(group.sites, a.budget.isRetired)
		}
		if p.plan != nil {
			a.budget.omitRetired(p.plan)
			a.reporter.Missing(p, p.plan.Missing)
		}
	}
}

// BeginReinstating says that units are to be probed again: until EndReinstating the caller attaches the plans of all
// processes anew. That they were not probed before is no blind moment: nobody wanted them.
func (a *Attacher) BeginReinstating(units []abi.Unit) {
	a.reinstating = units
	known := []attachedSites{a.attached}
	for _, group := range a.sharedDetachables() {
		known = append(known, group.attached)
	}
	for _, p := range a.processes {
		known = append(known, p.attached)
		for _, group := range p.detachables() {
			known = append(known, group.attached)
		}
	}
	for _, sites := range known {
		if sites != nil {
			sites.forgetUnits(units)
		}
	}
	for _, unit := range units {
		delete(a.budget.retired, unit)
	}
}

// EndReinstating has what the units tell count again.
func (a *Attacher) EndReinstating() error {
	units := a.reinstating
	a.reinstating = nil
	a.budget.settling = true
	return a.prober.kernel.ReinstateUnits(units)
}

// tellReinstated notes that it need not be told since when sites of units are armed that were left out.
func (a *Attacher) tellReinstated(p *Process, sites []probes.Site) {
	for _, site := range sites {
		if a.isReinstated(site) {
			p.told[keyOf(site)] = true
		}
	}
}

// isReinstated reports whether a site is attached again that was not wanted before.
func (a *Attacher) isReinstated(site probes.Site) bool {
	return slices.Contains(a.reinstating, optionalUnit(site))
}
