package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// unitAttachment is an attachment that is closed when its unit is left. Without a budget, and for all that is needed, the unit is notOptional.
type unitAttachment struct {
	*loader.Attachment
	unit probes.Unit
	// file is the one that its sites are in, where they are attached file by file.
	file target.FileID
	// probes are those of a single process.
	probes *probesOf
}

// notOptional is no unit.
const notOptional = probes.Units

// budget is what a recording may cost, and what it has given up for that. Only the session's own goroutine uses it.
type budget struct {
	attached map[probes.Unit]bool // optional units
	left     []probes.Unit
	shared   []unitAttachment // of sites that are attached for every process
	told     bool             // that there is nothing left to give up
	// settling says that bodies were left within the window that is judged next.
	settling bool
}

// attachTo attaches sites to a process alone, as far as there is room for them.
func (s *Session) attachTo(ctx context.Context, entry *process, sites []probes.Site) (attachments []unitAttachment, problems []loader.SiteError, err error) {
	return s.attachSites(ctx, entry.row.PID, entry.target.Account(), sites)
}

// attachSites attaches sites, those that a budget may ask to detach apart from the others. The account pays.
func (s *Session) attachSites(
	ctx context.Context, pid int32, account *quota.Account, sites []probes.Site,
) (attachments []unitAttachment, problems []loader.SiteError, err error) {
	for _, group := range s.groupByUnit(sites) {
		taken := &probesOf{account, int64(len(group.sites))}
		if err := account.Take(quota.Probes, taken.count); err != nil {
			return nil, problems, errors.Join(err, closeAttachments(attachments))
		}
		attachment, groupProblems, err := s.loader.Attach(ctx, pid, group.sites)
		problems = append(problems, groupProblems...)
		if err != nil {
			taken.give()
			return nil, problems, errors.Join(err, closeAttachments(attachments))
		}
		if group.unit != notOptional {
			s.budget.attached[group.unit] = true
		}
		attachments = append(attachments, unitAttachment{Attachment: attachment, unit: group.unit, probes: taken})
	}
	return attachments, problems, nil
}

func closeAttachments(attachments []unitAttachment) error {
	var errs []error
	for _, attachment := range attachments {
		errs = append(errs, attachment.Close())
	}
	return errors.Join(errs...)
}

// unitSites are sites that are attached together.
type unitSites struct {
	unit  probes.Unit
	sites []probes.Site
}

// groupByUnit puts what is not optional first. Without a budget all sites are one group.
func (s *Session) groupByUnit(sites []probes.Site) []unitSites {
	if s.configuration.MaxOverhead == 0 {
		return []unitSites{{notOptional, sites}}
	}
	groups := []unitSites{{unit: notOptional}}
	for _, site := range sites {
		unit := probes.Unit(notOptional)
		if site.Optional {
			unit = site.Unit()
		}
		index := slices.IndexFunc(groups, func(g unitSites) bool { return g.unit == unit })
		if index < 0 {
			index = len(groups)
			groups = append(groups, unitSites{unit: unit})
		}
		groups[index].sites = append(groups[index].sites, site)
	}
	return slices.DeleteFunc(groups, func(g unitSites) bool { return len(g.sites) == 0 })
}

// keepBudget leaves units until the thread with the highest cost is within the budget: the dearest first, by what their hits cost this thread.
func (s *Session) keepBudget(windows []threadWindow) {
	limit := s.configuration.MaxOverhead
	settling := s.budget.settling
	s.budget.settling = false
	// Most of what bodies cost ends by itself.
	windows = slices.DeleteFunc(windows, func(w threadWindow) bool { return s.leavesBodiesSoon(w.pid) })
	if limit == 0 || settling || len(windows) == 0 || windows[0].share <= limit {
		return
	}
	worst := windows[0]
	units := s.optionalUnits(worst)
	for expected, rest := worst.share, units; expected > limit && len(rest) > 0; rest = rest[1:] {
		expected -= worst.units[rest[0]]
		s.leave(rest[0], worst)
	}
	switch {
	case len(units) > 0:
		s.takeAccounts() // what the rest costs is seen from now on
	case !s.budget.told:
		s.budget.told = true
		s.warn(fmt.Errorf("the recording costs thread %d of PID %d %s of its time, more than --max-overhead %s: what is left to probe is needed for "+
			"callbacks, takes and publishes", worst.tid, worst.pid, percent(worst.share), percent(limit)))
	}
}

