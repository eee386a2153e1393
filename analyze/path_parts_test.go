package analyze_test

import (
	"errors"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// partedSystem is a path from a sensor through a filter to an actuator, with the times off the CPU of the latter two's
// threads. The filter's is busy with another callback when the message comes. What ran first makes their pasts known.
func partedSystem(t *testing.T) *recording {
	s := newRecording(t)
	sensor, filter, actuator := s.node("/sensor"), s.node("/filter"), s.node("/actuator")
	points, in := s.publisher(sensor, "/points", "aa"), s.subscription(filter, "/points")
	objects, out := s.publisher(filter, "/objects", "bb"), s.subscription(actuator, "/objects")
	hog, other := s.timer(filter, 100_000), s.timer(actuator, 100_000)
	const filterThread, actuatorThread = 2, 3
	on := func(tid int32, p analyze.Parts) {
		row := &s.rows.Callbacks[len(s.rows.Callbacks)-1]
		row.TID = tid
		tracetest.SetParts(row, p.CPUTime, p.PreemptedTime, p.BlockedTime, p.WakeupLatency, 0, 0)
	}
	s.runs(filter, hog, 500, 600)
	on(filterThread, analyze.Parts{CPUTime: 100})
	s.runs(actuator, other, 510, 610)
	on(actuatorThread, analyze.Parts{CPUTime: 100})
	s.runs(filter, hog, 980, 1300)
	on(filterThread, analyze.Parts{CPUTime: 320})
	s.publishes(points, 1000, 77, 0, 0)
	s.receives(in, "aa", 77, 1350, 1450)
	on(filterThread, analyze.Parts{CPUTime: 60, PreemptedTime: 10, BlockedTime: 25, WakeupLatency: 5})
	s.publishes(objects, 1430, 88, in.callback, 1350)
	s.rows.Publishes[1].TID = filterThread
	s.receives(out, "bb", 88, 1460, 1500)
	on(actuatorThread, analyze.Parts{CPUTime: 40})
	off := func(tid int32, kind trace.SchedKind, out, waking, in int64, callback trace.Address, start int64) {
		row := trace.Sched{ProcessKey: filter.key, TID: tid, Kind: kind, SchedOutTimestamp: out, SchedInTimestamp: in, Callback: callback}
		if waking != 0 {
			row.WakingTimestamp = trace.Some(waking)
		}
		if callback != 0 {
			row.CallbackStartTimestamp = trace.Some(start)
		}
		s.rows.Scheds = append(s.rows.Scheds, row)
	}
	off(filterThread, trace.SchedPreempted, 1310, 0, 1330, 0, 0)
	off(filterThread, trace.SchedPreempted, 1370, 0, 1380, in.callback, 1350)
	off(filterThread, trace.SchedBlocked, 1390, 1415, 1420, in.callback, 1350)
	off(actuatorThread, trace.SchedBlocked, 700, 1440, 1450, 0, 0)
	return s
}

func pathPartsOf(t *testing.T, s *recording, options analyze.PathOptions) (results []analyze.PathParts, instances []analyze.PartedHop, err error) {
	t.Helper()
	q := s.query(analyze.Filter{})
	if err := q.LoadActivity(t.Context()); err != nil {
		t.Fatal(err)
	}
	paths, err := q.Architecture.FindPaths("[/sensor]-[/points]-[/filter]-[/objects]-[/actuator]")
	if err != nil {
		t.Fatal(err)
	}
	results, err = q.PathParts(t.Context(), paths, options, func(batch []analyze.PartedHop) error {
		instances = append(instances, batch...)
		return nil
	})
	return results, instances, err
}

// TestPathParts: the time of each hop is split into what the thread did that it waited for, and adds up.
func TestPathParts(t *testing.T) {
	results, instances, err := pathPartsOf(t, partedSystem(t), analyze.PathOptions{LastCallback: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		begin, latency int64
		parts          analyze.HopParts
		behind         int64
	}{
		{1000, 350, analyze.HopParts{DelayParts: analyze.DelayParts{OtherCallbacks: 300, Executor: 30, PreemptedTime: 20}}, 300},
		{1350, 80, analyze.HopParts{CPUTime: 40, DelayParts: analyze.DelayParts{PreemptedTime: 10, BlockedTime: 25, WakeupLatency: 5}}, 0},
		{1430, 30, analyze.HopParts{DelayParts: analyze.DelayParts{Executor: 10, BlockedTime: 10, WakeupLatency: 10}}, 0},
		{1460, 40, analyze.HopParts{CPUTime: 40}, 0},
	}
	if len(instances) != len(want) || len(results) != 1+len(want) {
		t.Fatalf("%+v, %+v", results, instances)
	}
	for i, w := range want {
		h, r := instances[i], results[i+1]
		if h.Hop != i+1 || h.Begin != w.begin || h.Latency != w.latency || h.HopParts != w.parts || h.BehindTime.Value != w.behind {
			t.Errorf("hop %d: %+v, want %+v", i+1, h, w)
		}
		p := h.HopParts
		if sum := p.CPUTime + p.OtherCallbacks + p.Executor + p.PreemptedTime + p.BlockedTime + p.WakeupLatency; sum != h.Latency {
			t.Errorf("the parts of hop %d add up to %d, not %d", i+1, sum, h.Latency)
		}
		if r.Hop != i+1 || r.Count != 1 || r.Unknown != 0 || r.Mean.Value != w.latency || r.CPUTime.Value != w.parts.CPUTime || r.BlockedTime.Value != w.parts.BlockedTime {
			t.Errorf("hop %d: %+v, want %+v", i+1, r, w)
		}
	}
	whole := results[0]
	if whole.Kind != analyze.HopPath || whole.Count != 1 || whole.Mean.Value != 500 || whole.CPUTime.Value != 80 || whole.OtherCallbacks.Value != 300 ||
		whole.BlockedTime.Value != 35 || whole.LongestBehindTime.Value != 300 || whole.LongestBehind == "" {
		t.Errorf("%+v", whole)
	}
}

// TestUnknownPathParts: where something is missing of what a thread did, nothing is said of the hop, nor of the whole.
func TestUnknownPathParts(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*recording)
		unknown [4]uint64 // the path, then its hops
	}{
		"nothing is missing":        {func(*recording) {}, [4]uint64{}},
		"what another callback did": {func(s *recording) { s.rows.Callbacks[2].CPUTime = trace.Optional[int64]{} }, [4]uint64{1, 1, 0, 0}},
		"what the node's did":       {func(s *recording) { s.rows.Callbacks[3].CPUTime = trace.Optional[int64]{} }, [4]uint64{1, 1, 1, 0}},
		"a waking in it":            {func(s *recording) { s.rows.Scheds[2].WakingTimestamp = trace.Optional[int64]{} }, [4]uint64{1, 0, 1, 0}},
		"times were lost in it": {func(s *recording) {
			s.rows.Losses = append(s.rows.Losses, trace.Loss{Kind: trace.LostSched, Reason: trace.LossRingFull, Count: 1, FromTimestamp: 1400, ToTimestamp: 1410})
		}, [4]uint64{1, 0, 1, 0}},
		"its thread is in a callback at the end": {func(s *recording) {
			open := s.rows.Callbacks[2]
			open.CallbackStartTimestamp, open.CallbackEndTimestamp = trace.Some[int64](1600), trace.Optional[int64]{}
			open.Status, open.CPUTime = trace.CallbackRecordingEnd, trace.Optional[int64]{}
			s.rows.Callbacks = append(s.rows.Callbacks, open)
		}, [4]uint64{}},
		"the past of the last thread": {func(s *recording) { s.rows.Callbacks[1].CPUTime = trace.Optional[int64]{} }, [4]uint64{1, 0, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := partedSystem(t)
			test.change(s)
			results, _, err := pathPartsOf(t, s, analyze.PathOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for i, unknown := range test.unknown {
				if r := results[i]; r.Unknown != unknown || r.Count != 1-unknown || r.Mean.Valid != (unknown == 0) {
					t.Errorf("hop %d: %+v, want %d unknown", i, r, unknown)
				}
			}
		})
	}
}

// TestNoPathParts: where no time off the CPU was recorded the answer is not that there was none.
func TestNoPathParts(t *testing.T) {
	s := partedSystem(t)
	s.rows.Scheds = nil
	if _, _, err := pathPartsOf(t, s, analyze.PathOptions{}); !errors.Is(err, analyze.ErrNoTimesOffCPU) {
		t.Errorf("%v", err)
	}
}
