package session

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/timesync"
	"github.com/caret-bpf/caret-bpf/trace"
)

// A measurement has the state of the synchronization where it can be read, and none where it cannot.
func TestClockMeasurementTellsOfTheSynchronization(t *testing.T) {
	unread := (&clockMeter{sync: new(timesync.Reader)}).measure()
	if want := (trace.Clock{
		MonotonicTimestamp: unread.MonotonicTimestamp, RealtimeTimestamp: unread.RealtimeTimestamp,
		RealtimeOffset: unread.RealtimeTimestamp - unread.MonotonicTimestamp, Uncertainty: unread.Uncertainty,
	}); unread != want {
		t.Errorf("what cannot be read is %+v", unread)
	}
	m := newClockMeter()
	state, ok := m.sync.Read()
	if !ok {
		t.Skip("the state cannot be read here")
	}
	row := m.measure()
	if row.Synchronized != trace.Some(state.Synchronized) || row.SyncStatus != trace.Some(state.Status) || row.Tick != trace.Some(state.Tick) ||
		!row.MaxError.Valid || !row.EstimatedError.Valid || !row.RemainingAdjustment.Valid || !row.Frequency.Valid || !row.TAIOffset.Valid {
		t.Errorf("of %+v the row is %+v", state, row)
	}
}
