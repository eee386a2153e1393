package session

import (
	"fmt"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/trace"
)

// So much session.json lists, which is read and written whole: processes may come and go for months, as many as
// somebody likes.
const (
	listedTargets = 10_000
	listedSites   = 30_000
)

// listed is what session.json lists.
type listed struct {
	targets                      map[trace.ProcessKey]int // places in the list
	targetsLeftOut, sitesLeftOut int
}

// target lists a process as it is known now.
func (l *listed) target(report *trace.Session, row trace.Process) {
	t := trace.Target{
		PID: int(row.PID), ProcessStart: row.ProcessStart, NamespacePID: int(row.NamespacePID.Value), Command: row.Command,
		Executable: row.Executable, Distro: row.Distro, RMWImplementation: row.RMWImplementation,
	}
	at, known := l.targets[row.ProcessKey]
	switch {
	case known:
		report.Targets[at] = t
	case len(report.Targets) == listedTargets:
		l.targetsLeftOut++ // perhaps more than once
	default:
		if l.targets == nil {
			l.targets = map[trace.ProcessKey]int{}
		}
		l.targets[row.ProcessKey] = len(report.Targets)
		report.Targets = append(report.Targets, t)
	}
}

// site lists a site that is probed in a process or, if pid is 0, in every one.
func (l *listed) site(report *trace.Session, pid int32, site probes.Site) {
	if len(report.Plan.Sites) == listedSites {
		l.sitesLeftOut++
		return
	}
	described := describeSite(site)
	if pid != 0 {
		described.PIDs = []int{int(pid)}
	}
	report.Plan.Sites = append(report.Plan.Sites, described)
}

func describeSite(site probes.Site) trace.Site {
	return trace.Site{
		Event: site.Event.String(), File: site.Library, BuildID: site.BuildID, Symbol: site.Symbol,
		Offset: site.Offset, Class: site.Class.String(), Role: site.Role.String(),
	}
}

// warnOfRefusals says what was left out because one user's processes would have taken too much.
func (s *Session) warnOfRefusals() {
	for _, refusal := range s.finder.Quota().Refusals() {
		s.journal.warn(fmt.Errorf("left out, so that there is enough for others: %s", refusal))
	}
}
