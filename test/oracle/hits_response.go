package oracle

import (
	"cmp"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// responseTimes takes each output of a path with the newest of its inputs, leaves out those that show nothing newer
// than the one before, and tells how long the effect of that input, of all since the one before, of the oldest of them
// and of the one before itself took.
func (of *hitPath) responseTimes(c *hitComparison, ways []analyze.PathHopInstance) (rows []analyze.ResponseTime,
	instances []analyze.ResponseTimeInstance, inputs []analyze.ResponseTimeInputInstance) {
	newest := map[int64]int64{}
	for _, w := range ways {
		if w.Hop == 0 {
			newest[w.End.Value] = max(newest[w.End.Value], w.Begin)
		}
	}
	type flow struct{ input, output int64 }
	var flows []flow
	for output, input := range newest {
		flows = append(flows, flow{input, output})
	}
	slices.SortFunc(flows, func(a, b flow) int { return cmp.Compare(a.output, b.output) })
	var best, worst, external, all hitStatistics
	former := int64(-1)
	for _, f := range flows {
		if f.input <= former {
			continue
		}
		if former >= 0 {
			oldest := f.input
			for _, begin := range c.points(of.hops[0], false) {
				if at := begin.time(); at > former && at <= f.input {
					oldest = min(oldest, at)
					inputs = append(inputs, analyze.ResponseTimeInputInstance{Path: of.name, Input: at, Output: f.output, ResponseTime: f.output - at})
					all.add(at, trace.Some(f.output-at))
				}
			}
			i := analyze.ResponseTimeInstance{
				Path: of.name, Input: f.input, Output: f.output, Best: f.output - f.input, Worst: f.output - oldest, WorstWithExternalLatency: f.output - former,
			}
			instances = append(instances, i)
			best.add(i.Input, trace.Some(i.Best))
			worst.add(i.Input, trace.Some(i.Worst))
			external.add(i.Input, trace.Some(i.WorstWithExternalLatency))
		}
		former = f.input
	}
	return []analyze.ResponseTime{
		{Path: of.name, Case: analyze.ResponseBest, Statistics: best.statistics()},
		{Path: of.name, Case: analyze.ResponseWorst, Statistics: worst.statistics()},
		{Path: of.name, Case: analyze.ResponseWorstWithExternalLatency, Statistics: external.statistics()},
		{Path: of.name, Case: analyze.ResponseAll, Statistics: all.statistics()},
	}, instances, inputs
}

// requireResponseTimes asks a query of its own, on paths of its own.
func (c *hitComparison) requireResponseTimes(want []analyze.ResponseTime, wantFlows []analyze.ResponseTimeInstance, wantInputs []analyze.ResponseTimeInputInstance) {
	query, paths := c.allPaths()
	var flows []analyze.ResponseTimeInstance
	var inputs []analyze.ResponseTimeInputInstance
	results, err := query.ResponseTime(c.t.Context(), paths, analyze.PathOptions{}, collect(&flows), collect(&inputs))
	c.require(err)
	requireSame(c, "flows", flows, wantFlows)
	requireSame(c, "inputs of flows", inputs, wantInputs)
	requireSame(c, "response times", results, want)
}
