package session

import (
	"maps"
	"slices"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/trace"
)

// missingEvents is what cannot be observed: of each process, what its last plan says.
type missingEvents struct {
	order []missingEvent
	pids  map[missingEvent]map[int]bool
}

type missingEvent struct {
	event, reason string
}

// replace notes what the plan of a process lacks, in place of what a former one did.
func (m *missingEvents) replace(pid int32, missing []probes.Missing) {
	for _, pids := range m.pids {
		delete(pids, int(pid))
	}
	for _, lack := range missing {
		of := missingEvent{lack.Event.String(), lack.Reason}
		if m.pids[of] == nil {
			if m.pids == nil {
				m.pids = map[missingEvent]map[int]bool{}
			}
			m.order = append(m.order, of)
			m.pids[of] = map[int]bool{}
		}
		m.pids[of][int(pid)] = true
	}
}

// list returns them for session.json, in the order in which they were first noted.
func (m *missingEvents) list() []trace.MissingEvent {
	list := []trace.MissingEvent{}
	for _, of := range m.order {
		if pids := m.pids[of]; len(pids) > 0 {
			list = append(list, trace.MissingEvent{Event: of.event, Reason: of.reason, PIDs: slices.Sorted(maps.Keys(pids))})
		}
	}
	return list
}
