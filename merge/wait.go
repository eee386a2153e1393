package merge

import (
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

var waitStatuses = [...]trace.WaitStatus{
	abi.WaitComplete:     trace.WaitComplete,
	abi.WaitStartMissing: trace.WaitStartMissing,
	abi.WaitEndMissing:   trace.WaitEndMissing,
	abi.WaitRecordingEnd: trace.WaitRecordingEnd,
	abi.WaitThreadExit:   trace.WaitThreadExit,
}

// addWait adds a thread's wait for work. It is of an executor, not of a node or topic, so no selection applies to it.
func (m *Merger) addWait(record *abi.WaitRecord) {
	process := m.processOf(record.Header.PID)
	row := trace.Wait{
		ProcessKey: process.Key, TID: int32(record.Header.TID), CPU: int32(record.Header.CPU),
		WaitStartTimestamp: m.optionalUnix(record.StartNs), WaitEndTimestamp: m.optionalUnix(record.EndNs),
		Status: statusName(waitStatuses[:], record.Header.Status), Executor: trace.Address(record.Executor),
		Provenance: trace.FromSymbol,
	}
	if row.WaitStartTimestamp.Valid {
		row.Timeout = trace.Some(record.TimeoutNs)
	}
	m.rows.Waits = append(m.rows.Waits, row)
}
