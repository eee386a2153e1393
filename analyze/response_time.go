package analyze

import (
	"context"
	"errors"
	"fmt"

	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// ResponseTime is how long a system took to show the effect of what it was to react to, along a path. A flow is an
// output of the path with the newest input that it was made of; outputs that are made of no newer input than an earlier
// one are no flows. What happens just after an input was taken has to wait for the next flow, hence three times for
// each flow but the first. Each input since that of the flow before, dropped ones included, has one of its own.
type ResponseTime struct {
	Path string           `report:"path,heading"`
	Case ResponseTimeCase `report:"case"`
	Statistics
	// ClockAgreement is the worst of the durations'.
	ClockAgreement
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
	// ResponseAll: from each input since that of the flow before, whether or not it was dropped.
	ResponseAll ResponseTimeCase = "all"
)

// ResponseTimeInstance is the response times of one flow.
type ResponseTimeInstance struct {
	Path                     string `report:"path,heading"`
	Input                    int64  `report:"input_timestamp,time"`
	Output                   int64  `report:"output_timestamp,time"`
	Best                     int64  `report:"best,duration"`
	Worst                    int64  `report:"worst,duration"`
	WorstWithExternalLatency int64  `report:"worst_with_external_latency,duration"`
	// ClockAgreement is the worst of the three.
	ClockAgreement
}

// ResponseTimeInputInstance is the response time of one input: until the first output that was made of it, or of a
// newer one.
type ResponseTimeInputInstance struct {
	Path         string `report:"path,heading"`
	Input        int64  `report:"input_timestamp,time"`
	Output       int64  `report:"output_timestamp,time"`
	ResponseTime int64  `report:"response_time,duration"`
	ClockAgreement
}

// ResponseTime answers how fast paths react. each and eachInput, if not nil, get the flows and the inputs, in the order
// of their inputs.
func (q *Query) ResponseTime(ctx context.Context, paths []*system.Path, options PathOptions,
	each func([]ResponseTimeInstance) error, eachInput func([]ResponseTimeInputInstance) error) ([]ResponseTime, error) {
	flows := newSeries(each, func(i *ResponseTimeInstance) int64 { return i.Input })
	inputs := newSeries(eachInput, func(i *ResponseTimeInputInstance) int64 { return i.Input })
	flush := func() error { return errors.Join(flows.flush(), inputs.flush()) }
	responses := make(map[*trackedPath]*responseTimes)
	t, err := newPathTracker(q, paths, options, func(w *way) { responses[w.path].addWay(w) })
	if err != nil {
		return nil, err
	}
	for _, p := range t.paths {
		responses[p] = &responseTimes{query: q, path: p.name, respond: flows.add, respondTo: inputs.add}
	}
	if err := t.track(ctx, flush); err != nil {
		return nil, err
	}
	var results []ResponseTime
	for _, p := range t.paths {
		r := responses[p]
		r.settle()
		if r.reversed > 0 {
			q.Warnings = append(q.Warnings, fmt.Sprintf("%d outputs of %s have no response time: by the clocks of their hosts they were there before their inputs", r.reversed, p.name))
		}
		results = append(results,
			ResponseTime{Path: p.name, Case: ResponseBest, Statistics: r.best.statistics(), ClockAgreement: r.agreed.best.worst},
			ResponseTime{Path: p.name, Case: ResponseWorst, Statistics: r.worst.statistics(), ClockAgreement: r.agreed.worst.worst},
			ResponseTime{Path: p.name, Case: ResponseWorstWithExternalLatency, Statistics: r.external.statistics(), ClockAgreement: r.agreed.external.worst},
			ResponseTime{Path: p.name, Case: ResponseAll, Statistics: r.all.statistics(), ClockAgreement: r.agreed.all.worst})
	}
	return results, errors.Join(flows.end(q), inputs.end(q))
}

// responseTimes computes the response times of the flows of a path from the ways that reached its end, in the order of
// their ends.
type responseTimes struct {
	query                      *Query
	path                       string
	respond                    func(ResponseTimeInstance)
	respondTo                  func(ResponseTimeInputInstance)
	best, worst, external, all distribution
	agreed                     struct{ best, worst, external, all clockAgreement }
	first, last                int // the datasets of the path's ends, if there are several clocks

	newest *pathBegin // of the ways with the last output; nil before the first
	output int64
	former *pathBegin // the input of the flow before

	reversed uint64 // ways that end before they begin
}

// addWay takes a way.
func (r *responseTimes) addWay(w *way) {
	if w.datasets != nil {
		r.first, r.last = w.datasets[0], w.datasets[len(w.datasets)-1]
	}
	r.add(w.from, w.end())
}

// agreement is that of an input and the output.
func (r *responseTimes) agreement(input int64) ClockAgreement {
	if r.first == r.last {
		return ClockAgreement{}
	}
	return r.query.agreement(r.first, input, r.last, r.output)
}

// add takes a way. Those that end before they begin (clocks that differ) are left out.
func (r *responseTimes) add(from *pathBegin, output int64) {
	if output < from.at {
		r.reversed++
		return
	}
	if r.newest != nil && output != r.output {
		r.settle()
	}
	if r.newest == nil || from.setOut > r.newest.setOut {
		r.newest, r.output = from, output
	}
}

// settle takes the newest input of the last output for a flow, unless an earlier output was made of one as new.
func (r *responseTimes) settle() {
	of := r.newest
	r.newest = nil
	if of == nil || r.former != nil && of.setOut <= r.former.setOut {
		return
	}
	if r.former != nil {
		r.respondFrom(of)
	}
	r.former = of
}

// respondFrom adds the flow of an input.
func (r *responseTimes) respondFrom(of *pathBegin) {
	oldest := of
	for b := r.former.next; b != nil && b.setOut <= of.setOut; b = b.next {
		if b.setOut == r.former.setOut {
			continue
		}
		if b.setOut < oldest.setOut {
			oldest = b
		}
		input := ResponseTimeInputInstance{Path: r.path, Input: b.at, Output: r.output, ResponseTime: r.output - b.at, ClockAgreement: r.agreement(b.at)}
		r.agreed.all.add(input.ClockAgreement)
		r.all.add(input.Input, input.ResponseTime)
		r.respondTo(input)
	}
	flow := ResponseTimeInstance{
		Path: r.path, Input: of.at, Output: r.output, Best: r.output - of.at, Worst: r.output - oldest.at, WorstWithExternalLatency: r.output - r.former.at,
	}
	r.agreed.best.add(r.agreement(of.at))
	r.agreed.worst.add(r.agreement(oldest.at))
	r.agreed.external.add(r.agreement(r.former.at))
	var worst clockAgreement
	for _, from := range []*pathBegin{of, oldest, r.former} {
		worst.add(r.agreement(from.at))
	}
	flow.ClockAgreement = worst.worst
	r.best.add(flow.Input, flow.Best)
	r.worst.add(flow.Input, flow.Worst)
	r.external.add(flow.Input, flow.WorstWithExternalLatency)
	r.respond(flow)
}
