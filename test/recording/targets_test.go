package recording

import (
	"errors"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// timed calls a function, and returns between which instants it ran.
func (r *recording) timed(do func() error) (before, after uint64) {
	r.t.Helper()
	before = monotonic()
	if err := do(); err != nil {
		r.t.Fatal(err)
	}
	return before, monotonic()
}

// TestTargetsChange: a process that is added while recording is recorded from one instant on, one that is removed until
// one instant, and the others all the time: each to the row.
func TestTargetsChange(t *testing.T) {
	requireRecording(t)
	const flags = "--rate 100 --threads 2 --intra-process --chain"
	stays, leaves, comes := startReadyNode(t, oneLayout, flags), startReadyNode(t, oneLayout, flags), startReadyNode(t, oneLayout, flags)
	r := record(t, session.Configuration{PIDs: stays.pidText() + "," + leaves.pidText(), Scheduling: session.SchedulingFull})
	r.waitForMoreRows(trace.TableCallback, enough/2)
	adding, added := r.timed(func() error { return r.handle.AddTarget(t.Context(), int32(comes.PID()), 0) })
	r.waitForMoreRows(trace.TableCallback, enough/2)
	removing, removed := r.timed(func() error { return r.handle.RemoveTarget(t.Context(), int32(leaves.PID())) })
	r.waitForMoreRows(trace.TableCallback, enough/2)
	var pids []int
	for _, target := range r.handle.Targets() {
		pids = append(pids, int(target.PID))
	}
	want := []int{stays.PID(), comes.PID()}
	slices.Sort(want)
	if !slices.Equal(pids, want) {
		t.Errorf("PIDs %v are recorded, not %v", pids, want)
	}
	data := r.stop()
	forgetMissedSwitches(t, data)
	all := oracle.Span{OpenFrom: r.began, OpenTo: r.opened, CloseFrom: r.closing, CloseTo: r.ended}
	late, short := all, all
	late.OpenFrom, late.OpenTo = adding, added
	short.CloseFrom, short.CloseTo = removing, removed
	for _, row := range data.Processes { // its times are those of what is there
		offset := data.Session.Clock.RealtimeOffset
		switch int(row.PID) {
		case comes.PID():
			late.OpenTo = min(late.OpenTo, uint64(row.RecordingStartTimestamp.Value-offset))
		case leaves.PID():
			short.CloseFrom = max(short.CloseFrom, uint64(row.RecordingEndTimestamp.Value-offset))
		}
	}
	for _, of := range []struct {
		n    *node
		span oracle.Span
	}{{stays, all}, {leaves, short}, {comes, late}} {
		if first, ok := data.FirstRow(of.n.PID()); ok {
			of.span.OpenTo = min(of.span.OpenTo, first)
		}
		requireExactProcess(t, data, of.n.stop(), of.span, oracle.Circumstances{Found: true})
	}
	requireNoTimesOffCPU(t, data, leaves.PID(), removed, r.ended)
	requireNoTimesOffCPU(t, data, comes.PID(), r.began, adding)
	var told []string
	for _, change := range data.Session.Changes {
		told = append(told, change.What)
	}
	if !slices.Equal(told, []string{trace.ChangeAdded, trace.ChangeRemoved}) {
		t.Errorf("session.json tells of %v", told)
	}
}

// requireNoTimesOffCPU requires that a process with others has none that ended between two instants.
func requireNoTimesOffCPU(t *testing.T, data *oracle.Dataset, pid int, from, to uint64) {
	t.Helper()
	some := false
	for _, row := range data.Scheds {
		at := uint64(row.SchedInTimestamp - data.Session.Clock.RealtimeOffset)
		if int(row.PID) == pid && at > from && at < to {
			t.Fatalf("process %d was not recorded then: %+v", pid, row)
		}
		some = some || int(row.PID) == pid
	}
	if !some {
		t.Errorf("process %d was never off a CPU", pid)
	}
}

// TestTargetComesBack: a process that was removed can be added again.
func TestTargetComesBack(t *testing.T) {
	requireRecording(t)
	other, n := startReadyNode(t, oneLayout, "--rate 20"), startReadyNode(t, oneLayout, "--rate 100")
	r := record(t, session.Configuration{PIDs: other.pidText() + "," + n.pidText()})
	r.waitForMoreRows(trace.TableCallback, enough/4)
	removing, removed := r.timed(func() error { return r.handle.RemoveTarget(t.Context(), int32(n.PID())) })
	r.waitForMoreRows(trace.TableCallback, 20)
	adding, added := r.timed(func() error { return r.handle.AddTarget(t.Context(), int32(n.PID()), 0) })
	r.waitForMoreRows(trace.TableCallback, enough/4)
	data := r.stop()
	other.stop()
	oracle.RequirePhases(t, data, n.stop(), []oracle.Phase{
		{From: r.opened, To: removing}, {From: removed, To: adding, Drops: func(string) bool { return true }}, {From: added, To: r.closing},
	})
	for _, row := range data.Processes {
		if int(row.PID) == n.PID() && row.Exited {
			t.Error("a row says that the process has ended")
		}
	}
}

// TestTargetsStay: what cannot be added or removed is refused, nothing tells of it, and the recording goes on.
func TestTargetsStay(t *testing.T) {
	requireRecording(t)
	const stranger = 54321
	n, other := startReadyNode(t, oneLayout, "--rate 50"), startReadyNode(t, oneLayout, "--rate 50")
	foreign := int32(startMapper(t, "foreign", buildLibrary(t, "librcl.so", "")).Process.Pid)
	r := record(t, session.Configuration{PIDs: n.pidText()})
	for name, change := range map[string]func() error{
		"not to be probed": func() error { return r.handle.AddTarget(t.Context(), foreign, 0) },
		"added twice":      func() error { return r.handle.AddTarget(t.Context(), int32(n.PID()), 0) },
		"another user's":   func() error { return r.handle.AddTarget(t.Context(), int32(other.PID()), stranger) },
		"no ROS 2":         func() error { return r.handle.AddTarget(t.Context(), 1, 0) },
		"nobody":           func() error { return r.handle.AddTarget(t.Context(), 1<<22, 0) },
		"nobody recorded":  func() error { return r.handle.RemoveTarget(t.Context(), 1) },
		"the last one":     func() error { return r.handle.RemoveTarget(t.Context(), int32(n.PID())) },
	} {
		if err := change(); !errors.Is(err, session.ErrTarget) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.waitForRows(trace.TableCallback, 10)
	data := r.stop()
	other.stop()
	r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
	if len(data.Session.Changes) > 0 {
		t.Errorf("session.json tells of %v", data.Session.Changes)
	}
	for _, row := range data.Processes {
		if int(row.PID) != n.PID() {
			t.Errorf("process %d has a row, and was not recorded: %+v", row.PID, row)
		}
	}
}
