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

func (s attachReport) Warn(err error) { s.warn(err) }

func (s attachReport) Message(text string) { s.message(text) }

func (s attachReport) Attached(pid int32, sites []probes.Site) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, site := range sites {
		if len(s.report.Plan.Sites) == listedSites {
			s.listed.sitesLeftOut++
			continue
		}
		described := trace.Site{
			Event: site.Event.String(), File: site.Library, BuildID: site.BuildID, Symbol: site.Symbol,
			Offset: site.Offset, Class: site.Class.String(), Role: site.Role.String(),
		}
		if pid != 0 {
			described.PIDs = []int{int(pid)}
		}
		s.report.Plan.Sites = append(s.report.Plan.Sites, described)
	}
}

func (s attachReport) Armed(p *attaching.Process, armed []attaching.Armed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if entry := s.processes[p.Target.PID]; entry != nil && entry.probed == p && entry.target != nil {
		s.noteArmed(entry, armed)
	}
}

// Missing does not tell of a process that does not run ROS 2, or not yet: it lacks nothing.
func (s attachReport) Missing(p *attaching.Process, missing []probes.Missing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if entry := s.processes[p.Target.PID]; entry == nil || entry.probed != p || !entry.ros2 {
		missing = nil
	}
	s.missing.replaceMissing(p.Target.PID, missing)
}

func (s attachReport) Retiring(unit abi.Unit, cost attaching.ThreadShare) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = append(s.retired, trace.DetachedEvent{
		Event: unit.String(), Timestamp: s.now(), PID: int(cost.PID), TID: int(cost.TID), Share: cost.Share, OwnShare: cost.Units[unit],
	})
}

func (s attachReport) HasIntraProcess(p *attaching.Process) (has bool) {
	s.askGraph(p, func(g *entities.Graph) { has = g.HasIntraProcess() })
	return has
}

func (s attachReport) NoIntraProcess(p *attaching.Process) (none bool) {
	s.mu.Lock()
	entry := s.processes[p.Target.PID]
	s.mu.Unlock()
	if entry == nil || !entry.scanned.covered || entry.scanned.partial {
		return false
	}
	s.askGraph(p, func(g *entities.Graph) {
		none = g.HasNodes() && !g.HasIntraProcess() && s.now()-g.LastEvent() > int64(attaching.IntraProcessPatience)
	})
	return none
}

// askGraph asks the graph of a process, unless another one has its PID by now.
func (s attachReport) askGraph(p *attaching.Process, ask func(*entities.Graph)) {
	s.warn(s.merger.Update(p.Target.PID, func(merged *merge.Process) error {
		if merged.Key == keyOf(p.Target) {
			ask(merged.Graph)
		}
		return nil
	}))
}
