package analyze_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
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
	for symbol, duration := range durations {
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
	d, err := analyze.Diff(t.Context(), former, latter, analyze.DiffOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []analyze.EntityChange{{Change: "came", Kind: "node", Name: "/new"}, {Change: "went", Kind: "node", Name: "/old"}}; !slices.Equal(d.Entities, want) {
		t.Errorf("entities %+v, want %+v", d.Entities, want)
	}
	if len(d.Latencies) != 3 || !d.Latencies[0].Exceeds || d.Latencies[0].Name != "/node timer 10000000 ns slower()" {
		t.Fatalf("latencies %+v", d.Latencies)
	}
	if change := d.Latencies[0].Percent.Value; change < 15 || change > 25 {
		t.Errorf("the slower callback changed by %v %%, want 20", change)
	}
	for _, l := range d.Latencies[1:] {
		if l.Exceeds {
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
		d, err := analyze.Diff(t.Context(), timedDataset(t, 10+seed, durations), timedDataset(t, 20+seed, durations), analyze.DiffOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if d.Differs() {
			t.Errorf("seed %d: %+v", seed, d)
		}
	}
}
