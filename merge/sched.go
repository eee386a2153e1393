package merge

import (
	"bytes"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

var schedKinds = [...]trace.SchedKind{
	abi.SchedPreempted: trace.SchedPreempted,
	abi.SchedBlocked:   trace.SchedBlocked,
}

// addSched adds a time off the CPU. It is of a thread, not of a node or topic, so no selection applies to it.
func (m *Merger) addSched(record *abi.SchedRecord) {
	process := m.processOf(record.Header.PID)
	row := trace.Sched{
		ProcessKey: process.Key, TID: int32(record.Header.TID), Kind: statusName(schedKinds[:], record.Header.Status),
		SchedOutTimestamp: m.unix(record.OutNs), SchedInTimestamp: m.unix(record.InNs), WakingTimestamp: m.optionalUnix(record.WakingNs),
		OutCPU: int32(record.OutCPU), InCPU: int32(record.Header.CPU),
		Callback: trace.Address(record.Callback), CallbackStartTimestamp: m.optionalUnix(record.CallbackStartNs),
		Priority: record.Priority,
	}
	if other := &record.Other; other.TID != 0 {
		command, _, _ := bytes.Cut(other.Command[:], []byte{0})
		row.OtherPID, row.OtherTID = trace.Some(int32(other.PID)), trace.Some(int32(other.TID))
		row.OtherCommand, row.OtherPriority = string(command), trace.Some(other.Priority)
	}
	m.rows.Scheds = append(m.rows.Scheds, row)
}
