package session

import (
	"time"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/probes"
)

// wire makes what a recording needs beside its loader and its writer, and gives each what it needs of the others.
func (s *Session) wire(bootID string) {
	c := s.configuration
	s.processes = newProcesses(s.clock, s.rows, s.journal)
	s.mappings = new(mappings)
	s.headers = newHeaders(s.loader, s.finder.Quota(), s.processes, s.journal)
	memories := &memories{
		lost:   func() bool { return s.lostInits.meanwhile(s.loader.LostInits) },
		unread: func(pid int32, address uint64) bool { return s.loader.Unread(pid, address, s.merger.Merged()) },
		naming: &naming{journal: s.journal}, layouts: entities.NewLayouts(), journal: s.journal,
	}
	starts := new(recentStarts)
	strangers := &strangers{
		configuration: c, finder: s.finder, bootID: bootID, processes: s.processes, memories: memories, looks: s.looks, starts: starts,
		journal: s.journal,
	}
	s.announced = newAnnounced(s.clock, s.processes, s.mappings, starts, s.looks)
	s.merger = merge.New(merge.Options{
		RealtimeOffset: s.clock.RealtimeOffset,
		Filter:         &c.filter,
		Identify:       strangers.identify,
		OnRecorded:     s.processes.show,
		OnProcess:      s.announced.onProcess,
		OnIgnored:      newIgnored(s.loader, s.finder.Quota(), s.processes, s.journal).decide,
		OnIntraProcess: s.announced.onIntraProcess,
		OnMessageType:  s.headers.ask,
		OnThread:       s.overhead.end,
		EventName:      eventName,
	})
	s.scans = newScans(s.clock, s.processes, s.merger, memories.layouts, s.journal)
	s.blind = &blindSpans{
		clock: s.clock, processes: s.processes, mappings: s.mappings, planner: s.planner, rows: s.rows, journal: s.journal,
	}
	report := attachReport{s.journal, s.processes, s.merger, s.clock, s.blind}
	s.attacher = attaching.New(s.loader, c.attaching(s.options, s.links), report, report)
	s.blind.attacher = s.attacher
	s.blind.hasIntraProcess, s.blind.missedIntraProcess = report.hasIntraProcess, s.attacher.MissedIntraProcess
	s.known.processes, s.known.attacher = s.processes, s.attacher
	turns := newTurns(roundTime)
	admission := &admission{
		configuration: c, finder: s.finder, loader: s.loader, merger: s.merger, clock: s.clock, processes: s.processes, memories: memories,
		looks: s.looks, starts: starts, turns: &turns, journal: s.journal,
	}
	s.follower = &follower{
		configuration: c, finder: s.finder, loader: s.loader, merger: s.merger, processes: s.processes, mappings: s.mappings,
		admission: admission, planner: s.planner, attacher: s.attacher, scans: s.scans, headers: s.headers, blind: s.blind, looks: s.looks,
		journal: s.journal, turns: &turns, stale: staleAddresses{},
	}
	if s.mayChangeLinks() {
		s.linkChanges = &linkChanges{
			attacher: s.attacher, recorded: s.processes.count, all: s.countROS2, costs: s.options.Costs, clock: s.clock, journal: s.journal,
			patience: linkPatience, next: time.Now().Add(linkInterval),
		}
	}
	s.first = firstAwaited{finder: s.finder, processes: s.processes, attacher: s.attacher, all: s.configuration.All}
}

// eventName describes the event of a raw record.
func eventName(id uint8) (string, int) {
	event := abi.Event(id)
	entry, _ := probes.Lookup(event)
	return event.String(), len(entry.Arguments)
}
