package analyze_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/significance"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// timedDataset has a node with a timer each for the durations, given by the callback's symbol, and extra nodes.
func timedDataset(t *testing.T, seed uint64, durations map[string]int64, extra ...string) *trace.Dataset {
	t.Helper()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(seed, 1))
	nodes := []trace.Node{{ProcessKey: robot, NodeHandle: 0x10, NodeName: "node", Namespace: "/"}}
	for i, name := range extra {
		nodes = append(nodes, trace.Node{ProcessKey: robot, NodeHandle: trace.Address(0x1000 + i), NodeName: name, Namespace: "/"})
	}
	tracetest.AddSegment(t, dir, 0, nodes)
	var timers []trace.Timer
	var infos []trace.CallbackInfo
	var executions []trace.Callback
	address := trace.Address(0x100)
	for _, symbol := range slices.Sorted(maps.Keys(durations)) {
		duration := durations[symbol]
		address += 0x10
		timers = append(timers, trace.Timer{ProcessKey: robot, TimerHandle: address + 1, NodeHandle: 0x10, Callback: address, Period: trace.Some(int64(10e6))})
		infos = append(infos, trace.CallbackInfo{ProcessKey: robot, Callback: address, Symbol: symbol})
		for i := range int64(3000) {
			begin := i * 10_000_000
			executions = append(executions, trace.Callback{
				ProcessKey: robot, Callback: address, CallbackStartTimestamp: trace.Some(begin),
				CallbackEndTimestamp: trace.Some(begin + duration + random.Int64N(duration)), Status: trace.CallbackComplete,
			})
		}
	}
	tracetest.AddSegment(t, dir, 0, timers)
	tracetest.AddSegment(t, dir, 0, infos)
	tracetest.AddSegment(t, dir, 0, executions)
	tracetest.AddSession(t, dir, trace.NewSession())
	return tracetest.Open(t, dir)
}

func TestDiff(t *testing.T) {
	former := timedDataset(t, 1, map[string]int64{"steady()": 10_000, "slower()": 10_000, "hardly()": 10_000}, "old")
	latter := timedDataset(t, 2, map[string]int64{"steady()": 10_000, "slower()": 12_000, "hardly()": 10_200}, "new")
	d, err := analyze.Diff(t.Context(), []*trace.Dataset{former}, []*trace.Dataset{latter}, analyze.DiffOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []analyze.EntityChange{{Change: "came", Kind: "node", Name: "/new", Recordings: 1}, {Change: "went", Kind: "node", Name: "/old", Recordings: 1}}; !slices.Equal(d.Entities, want) {
		t.Errorf("entities %+v, want %+v", d.Entities, want)
	}
	if len(d.Latencies) != 3 || d.Latencies[0].Verdict != significance.Changed || d.Latencies[0].Name != "/node timer 10000000 ns slower()" {
		t.Fatalf("latencies %+v", d.Latencies)
	}
	if change := d.Latencies[0].Percent.Value; change < 15 || change > 25 {
		t.Errorf("the slower callback changed by %v %%, want 20", change)
	}
	for _, l := range d.Latencies[1:] {
		if l.Verdict != significance.Noise {
			t.Errorf("%s is said to have changed: %+v", l.Name, l)
		}
	}
	if !d.Differs() {
		t.Error("no difference")
	}
}

// Two recordings of the same system do not differ, whatever the noise.
func TestDiffOfTheSame(t *testing.T) {
	durations := map[string]int64{"a()": 5_000, "b()": 50_000, "c()": 500_000}
	for seed := range uint64(5) {
		before, after := timedDataset(t, 10+seed, durations), timedDataset(t, 20+seed, durations)
		d, err := analyze.Diff(t.Context(), []*trace.Dataset{before}, []*trace.Dataset{after}, analyze.DiffOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if d.Differs() {
			t.Errorf("seed %d: %+v", seed, d)
		}
	}
}

// Several recordings a side tell how much runs differ: here by about 10 %, so that 5 % are nothing.
func TestDiffOfSeveralRecordings(t *testing.T) {
	side := func(seed uint64, durations ...int64) (datasets []*trace.Dataset) {
		for i, duration := range durations {
			datasets = append(datasets, timedDataset(t, seed+uint64(i), map[string]int64{"restless()": duration, "slower()": 10_000 + int64(seed)*100}))
		}
		return datasets
	}
	d, err := analyze.Diff(t.Context(), side(0, 10_000, 11_000, 9_000), side(20, 10_500, 11_500, 9_500), analyze.DiffOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Noise.AssumedPercent.Valid || d.Noise.RecordingsA != 3 || d.Noise.RecordingsB != 3 || d.Noise.PermutationRecordings != 5 {
		t.Errorf("noise is from %+v", d.Noise)
	}
	slower, restless := d.Latencies[0], d.Latencies[1]
	if slower.Verdict != significance.Changed || slower.RecordingsA != 3 || slower.CountA != 9000 || slower.RunNoise > 2 || slower.RunNoiseFrom != "recordings" {
		t.Errorf("slower: %+v", slower)
	}
	if restless.Verdict != significance.Noise || restless.RunNoise < 5 || restless.RunNoise > 15 {
		t.Errorf("restless: %+v", restless)
	}
}

// One recording a side does not tell how much runs differ.
func TestDiffAssumesRunNoise(t *testing.T) {
	before, after := timedDataset(t, 1, map[string]int64{"a()": 10_000}), timedDataset(t, 2, map[string]int64{"a()": 10_600})
	for noise, want := range map[trace.Optional[float64]]significance.Verdict{{}: significance.Noise, trace.Some(0.0): significance.Changed} {
		d, err := analyze.Diff(t.Context(), []*trace.Dataset{before}, []*trace.Dataset{after}, analyze.DiffOptions{RunNoise: noise})
		if err != nil {
			t.Fatal(err)
		}
		if l := d.Latencies[0]; l.Verdict != want || l.RunNoiseFrom != "assumed" || !l.EffectiveA.Valid || !d.Noise.AssumedPercent.Valid {
			t.Errorf("run noise %v: %+v, want %s", noise, l, want)
		}
	}
}
