package merge

import (
	"cmp"
	"strings"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

var serviceSteps = [...]trace.ServiceStep{
	abi.ServiceRequestSent:   trace.RequestSent,
	abi.ServiceRequestTaken:  trace.RequestTaken,
	abi.ServiceResponseSent:  trace.ResponseSent,
	abi.ServiceResponseTaken: trace.ResponseTaken,
}

// cycloneClientSize is how much of the id in a request's header names the client with Cyclone DDS. The rest is a handle
// that means something to the server only.
const cycloneClientSize = 8

// rmw returns the name of the process's implementation of rmw, "" while it is not known.
func (p *Process) rmw() string { return cmp.Or(p.RMWImplementation, p.Graph.RMWImplementation()) }

// usesCycloneDDS reports whether the process's implementation of rmw is known to be that of Cyclone DDS.
func (p *Process) usesCycloneDDS() bool { return strings.HasPrefix(p.rmw(), "rmw_cyclonedds") }

// clientGID writes what a request's header says of its client, "" while it is not known which implementation of rmw
// says it.
func (p *Process) clientGID(words [2]uint64) string {
	switch {
	case p.rmw() == "":
		return ""
	case p.usesCycloneDDS():
		return gidText(words, cycloneClientSize)
	}
	return gidText(words, gidSize)
}

// isForeign reports whether a response is not for the client that is known. All clients of a service receive all
// responses; Cyclone DDS fills in the header of each before it passes over what is for others.
func (p *Process) isForeign(response *abi.ServiceRecord, client string) bool {
	return client != "" && p.usesCycloneDDS() && gidText(response.GID, cycloneClientSize) != client
}

func (m *Merger) addService(record *abi.ServiceRecord) {
	process := m.processOf(record.Header.PID)
	row := trace.Service{
		ProcessKey:             process.Key,
		TID:                    int32(record.Header.TID),
		CPU:                    int32(record.Header.CPU),
		Step:                   statusName(serviceSteps[:], record.Header.Status),
		StepTimestamp:          m.unix(record.TimeNs),
		Message:                trace.Address(record.Message),
		SequenceNumber:         record.Sequence,
		Callback:               trace.Address(record.Callback),
		CallbackStartTimestamp: m.optionalUnix(record.CallbackStartNs),
		Provenance:             trace.FromSymbol,
	}
	handle := trace.Address(record.Handle)
	switch row.Step {
	case trace.RequestTaken, trace.ResponseSent:
		row.ServiceHandle = handle
		row.ClientGID = process.clientGID(record.GID)
		if service, known := process.Graph.Service(handle, row.StepTimestamp); known {
			row.ServiceName, row.NodeName = service.ServiceName, service.NodeName
		}
	default:
		row.ClientHandle = handle
		if client, known := process.Graph.Client(handle, row.StepTimestamp); known {
			row.ServiceName, row.NodeName, row.ClientGID = client.ServiceName, client.NodeName, client.GID
		}
		if row.Step == trace.ResponseTaken && process.isForeign(record, row.ClientGID) {
			if record.Header.Flags&abi.FlagTaken == 0 {
				return
			}
			// It was taken all the same: another client lives at the address by now, or did before.
			row.ServiceName, row.NodeName, row.ClientGID = "", "", gidText(record.GID, cycloneClientSize)
		}
	}
	if row.Step == trace.RequestTaken || row.Step == trace.ResponseTaken {
		row.SourceTimestamp = trace.Some(record.Stamp)
	}
	if record.Header.Flags&abi.FlagFedCallback != 0 && !m.serves(process, &row) {
		row.Callback, row.CallbackStartTimestamp = 0, trace.Optional[int64]{}
	}
	verdict := m.options.Filter.judge(row.NodeName, row.ServiceName, true)
	if verdict == drop {
		m.ignore(row.PID, record.Handle)
	}
	if m.keeps(verdict) {
		m.rows.Services = append(m.rows.Services, row)
	}
}

// serves reports whether the callback that followed a taken request is known to be the service's. The kernel joins them
// by their order on the thread, but what an action's server takes feeds no callback: the next one is another's.
func (m *Merger) serves(process *Process, row *trace.Service) bool {
	info, known := process.Graph.Callback(row.Callback, row.CallbackStartTimestamp.Value)
	return known && info.Kind == trace.KindService && info.OwnerHandle != 0 && info.OwnerHandle == row.ServiceHandle
}

func (m *Merger) addSimTime(record *abi.SimTimeRecord) {
	process := m.processOf(record.Header.PID)
	m.rows.SimTimes = append(m.rows.SimTimes, trace.SimTime{
		ProcessKey: process.Key, TID: int32(record.Header.TID), CPU: int32(record.Header.CPU),
		Clock: trace.Address(record.Clock), UpdateTimestamp: m.unix(record.TimeNs), SimTime: record.SimTimeNs,
	})
}

func (m *Merger) addLifecycle(process *Process, record *abi.InitRecord, start, goal string) {
	row := trace.Lifecycle{
		ProcessKey: process.Key, TID: int32(record.Header.TID), CPU: int32(record.Header.CPU),
		StateMachine: trace.Address(record.Arguments[0]), TransitionTimestamp: m.unix(record.TimeNs),
		StartLabel: start, GoalLabel: goal,
	}
	if machine, known := process.Graph.StateMachine(row.StateMachine, row.TransitionTimestamp); known {
		row.NodeName = machine.NodeName
	}
	if m.keeps(m.options.Filter.judge(row.NodeName, "", false)) {
		m.rows.Lifecycles = append(m.rows.Lifecycles, row)
	}
}
