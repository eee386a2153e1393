package session

import (
	"fmt"

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

// warnOfUnlisted says what session.json does not list.
func (s *Session) warnOfUnlisted() {
	s.mu.Lock()
	l, missing, unstamped := s.listed, s.missing.unlisted, s.unstamped.unlisted
	s.mu.Unlock()
	if l.targetsLeftOut+l.sitesLeftOut+missing+unstamped > 0 {
		s.warn(fmt.Errorf("session.json lists only so much: it lacks %d states of processes (the table process has them), %d sites, %d missing events "+
			"and %d types of messages without stamps", l.targetsLeftOut, l.sitesLeftOut, missing, unstamped))
	}
}

// warnOfRefusals says what was left out because one user's processes would have taken too much.
func (s *Session) warnOfRefusals() {
	for _, refusal := range s.finder.Quota().Refusals() {
		s.warn(fmt.Errorf("left out, so that there is enough for others: %s", refusal))
	}
}
