package session

import (
	"cmp"
	"maps"
	"slices"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// listedMissing is how many events and reasons session.json lists.
	listedMissing = 2000
	// listedPIDs is how many processes it lists for each of them.
	listedPIDs = 1000
)

// missingEvents is what cannot be observed: of each process, what its last plan says.
type missingEvents struct {
	processes map[missingEvent]*missingIn
	of        map[int32][]missingEvent
	noted     int
	// unlisted are those for which there was no room.
	unlisted int
}

type missingEvent struct {
	event, reason string
}

// missingIn are the processes that lack an event for a reason.
type missingIn struct {
	order int // in which it was first noted
	pids  map[int]bool
}

// replace notes what the plan of a process lacks, in place of what a former one did.
func (m *missingEvents) replace(pid int32, missing []probes.Missing) {
	if m.processes == nil {
		m.processes, m.of = map[missingEvent]*missingIn{}, map[int32][]missingEvent{}
	}
	for _, of := range m.of[pid] {
		in := m.processes[of]
		delete(in.pids, int(pid))
		if len(in.pids) == 0 {
			delete(m.processes, of)
		}
	}
	delete(m.of, pid)
	for _, lack := range missing {
		m.note(pid, missingEvent{lack.Event.String(), lack.Reason})
	}
}

func (m *missingEvents) note(pid int32, of missingEvent) {
	in := m.processes[of]
	if in == nil {
		if len(m.processes) == listedMissing {
			m.unlisted++
			return
		}
		m.noted++
		in = &missingIn{order: m.noted, pids: map[int]bool{}}
		m.processes[of] = in
	}
	switch {
	case in.pids[int(pid)]:
	case len(in.pids) == listedPIDs:
		m.unlisted++
	default:
		in.pids[int(pid)] = true
		m.of[pid] = append(m.of[pid], of)
	}
}

// list returns them for session.json, in the order in which they were first noted.
func (m *missingEvents) list() []trace.MissingEvent {
	list := []trace.MissingEvent{}
	order := slices.SortedFunc(maps.Keys(m.processes), func(a, b missingEvent) int {
		return cmp.Compare(m.processes[a].order, m.processes[b].order)
	})
	for _, of := range order {
		in := m.processes[of]
		list = append(list, trace.MissingEvent{Event: of.event, Reason: of.reason, PIDs: slices.Sorted(maps.Keys(in.pids))})
	}
	return list
}
