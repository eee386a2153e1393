package session

import (
	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/trace"
)

// attachReport puts what comes of attaching into session.json, and tells the user. It also answers what the attacher
// asks.
type attachReport struct{ *Session }

func (s attachReport) Warn(err error) { s.journal.warn(err) }

func (s attachReport) Message(text string) { s.journal.message(text) }

func (s attachReport) Attached(pid int32, sites []probes.Site) { s.journal.noteSites(pid, sites) }

func (s attachReport) Armed(p *attaching.Process, armed []attaching.Armed) {
	if entry := s.processes.find(p.Target.PID); entry != nil && entry.probed == p && entry.target != nil {
		s.noteArmed(entry, armed)
	}
}

// Missing does not tell of a process that does not run ROS 2, or not yet: it lacks nothing.
func (s attachReport) Missing(p *attaching.Process, missing []probes.Missing) {
	if entry := s.processes.find(p.Target.PID); entry == nil || entry.probed != p || !entry.ros2 {
		missing = nil
	}
	s.journal.noteMissing(p.Target.PID, missing)
}

func (s attachReport) Retiring(unit abi.Unit, cost attaching.ThreadShare) {
	s.journal.noteRetired(trace.DetachedEvent{
		Event: unit.String(), Timestamp: s.clock.now(), PID: int(cost.PID), TID: int(cost.TID), Share: cost.Share, OwnShare: cost.Units[unit],
	})
}

func (s attachReport) HasIntraProcess(p *attaching.Process) (has bool) {
	s.askGraph(p, func(g *entities.Graph) { has = g.HasIntraProcess() })
	return has
}

func (s attachReport) NoIntraProcess(p *attaching.Process) (none bool) {
	entry := s.processes.find(p.Target.PID)
	if entry == nil || !entry.scanned.covered || entry.scanned.partial {
		return false
	}
	s.askGraph(p, func(g *entities.Graph) {
		none = g.HasNodes() && !g.HasIntraProcess() && s.clock.now()-g.LastEvent() > int64(attaching.IntraProcessPatience)
	})
	return none
}

// askGraph asks the graph of a process, unless another one has its PID by now.
func (s attachReport) askGraph(p *attaching.Process, ask func(*entities.Graph)) {
	s.journal.warn(s.merger.Update(p.Target.PID, func(merged *merge.Process) error {
		if merged.Key == keyOf(p.Target) {
			ask(merged.Graph)
		}
		return nil
	}))
}