// leavesBodiesSoon reports whether a process has bodies probed for the few seconds after it has changed its libraries, or what only intra-process
// communication needs while it is not known to do without.
func (s *Session) leavesBodiesSoon(pid int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := s.processes[pid]
	if entry == nil {
		return false
	}
	in := &entry.intraProcess
	return len(entry.bodies.attachments) > 0 && !entry.bodies.stay || len(in.attachments) > 0 && time.Since(in.since) < intraProcessPatience+tickInterval
}

// optionalUnits returns the optional units that have cost a thread anything, the dearest first.
func (s *Session) optionalUnits(of threadWindow) []probes.Unit {
	var units []probes.Unit
	for unit := range s.budget.attached {
		if of.units[unit] > 0 {
			units = append(units, unit)
		}
	}
	slices.SortFunc(units, func(a, b probes.Unit) int {
		return cmp.Or(cmp.Compare(of.units[b], of.units[a]), cmp.Compare(a, b))
	})
	return units
}

// leave detaches a unit from all processes for the rest of the recording, because of what it costs a thread.
func (s *Session) leave(unit probes.Unit, of threadWindow) {
	at := s.now()
	s.warn(s.loader.LeaveUnit(unit))
	delete(s.budget.attached, unit)
	s.budget.left = append(s.budget.left, unit)
	s.budget.shared = s.detachUnit(unit, s.budget.shared)
	s.mu.Lock()
	entries := slices.Collect(maps.Values(s.processes))
	s.mu.Unlock()
	for _, entry := range entries {
		entry.attachments = s.detachUnit(unit, entry.attachments)
		for _, group := range entry.leavable() {
			group.attachments = s.detachUnit(unit, group.attachments)
			group.sites = slices.DeleteFunc(group.sites, s.isLeft)
		}
		if entry.plan != nil {
			s.leaveOut(entry.plan)
			s.noteMissing(entry, entry.plan.Missing)
		}
	}
	s.mu.Lock()
	s.detached = append(s.detached, trace.DetachedEvent{
		Event: unit.String(), Timestamp: at, PID: int(of.pid), TID: int(of.tid), Share: of.share, OwnShare: of.units[unit],
	})
	s.mu.Unlock()
	s.message(fmt.Sprintf("the recording costs thread %d of PID %d %s of its time, more than --max-overhead %s: %s, %s of it, is probed no more",
		of.tid, of.pid, percent(of.share), percent(s.configuration.MaxOverhead), unit, percent(of.units[unit])))
}

// detachUnit closes the attachments of a unit and returns the others.
func (s *Session) detachUnit(unit probes.Unit, attachments []unitAttachment) []unitAttachment {
	return slices.DeleteFunc(attachments, func(attachment unitAttachment) bool {
		if attachment.unit != unit {
			return false
		}
		s.warn(attachment.Close())
		return true
	})
}

// isLeft reports whether a site is not to be probed any more.
func (s *Session) isLeft(site probes.Site) bool {
	return site.Optional && slices.Contains(s.budget.left, site.Unit())
}

// leaveOut takes out of a plan what is not to be probed any more.
func (s *Session) leaveOut(plan *probes.Plan) {
	if len(s.budget.left) > 0 {
		plan.LeaveOut(s.isLeft, "it was detached while recording, to keep --max-overhead "+percent(s.configuration.MaxOverhead))
	}
}

func percent(share float64) string { return fmt.Sprintf("%.3g%%", 100*share) }

// takeAccounts takes the accounts of all threads, and returns what they were charged since the last time.
func (s *Session) takeAccounts() []threadWindow {
	threads, err := s.loader.LiveThreads()
	s.warn(err)
	accounts, err := accountsOf(threads)
	s.warn(err)
	return s.overhead.look(accounts, readClock(unix.CLOCK_MONOTONIC))
}

// noteOverhead puts into session.json what the recording, which was closed at an instant of CLOCK_MONOTONIC, has cost.
func (s *Session) noteOverhead(closed int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	costs := cmp.Or(s.options.Costs, probes.DefaultCosts())
	s.report.Overhead = s.overhead.report(costs, time.Duration(closed-s.openedMonotonic))
	s.report.Overhead.Detached = s.detached
}
