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
type attachReport struct {
	journal   *journal
	processes *processes
	merger    *merge.Merger
	clock     datasetClock
	blind     *blindSpans
}

func (r attachReport) Warn(err error) { r.journal.warn(err) }

func (r attachReport) Message(text string) { r.journal.message(text) }

func (r attachReport) Attached(pid int32, sites []probes.Site) { r.journal.noteSites(pid, sites) }

func (r attachReport) Armed(p *attaching.Process, armed []attaching.Armed) {
	if entry := r.processes.find(p.Target.PID); entry != nil && entry.probed == p && entry.target != nil {
		r.blind.noteArmed(entry, armed)
	}
}

// Missing does not tell of a process that does not run ROS 2, or not yet: it lacks nothing.
func (r attachReport) Missing(p *attaching.Process, missing []probes.Missing) {
	if entry := r.processes.find(p.Target.PID); entry == nil || entry.probed != p || !entry.ros2 {
		missing = nil
	}
	r.journal.noteMissing(p.Target.PID, missing)
}

func (r attachReport) Retiring(unit abi.Unit, cost attaching.ThreadShare) {
	r.journal.noteRetired(trace.DetachedEvent{
		Event: unit.String(), Timestamp: r.clock.now(), PID: int(cost.PID), TID: int(cost.TID), Share: cost.Share, OwnShare: cost.Units[unit],
	})
}

func (r attachReport) HasIntraProcess(p *attaching.Process) bool {
	return r.hasIntraProcess(keyOf(p.Target))
}

func (r attachReport) hasIntraProcess(process trace.ProcessKey) (has bool) {
	r.askGraph(process, func(g *entities.Graph) { has = g.HasIntraProcess() })
	return has
}

func (r attachReport) NoIntraProcess(p *attaching.Process) (none bool) {
	entry := r.processes.find(p.Target.PID)
	if entry == nil || !entry.scanned.covered || entry.scanned.partial {
		return false
	}
	r.askGraph(keyOf(p.Target), func(g *entities.Graph) {
		none = g.HasNodes() && !g.HasIntraProcess() && r.clock.now()-g.LastEvent() > int64(attaching.IntraProcessPatience)
	})
	return none
}

// askGraph asks the graph of a process, unless another one has its PID by now.
func (r attachReport) askGraph(process trace.ProcessKey, ask func(*entities.Graph)) {
	r.journal.warn(r.merger.Update(process, func(merged *merge.Process) error {
		ask(merged.Graph)
		return nil
	}))
}
