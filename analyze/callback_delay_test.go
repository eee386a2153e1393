package analyze_test

import (
	"errors"
	"regexp"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// busyThread is a recording of one thread: a timer whose callback was due while another one ran, and a message that the
// thread waited for. Around them is what makes the thread's past known.
func busyThread(t *testing.T) (*recording, testNode) {
	s := newRecording(t)
	n := s.node("/n")
	timer, hog := s.timer(n, 1000), s.timer(n, 100_000)
	sub := s.subscription(n, "/t")
	publisher := s.publisher(n, "/t", "aa")
	parts := func(cpu int64) analyze.Parts { return analyze.Parts{CPUTime: cpu} }
	s.parted(n, timer, 10_000, parts(100), 0, 0) // on the grid
	s.parted(n, hog, 10_900, parts(400), 0, 0)   // over the next point
	s.parted(n, timer, 11_350, parts(100), 0, 0)
	s.publishes(publisher, 11_500, 77, 0, 0)
	s.receives(sub, "aa", 77, 11_800, 11_900)
	last := &s.rows.Callbacks[len(s.rows.Callbacks)-1]
	last.CPUTime, last.PreemptedTime, last.BlockedTime = trace.Some[int64](100), trace.Some[int64](0), trace.Some[int64](0)
	last.WakeupLatency, last.Preemptions, last.Migrations = trace.Some[int64](0), trace.Some[int32](0), trace.Some[int32](0)
	off := func(kind trace.SchedKind, out, waking, in int64) {
		row := trace.Sched{ProcessKey: n.key, Kind: kind, SchedOutTimestamp: out, SchedInTimestamp: in}
		if waking != 0 {
			row.WakingTimestamp = trace.Some(waking)
		}
		s.rows.Scheds = append(s.rows.Scheds, row)
	}
	off(trace.SchedBlocked, 10_120, 10_880, 10_890)
	off(trace.SchedPreempted, 11_310, 0, 11_330)
	off(trace.SchedBlocked, 11_460, 11_700, 11_740)
	s.rows.Scheds = append(s.rows.Scheds, trace.Sched{
		ProcessKey: n.key, Kind: trace.SchedPreempted, SchedOutTimestamp: 11_000, SchedInTimestamp: 11_005, Callback: hog, CallbackStartTimestamp: trace.Some[int64](10_900),
	})
	return s, n
}

func delaysOf(t *testing.T, s *recording, filter analyze.Filter) (results []analyze.CallbackDelay, instances []analyze.DelayedExecution) {
	t.Helper()
	results, err := s.query(filter).CallbackDelays(t.Context(), func(batch []analyze.DelayedExecution) error {
		instances = append(instances, batch...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return results, instances
}

// TestCallbackDelays: the time before a callback is split into what its thread did meanwhile, and adds up.
func TestCallbackDelays(t *testing.T) {
	s, _ := busyThread(t)
	_, instances := delaysOf(t, s, analyze.Filter{})
	if len(instances) != 3 {
		t.Fatalf("%+v", instances)
	}
	late, received := instances[1], instances[2]
	if want := (analyze.DelayParts{OtherCallbacks: 300, Executor: 30, PreemptedTime: 20}); late.DelayParts != want || late.Latency != 350 || late.Since != analyze.DelayDue {
		t.Errorf("%+v, want %+v", late, want)
	}
	if late.Behind == "" || late.BehindTime.Value != 300 {
		t.Errorf("it was behind %q for %v", late.Behind, late.BehindTime)
	}
	if want := (analyze.DelayParts{Executor: 60, BlockedTime: 200, WakeupLatency: 40}); received.DelayParts != want || received.Latency != 300 || received.Since != analyze.DelayPublish {
		t.Errorf("%+v, want %+v", received, want)
	}
	for _, e := range instances {
		if sum := e.OtherCallbacks + e.Executor + e.PreemptedTime + e.BlockedTime + e.WakeupLatency; sum != e.Latency {
			t.Errorf("parts of %+v add up to %d", e, sum)
		}
	}
}

// TestDelaysOfSome: what is not asked for has been run all the same.
func TestDelaysOfSome(t *testing.T) {
	s, _ := busyThread(t)
	results, instances := delaysOf(t, s, analyze.Filter{Topics: []*regexp.Regexp{regexp.MustCompile("^/t$")}})
	if len(results) != 1 || len(instances) != 1 || instances[0].BlockedTime != 200 || results[0].Count != 1 || results[0].Mean.Value != 300 {
		t.Errorf("%+v, %+v", results, instances)
	}
}

// TestUnknownDelays: where something is missing of what the thread did, nothing is said.
func TestUnknownDelays(t *testing.T) {
	lost := func(s *recording, kind trace.LossKind, reason trace.LossReason) {
		s.rows.Losses = append(s.rows.Losses, trace.Loss{Kind: kind, Reason: reason, Count: 1, FromTimestamp: 11_100, ToTimestamp: 11_200})
	}
	for name, test := range map[string]struct {
		change func(*recording)
		known  int
	}{
		"nothing is missing":            {func(*recording) {}, 3},
		"other callbacks are not known": {func(s *recording) { s.rows.Callbacks[1].CPUTime = trace.Optional[int64]{} }, 1},
		"one has no end": {func(s *recording) {
			row := &s.rows.Callbacks[1]
			row.CallbackEndTimestamp, row.Status, row.CPUTime = trace.Optional[int64]{}, trace.CallbackUnwound, trace.Optional[int64]{}
		}, 1},
		"no waking was seen": {func(s *recording) { s.rows.Scheds[2].WakingTimestamp = trace.Optional[int64]{} }, 2},
		"times were lost":    {func(s *recording) { lost(s, trace.LostSched, trace.LossRingFull) }, 2},
		"times were lost, twice at once": {func(s *recording) {
			lost(s, trace.LostSched, trace.LossRingFull)
			lost(s, trace.LostSched, trace.LossRingFull)
		}, 2},
		"others were lost":            {func(s *recording) { lost(s, trace.LostRaw, trace.LossRingFull) }, 3},
		"what is missed is told":      {func(s *recording) { lost(s, trace.LostSched, trace.LossMissed) }, 3},
		"it runs in another":          {func(s *recording) { s.rows.Callbacks[2].Depth = 1 }, 2},
		"the publish is not known":    {func(s *recording) { s.rows.Publishes = nil }, 2},
		"its own parts are not known": {func(s *recording) { s.rows.Callbacks[2].CPUTime = trace.Optional[int64]{} }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := busyThread(t)
			test.change(s)
			results, instances := delaysOf(t, s, analyze.Filter{})
			unknown := uint64(0)
			for _, r := range results {
				unknown += r.Unknown
			}
			for _, e := range instances {
				if e.Since == analyze.DelayPublish && e.BlockedTime != 200 {
					t.Errorf("%+v", e)
				}
			}
			if len(instances) != test.known {
				t.Errorf("%d are known, want %d (%d are not): %+v", len(instances), test.known, unknown, instances)
			}
		})
	}
}

// TestNoDelays: where no time off the CPU was recorded the answer is not that there was none.
func TestNoDelays(t *testing.T) {
	s, _ := busyThread(t)
	s.rows.Scheds = nil
	if _, err := s.query(analyze.Filter{}).CallbackDelays(t.Context(), nil); !errors.Is(err, analyze.ErrNoTimesOffCPU) {
		t.Errorf("%v", err)
	}
}
