package analyze

import (
	"cmp"
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// ResponseTime is how long a system took to show the effect of what it was to react to, along a path. A flow is an output of the path with
// the newest input that it was made of; outputs that are made of no newer input than an earlier one are no flows. What happens just
// after an input was taken has to wait for the next flow, hence three times for each flow but the first.
type ResponseTime struct {
	Path string           `report:"path"`
	Case ResponseTimeCase `report:"case"`
	Statistics
}

// ResponseTimeCase says from when on a response time counts.
type ResponseTimeCase string

// The cases, in CARET's words.
const (
	// ResponseBest: from the flow's input.
	ResponseBest ResponseTimeCase = "best"
	// ResponseWorst: from the oldest input since that of the flow before, whether or not it was dropped.
	ResponseWorst ResponseTimeCase = "worst"
	// ResponseWorstWithExternalLatency: from the input of the flow before: what happened just after it.
	ResponseWorstWithExternalLatency ResponseTimeCase = "worst_with_external_latency"
)

// ResponseTimeInstance is the response times of one flow.
type ResponseTimeInstance struct {
	Path                     string `report:"path"`
	Input                    int64  `report:"input_timestamp,time"`
	Output                   int64  `report:"output_timestamp,time"`
	Best                     int64  `report:"best,duration"`
	Worst                    int64  `report:"worst,duration"`
	WorstWithExternalLatency int64  `report:"worst_with_external_latency,duration"`
}

// flow is the begin and the end of a message's way along a path.
type flow struct {
	begin, end int64
}

// ResponseTime answers how fast paths react. each, if not nil, gets the flows in the order of their outputs.
func (q *Query) ResponseTime(ctx context.Context, paths []*Path, latest bool, each func([]ResponseTimeInstance) error) ([]ResponseTime, error) {
	t, err := q.trackPaths(ctx, paths, latest, nil)
	if err != nil {
		return nil, err
	}
	var results []ResponseTime
	for _, p := range t.paths {
		var best, worst, external distribution
		responses := responseTimes(p.starts, p.flows)
		for i := range responses {
			r := &responses[i]
			r.Path = p.name
			best.add(r.Input, r.Best)
			worst.add(r.Input, r.Worst)
			external.add(r.Input, r.WorstWithExternalLatency)
		}
		if each != nil {
			if err := each(responses); err != nil {
				return nil, err
			}
		}
		results = append(results,
			ResponseTime{Path: p.name, Case: ResponseBest, Statistics: best.statistics()},
			ResponseTime{Path: p.name, Case: ResponseWorst, Statistics: worst.statistics()},
			ResponseTime{Path: p.name, Case: ResponseWorstWithExternalLatency, Statistics: external.statistics()})
	}
	return results, nil
}

// responseTimes computes the response times of the flows of a path from all its begins and the ways that reached its end. Ways that end
// before they begin (clocks that differ) are left out.
func responseTimes(starts []int64, ways []flow) []ResponseTimeInstance {
	slices.Sort(starts)
	ways = slices.DeleteFunc(slices.Clone(ways), func(f flow) bool { return f.end < f.begin })
	// Of the ways with one output the newest input counts.
	slices.SortFunc(ways, func(a, b flow) int { return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(b.begin, a.begin)) })
	var responses []ResponseTimeInstance
	var former trace.Optional[int64] // input of the flow before
	for _, f := range ways {
		if former.Valid && f.begin <= former.Value {
			continue
		}
		if former.Valid {
			oldest, _ := slices.BinarySearch(starts, former.Value+1)
			responses = append(responses, ResponseTimeInstance{
				Input: f.begin, Output: f.end, Best: f.end - f.begin, Worst: f.end - starts[oldest], WorstWithExternalLatency: f.end - former.Value,
			})
		}
		former = trace.Some(f.begin)
	}
	return responses
}
