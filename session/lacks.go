package session

import (
	"cmp"
	"maps"
	"slices"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// listedLacks is how many things that are lacking, and reasons, session.json lists.
	listedLacks = 2000
	// listedPIDs is how many processes it lists for each of them.
	listedPIDs = 1000
	// listedLackPIDs is how many it lists for all of them.
	listedLackPIDs = 100_000
)

// lacks is what cannot be observed, why, and of which processes.
type lacks struct {
	processes map[lack]*lackIn
	of        map[int32][]lack
	noted     int
	pids      int
	// unlisted are those for which there was no room.
	unlisted int
}

type lack struct {
	what, reason string
}

// lackIn are the processes that lack something for a reason.
type lackIn struct {
	order int // in which it was first noted
	pids  map[int]bool
}

// note notes what a process lacks.
func (l *lacks) note(pid int32, of lack) {
	if l.processes == nil {
		l.processes, l.of = map[lack]*lackIn{}, map[int32][]lack{}
	}
	in := l.processes[of]
	if in == nil {
		if len(l.processes) == listedLacks {
			l.unlisted++
			return
		}
		l.noted++
		in = &lackIn{order: l.noted, pids: map[int]bool{}}
		l.processes[of] = in
	}
	switch {
	case in.pids[int(pid)]:
	case len(in.pids) == listedPIDs || l.pids == listedLackPIDs:
		l.unlisted++
	default:
		in.pids[int(pid)] = true
		l.pids++
		l.of[pid] = append(l.of[pid], of)
	}
}

// forget forgets what a process lacked.
func (l *lacks) forget(pid int32) {
	for _, of := range l.of[pid] {
		in := l.processes[of]
		delete(in.pids, int(pid))
		l.pids--
		if len(in.pids) == 0 {
			delete(l.processes, of)
		}
	}
	delete(l.of, pid)
}

// each calls a function with what is lacking, in the order in which it was first noted.
func (l *lacks) each(tell func(of lack, pids []int)) {
	for _, of := range slices.SortedFunc(maps.Keys(l.processes), func(a, b lack) int {
		return cmp.Compare(l.processes[a].order, l.processes[b].order)
	}) {
		tell(of, slices.Sorted(maps.Keys(l.processes[of].pids)))
	}
}

// replaceMissing notes the events that the plan of a process lacks, in place of what a former one did.
func (l *lacks) replaceMissing(pid int32, missing []probes.Missing) {
	l.forget(pid)
	for _, event := range missing {
		l.note(pid, lack{event.Event.String(), event.Reason})
	}
}

// missingEvents lists them for session.json as events.
func (l *lacks) missingEvents() []trace.MissingEvent {
	list := []trace.MissingEvent{}
	l.each(func(of lack, pids []int) {
		list = append(list, trace.MissingEvent{Event: of.what, Reason: of.reason, PIDs: pids})
	})
	return list
}

// unstampedTypes lists them for session.json as types of messages.
func (l *lacks) unstampedTypes() (list []trace.UnstampedType) {
	l.each(func(of lack, pids []int) {
		list = append(list, trace.UnstampedType{MessageType: of.what, Reason: of.reason, PIDs: pids})
	})
	return list
}
