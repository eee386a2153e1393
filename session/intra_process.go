package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/probes"
)

// intraProcess is what a process has attached for intra-process communication only. On Humble that are functions that every callback passes
// (the executor's step, guard conditions), which most processes have no use for.
type intraProcess struct {
	leavableSites
	leftAt int64 // CLOCK_MONOTONIC in nanoseconds
	told   bool  // what was missed
}

// intraProcessPatience is how long a process must have had nodes and created nothing before it is believed to do without intra-process
// communication.
const intraProcessPatience = 5 * time.Second

// intraProcessSeen says that a process has created a subscription with intra-process communication.
type intraProcessSeen struct {
	pid int32
	at  int64 // CLOCK_MONOTONIC in nanoseconds, 0 where it is not known
}

// separateIntraProcess takes out the sites that only intra-process communication needs. Where processes share their links they are for all.
func (s *Session) separateIntraProcess(sites []probes.Site) (others, intra []probes.Site) {
	if s.configuration.systemWide() {
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

// attachIntraProcess attaches what intra-process communication needs, unless the process is known to have none. attached is how many are
// probed that were not.
func (s *Session) attachIntraProcess(ctx context.Context, entry *process, sites []probes.Site) (attached int, err error) {
	in := &entry.intraProcess
	fresh := slices.DeleteFunc(slices.Clone(sites), func(site probes.Site) bool { return entry.attached[keyOf(site)] })
	if len(fresh) == 0 {
		return 0, nil
	}
	sortForAttaching(fresh)
	for _, site := range fresh {
		if !slices.ContainsFunc(in.sites, func(known probes.Site) bool { return keyOf(known) == keyOf(site) }) {
			in.sites = append(in.sites, site)
		}
	}
	if in.left {
		return 0, nil
	}
	attachments, problems, err := s.attachTo(ctx, entry, fresh)
	failed := s.warnOfSites(problems)
	if err != nil {
		return 0, fmt.Errorf("attaching to PID %d: %w", entry.row.PID, err)
	}
	in.attachments = append(in.attachments, attachments...)
	in.since = time.Now()
	s.noteSites(entry.row.PID, entry.attached, fresh, failed)
	return len(fresh) - len(failed), nil
}

// hasIntraProcess reports whether a process has a subscription with intra-process communication.
func (s *Session) hasIntraProcess(entry *process) (has bool) {
	s.warn(s.merger.Update(entry.row.PID, func(merged *merge.Process) error {
		has = merged.Key == entry.row.ProcessKey && merged.Graph.HasIntraProcess()
		return nil
	}))
	return has
}

// doesWithoutIntraProcess reports whether a process has been what it is for a while, and without intra-process communication.
func (s *Session) doesWithoutIntraProcess(entry *process) (without bool) {
	if !entry.scanned.covered || entry.scanned.partial {
		return false
	}
	s.warn(s.merger.Update(entry.row.PID, func(merged *merge.Process) error {
		g := merged.Graph
		without = merged.Key == entry.row.ProcessKey && g.HasNodes() && !g.HasIntraProcess() && s.now()-g.LastEvent() > int64(intraProcessPatience)
		return nil
	}))
	return without
}

// leaveIntraProcess detaches what only intra-process communication needs from a process that does without.
func (s *Session) leaveIntraProcess(entry *process) {
	in := &entry.intraProcess
	if len(in.attachments) == 0 || time.Since(in.since) < intraProcessPatience || !s.doesWithoutIntraProcess(entry) {
		return
	}
	in.leftAt = readClock(unix.CLOCK_MONOTONIC)
	s.leaveSites(&in.leavableSites, fmt.Sprintf("PID %d (%s): there is no intra-process communication, it is not probed", entry.row.PID, entry.row.Command))
}

// onIntraProcess is told of a new subscription with intra-process communication. It is called with the merger locked.
func (s *Session) onIntraProcess(pid int32, at int64) {
	select {
	case s.intraProcesses <- intraProcessSeen{pid, at}:
	default: // the next tick looks at all processes
	}
}

// returnToIntraProcess attaches what intra-process communication needs again to a process that may begin with it.
func (s *Session) returnToIntraProcess(ctx context.Context, entry *process) {
	in := &entry.intraProcess
	if !in.left {
		return
	}
	// In the order in which an enqueue would have to have passed them: what is seen of one has been seen from its beginning.
	slices.SortStableFunc(in.sites, func(a, b probes.Site) int { return passRank(a.Event) - passRank(b.Event) })
	for _, site := range in.sites {
		attachments, problems, err := s.attachTo(ctx, entry, []probes.Site{site})
		failed := s.warnOfSites(problems)
		if errors.Is(err, loader.ErrProcessGone) {
			return
		}
		s.warn(err)
		in.attachments = append(in.attachments, attachments...)
		if !entry.attached[keyOf(site)] {
			s.noteSites(entry.row.PID, entry.attached, []probes.Site{site}, failed)
		}
	}
	in.comeBack()
}

// awaitIntraProcess makes sure that a process is probed that has begun with intra-process communication, and says what was missed of it.
func (s *Session) awaitIntraProcess(ctx context.Context, seen intraProcessSeen) {
	s.mu.Lock()
	entry := s.processes[seen.pid]
	gone := entry == nil || entry.ended || entry.target == nil
	s.mu.Unlock()
	if gone {
		return
	}
	in := &entry.intraProcess
	if seen.at == 0 {
		if !in.left {
			return
		}
		seen.at = in.leftAt // it may have gone on since then
	}
	s.returnToIntraProcess(ctx, entry)
	if len(in.sites) > 0 && seen.at < in.returned && !in.told {
		in.told = true // there is no leaving it again
		s.warn(fmt.Errorf("PID %d (%s) has begun with intra-process communication: what passed its buffers in the first %v is not recorded",
			seen.pid, entry.row.Command, time.Duration(in.returned-seen.at)))
	}
}

// lookAtIntraProcess leaves it or returns to it, as has become known of a process.
func (s *Session) lookAtIntraProcess(ctx context.Context, entry *process) {
	if entry.intraProcess.left && s.hasIntraProcess(entry) {
		s.awaitIntraProcess(ctx, intraProcessSeen{pid: entry.row.PID})
	}
	s.leaveIntraProcess(entry)
}

// passRank is an event's place on the way of a message; attachOrder has them the other way round, for a recording that has not begun.
func passRank(event probes.Event) int {
	return slices.Index([]probes.Event{probes.EventExecutorExecute, probes.EventRclcppIntraPublish, probes.EventRclcppRingBufferEnqueue}, event)
}
