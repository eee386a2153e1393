package merge

import (
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

// openCallback is the record of a callback that has not ended.
func openCallback(state *abi.ThreadState, depth int) abi.CallbackRecord {
	frame := &state.Frames[depth]
	record := abi.CallbackRecord{
		Header: abi.RecordHeader{
			Kind: abi.KindCallback, Status: abi.CallbackRecordingEnd, Depth: uint8(depth), Flags: frame.Flags,
			CPU: frame.CPU, PID: state.PID, TID: state.TID,
		},
		Callback: frame.Callback, StartNs: frame.StartNs, Feed: frame.Feed,
	}
	if depth > 0 {
		record.ParentCallback, record.ParentStartNs = state.Frames[depth-1].Callback, state.Frames[depth-1].StartNs
	}
	return record
}

// AddOpenCallbacks adds rows for the callbacks of a thread that were open at an instant on CLOCK_MONOTONIC, in
// nanoseconds. earlier and later are values of the kernel's map of threads that were read before and after it, while
// the thread went on: either may be half of one event and half of the next. A callback that was open all the time is in
// both, at the same depth; one that is in both was open.
func (m *Merger) AddOpenCallbacks(at uint64, earlier, later []byte) error {
	var before, after abi.ThreadState
	if err := abi.Decode(earlier, &before); err != nil {
		return err
	}
	if err := abi.Decode(later, &after); err != nil {
		return err
	}
	if before.PID != after.PID { // the thread's ID has been taken over
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for depth := range min(before.Depth, after.Depth, abi.MaxDepth) {
		then, now := before.Frames[depth], after.Frames[depth]
		then.Steps = now.Steps // this changes while it is open
		if then != now {
			return nil
		}
		if m.isUnwanted(int32(after.PID), true) {
			return nil
		}
		record := openCallback(&after, int(depth))
		m.addOpenCallback(&record, at)
	}
	return nil
}

// addOpenCallback adds a row, unless nothing tells that its callback is of what was selected. That is counted when the
// callback has ended.
func (m *Merger) addOpenCallback(record *abi.CallbackRecord, at uint64) {
	row, _ := m.callbackOf(m.processOf(record.Header.PID), record)
	verdict := m.options.Filter.judge(row.NodeName, row.TopicName, row.Kind != trace.KindTimer)
	if verdict == drop || verdict == undecided && m.options.Filter.selects() {
		return
	}
	m.rows.OpenCallbacks = append(m.rows.OpenCallbacks, trace.OpenCallback{
		ProcessKey: row.ProcessKey, TID: row.TID, CPU: row.CPU, Callback: row.Callback,
		CallbackStartTimestamp: row.CallbackStartTimestamp.Value, SeenTimestamp: m.unix(at), Depth: row.Depth, Kind: row.Kind,
		SubscriptionHandle: row.SubscriptionHandle, TopicName: row.TopicName, NodeName: row.NodeName, Symbol: row.Symbol,
	})
}
