package view_test

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/view"
)

// What is missing is told with its time and process, and summed up.
func TestLosses(t *testing.T) {
	ring := trace.Loss{Kind: trace.LostCallback, Reason: trace.LossRingFull, Count: 3, FromTimestamp: begin + 10, ToTimestamp: begin + 50}
	one := ring
	one.Count = 1
	sched := ring
	sched.Kind = trace.LostSched
	file := trace.Loss{
		Kind: trace.LostEvent, Reason: trace.LossUnarmed, FromTimestamp: begin + 5, ToTimestamp: begin + 15, PID: 77, ProcessStart: 1, File: "/lib/libnew.so", Events: "callback_start",
	}
	type table struct {
		Rows []struct {
			Begin, End     int64
			Reason, Text   string
			Count, Process *int
			OffCPU         bool
		}
	}
	for name, test := range map[string]struct {
		losses []trace.Loss
		sum    string
		first  string
	}{
		"nothing": {nil, "nothing was lost", ""},
		"a row":   {[]trace.Loss{one}, "1 record was lost", "1 row was lost of kind callback: ring_full"},
		"rows":    {[]trace.Loss{ring, ring}, "6 records were lost", "3 rows were lost of kind callback: ring_full"},
		"times":   {[]trace.Loss{sched}, "3 records were lost", "3 rows were lost of kind sched: ring_full"},
		"a file":  {[]trace.Loss{file}, "1 file was not probed for a time", "what was done in /lib/libnew.so was not seen (callback_start)"},
		"all":     {[]trace.Loss{file, ring, file}, "3 records were lost, 2 files were not probed for a time", "what was done in /lib/libnew.so was not seen (callback_start)"},
	} {
		rows := timers()
		rows.Callbacks = []trace.Callback{ran(1, 0x10, 0, 100, trace.CallbackComplete, 0)}
		rows.Losses = test.losses
		v := open(t, view.Options{Datasets: []*trace.Dataset{datasetOf(t, rows)}})
		if got := ask[recording](t, v, "recording").Lost.Text; got != test.sum {
			t.Errorf("%s: %q", name, got)
		}
		got := ask[table](t, v, "losses").Rows
		if len(got) != len(test.losses) {
			t.Fatalf("%s: %+v", name, got)
		}
		for i, row := range got {
			loss := test.losses[i]
			if row.Begin != loss.FromTimestamp-begin || row.End != loss.ToTimestamp-begin || row.Reason != string(loss.Reason) ||
				(row.Count == nil) != (loss.Count == 0) || (row.Process == nil) != (loss.PID == 0) || row.OffCPU != (loss.Kind == trace.LostSched) || i == 0 && row.Text != test.first {
				t.Errorf("%s: %+v of %+v", name, row, loss)
			}
		}
	}
}

// Of what was not ended in order it is not said that nothing was lost, nor for any of several.
func TestUncertainLosses(t *testing.T) {
	dataset := func(losses []trace.Loss, change func(*trace.Session)) *trace.Dataset {
		rows := timers()
		rows.Callbacks, rows.Losses = []trace.Callback{ran(1, 0x10, 0, 100, trace.CallbackComplete, 0)}, losses
		dir, session := t.TempDir(), endedSession()
		change(session)
		tracetest.AddSegments(t, dir, 0, rows)
		tracetest.AddSession(t, dir, session)
		return tracetest.Open(t, dir)
	}
	ended := func(*trace.Session) {}
	failed := func(s *trace.Session) { s.Ending = trace.EndingError }
	killed := func(s *trace.Session) { s.State, s.Ending = trace.StateRecording, trace.EndingRunning }
	removed := func(s *trace.Session) { s.Removed = &trace.Removed{} }
	one := []trace.Loss{{Kind: trace.LostCallback, Reason: trace.LossRingFull, Count: 1, FromTimestamp: begin, ToTimestamp: begin}}
	for name, test := range map[string]struct {
		datasets []*trace.Dataset
		says     string
		known    bool
	}{
		"ended":              {[]*trace.Dataset{dataset(nil, ended)}, "nothing was lost", true},
		"removed":            {[]*trace.Dataset{dataset(nil, removed)}, "nothing was lost but what was removed", true},
		"failed":             {[]*trace.Dataset{dataset(nil, failed)}, "nothing was lost in what can be read; what was under way when the error came may be missing", false},
		"killed":             {[]*trace.Dataset{dataset(nil, killed)}, "nothing was lost in what can be read; what was under way at the end is missing", false},
		"removed and killed": {[]*trace.Dataset{dataset(nil, removed), dataset(nil, killed)}, "nothing was lost in what can be read; what was under way at the end is missing", false},
		"lost and failed":    {[]*trace.Dataset{dataset(one, failed)}, "1 record was lost; nothing else in what can be read; what was under way when the error came may be missing", true},
	} {
		got := ask[struct {
			Lost struct {
				Text    string
				Records *int
			}
		}](t, open(t, view.Options{Datasets: test.datasets}), "recording").Lost
		if got.Text != test.says || (got.Records != nil) != test.known {
			t.Errorf("%s: %q, %v records", name, got.Text, got.Records)
		}
	}
}

// Times off the CPU are told of exact tiles: blocked until the thread was woken, and then until it ran.
func TestOffCPU(t *testing.T) {
	rows := timers()
	rows.Callbacks = []trace.Callback{ran(1, 0x10, 0, 100, trace.CallbackComplete, 0)}
	rows.Scheds = []trace.Sched{
		{ProcessKey: robot, TID: 1, Kind: trace.SchedPreempted, SchedOutTimestamp: begin + 10, SchedInTimestamp: begin + 20, OtherCommand: "hog"},
		{ProcessKey: robot, TID: 1, Kind: trace.SchedBlocked, SchedOutTimestamp: begin + 30, SchedInTimestamp: begin + 50, WakingTimestamp: trace.Some[int64](begin + 44)},
		{ProcessKey: robot, TID: 1, Kind: trace.SchedBlocked, SchedOutTimestamp: begin + 60, SchedInTimestamp: begin + 70},
	}
	v := open(t, view.Options{Datasets: []*trace.Dataset{datasetOf(t, rows)}})
	got := ask[struct {
		Thread   []int
		Kind     []string
		From, To []int64
		Other    []*string
	}](t, v, "offcpu?level=0&index=0")
	for i, want := range []struct {
		kind     string
		from, to int64
	}{{"preempted", 10, 20}, {"blocked", 30, 44}, {"woken", 44, 50}, {"blocked", 60, 70}} {
		if i >= len(got.Kind) || got.Kind[i] != want.kind || got.From[i] != want.from || got.To[i] != want.to {
			t.Fatalf("time %d: %+v, want %+v", i, got, want)
		}
	}
	if len(got.Kind) != 4 || *got.Other[0] != "hog" || got.Other[3] != nil {
		t.Errorf("%+v", got)
	}
}
