package merge_test

import (
	"reflect"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/trace"
)

func TestWaits(t *testing.T) {
	at := func(monotonic int64) trace.Optional[int64] { return trace.Some(monotonic + offset) }
	never := trace.Optional[int64]{}
	for name, test := range map[string]struct {
		record abi.WaitRecord
		want   trace.Wait
	}{
		"complete": {
			abi.WaitRecord{StartNs: 10, EndNs: 20, Executor: 0x60, TimeoutNs: -1},
			trace.Wait{WaitStartTimestamp: at(10), WaitEndTimestamp: at(20), Status: trace.WaitComplete, Executor: 0x60, Timeout: trace.Some[int64](-1)},
		},
		"without a timeout, and left by an exception": {
			abi.WaitRecord{Header: abi.RecordHeader{Status: abi.WaitEndMissing}, StartNs: 10, Executor: 0x60},
			trace.Wait{WaitStartTimestamp: at(10), Status: trace.WaitEndMissing, Executor: 0x60, Timeout: trace.Some[int64](0)},
		},
		"from before the recording": {
			abi.WaitRecord{Header: abi.RecordHeader{Status: abi.WaitStartMissing}, EndNs: 20},
			trace.Wait{WaitEndTimestamp: at(20), Status: trace.WaitStartMissing, Timeout: never},
		},
		"its thread has ended": {
			abi.WaitRecord{Header: abi.RecordHeader{Status: abi.WaitThreadExit}, StartNs: 10, Executor: 0x60, TimeoutNs: 5},
			trace.Wait{WaitStartTimestamp: at(10), Status: trace.WaitThreadExit, Executor: 0x60, Timeout: trace.Some[int64](5)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.record.Header = header(abi.KindWait, test.record.Header.Status, 0)
			rows := feed(t, merge.Options{}, encode(test.record)).Waits
			requireWait(t, rows, test.want)
		})
	}
}

func TestCloseThreadEmitsAnOpenWait(t *testing.T) {
	m := newMerger(merge.Options{RealtimeOffset: offset})
	state := abi.ThreadState{PID: 7, TID: 8, WaitOpen: 1}
	state.Wait = abi.WaitRecord{Header: header(abi.KindWait, 0, 0), StartNs: 10, Executor: 0x60, TimeoutNs: 5}
	if err := m.CloseThread(encode(state)); err != nil {
		t.Fatal(err)
	}
	requireWait(t, take(t, m).Waits, trace.Wait{
		WaitStartTimestamp: trace.Some(10 + offset), Status: trace.WaitRecordingEnd, Executor: 0x60, Timeout: trace.Some[int64](5),
	})
}

// requireWait requires one row, of the traced process's thread.
func requireWait(t *testing.T, rows []trace.Wait, want trace.Wait) {
	t.Helper()
	want.ProcessKey, want.TID, want.CPU, want.Provenance = tracedProcess, 8, 1, trace.FromSymbol
	if !reflect.DeepEqual(rows, []trace.Wait{want}) {
		t.Errorf("%+v\nwant one row %+v", rows, want)
	}
}
