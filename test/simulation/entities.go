package simulation

import (
	"fmt"

	"github.com/caret-bpf/caret-bpf/trace"
)

// recordEntities writes the rows of all entities. Of what existed before the recording there is no begin.
func (s *System) recordEntities() {
	for _, p := range s.processes {
		if p.died != 0 && p.died < p.recording.begin || p.born >= p.recording.end {
			continue
		}
		rows := &p.recording.rows
		rows.Processes = append(rows.Processes, trace.Process{
			ProcessKey: p.key, Command: fmt.Sprintf("process_%d", p.key.PID), Exited: p.recording.sees(p.died),
			RecordingStartTimestamp: trace.Some(p.recording.stamp(max(p.born, p.recording.begin))), RecordingEndTimestamp: trace.Some(p.recording.stamp(p.lastRecorded())),
		})
		for _, n := range p.nodes {
			rows.Nodes = append(rows.Nodes, trace.Node{
				ProcessKey: p.key, NodeHandle: n.handle, NodeName: n.name[1:], Namespace: "/", InitTimestamp: p.init(), EndTimestamp: p.end(), Provenance: p.provenance(),
			})
			for _, of := range n.publishers {
				if !of.hidden {
					rows.Publishers = append(rows.Publishers, trace.Publisher{
						ProcessKey: p.key, PublisherHandle: of.handle, NodeHandle: n.handle, NodeName: n.name, TopicName: of.topic, GID: of.gid,
						InitTimestamp: p.init(), EndTimestamp: p.end(), Provenance: p.provenance(),
					})
				}
			}
			for _, sub := range n.subscriptions {
				rows.Subscriptions = append(rows.Subscriptions, sub.rows()...)
			}
			for _, c := range n.callbacks {
				if c.kind == trace.KindTimer && !c.hidden {
					// The grid of a timer begins at its init.
					rows.Timers = append(rows.Timers, trace.Timer{
						ProcessKey: p.key, TimerHandle: p.address(), NodeHandle: n.handle, NodeName: n.name, Callback: c.address, Period: trace.Some(c.period),
						InitTimestamp: p.recording.stampIfSeen(c.init), EndTimestamp: p.end(), Provenance: p.provenance(),
					})
				}
			}
			for _, of := range n.servers {
				rows.ServiceServers = append(rows.ServiceServers, trace.ServiceServer{
					ProcessKey: p.key, ServiceHandle: of.handle, NodeHandle: n.handle, NodeName: n.name, ServiceName: of.name, Callback: of.callback.address,
					InitTimestamp: p.init(), EndTimestamp: p.end(), Provenance: p.provenance(),
				})
			}
			for _, of := range n.clients {
				rows.Clients = append(rows.Clients, trace.Client{
					ProcessKey: p.key, ClientHandle: of.handle, NodeHandle: n.handle, NodeName: n.name, ServiceName: of.name, GID: of.gid,
					InitTimestamp: p.init(), EndTimestamp: p.end(), Provenance: p.provenance(),
				})
			}
		}
	}
}

// rows are one for each object that serves the subscription.
func (sub *subscription) rows() []trace.Subscription {
	p := sub.node.process
	row := trace.Subscription{
		ProcessKey: p.key, SubscriptionHandle: sub.handle, NodeHandle: sub.node.handle, NodeName: sub.node.name, TopicName: sub.topic, Subscription: sub.handle + 1,
		IsIntraProcess: trace.Some(false), InitTimestamp: p.init(), EndTimestamp: p.end(), Provenance: p.provenance(),
	}
	if sub.callback == nil {
		return []trace.Subscription{row}
	}
	row.Callback = sub.callback.address
	if sub.ring == nil {
		return []trace.Subscription{row}
	}
	intra := row
	intra.Subscription, intra.Callback, intra.Buffer, intra.IsIntraProcess = sub.handle+2, sub.callback.intraAddress, sub.ring.address, trace.Some(true)
	return []trace.Subscription{row, intra}
}

// init is when the process's entities were seen to begin.
func (p *process) init() trace.Optional[int64] { return p.recording.stampIfSeen(p.born) }

// end is when they were seen to end.
func (p *process) end() trace.Optional[int64] { return p.recording.stampIfSeen(p.died) }

func (p *process) provenance() trace.Provenance {
	if p.init().Valid {
		return trace.FromTracepoint
	}
	return trace.FromMemory
}
