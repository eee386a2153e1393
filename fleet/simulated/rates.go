package simulated

import (
	"github.com/caret-bpf/caret-bpf/analyze/significance"
)

// Count says how often something was so.
type Count struct {
	Times, Of int
}

// Rates tell how comparisons of the last two releases of fleets turned out.
type Rates struct {
	// Alarms counts the fleets in which anything was called changed that was not.
	Alarms Count
	// Found counts the fleets in which the path that is longer was called changed.
	Found Count
	// Unknown counts the latencies of which nothing could be said.
	Unknown Count
}

// Measure compares the last two releases of that many fleets, which differ in their seed. What a recording would show
// is drawn without making its executions: its medians are those of a long one.
func (f Fleet) Measure(trials int, options significance.Options) (r Rates) {
	for range trials {
		f.Seed++
		longer := f.longer()
		alarm := false
		for i, finding := range significance.JudgeNested(f.pairs(), options) {
			changed := finding.Verdict == significance.Changed
			switch {
			case i == longer.path && changed:
				r.Found.Times++
			case i != longer.path && i != longer.callback && changed:
				alarm = true
			}
			if finding.Verdict == significance.Unknown {
				r.Unknown.Times++
			}
			r.Unknown.Of++
		}
		r.Found.Of++
		r.Alarms.Of++
		if alarm {
			r.Alarms.Times++
		}
	}
	return r
}

// latenciesOfChain is how many latencies a chain has: its callbacks, its communications, its path.
const latenciesOfChain = stops + stops - 1 + 1

// longer are the places of what a regression makes longer among the latencies.
func (f *Fleet) longer() (of struct{ path, callback int }) {
	of.callback, of.path = longerStop, latenciesOfChain-1
	return of
}

// pairs are the medians of all latencies in the last two releases.
func (f *Fleet) pairs() []significance.NestedPair {
	pairs := make([]significance.NestedPair, latenciesOfChain*f.Chains)
	for i := range f.Recordings {
		r := f.recording(i)
		if r.release < f.Releases-2 {
			continue
		}
		for c := range r.chains {
			for part, value := range r.medians(c) {
				p := &pairs[c*latenciesOfChain+part]
				observation := significance.Observation{Vehicle: int32(r.vehicle), Value: value}
				if r.release == f.Releases-1 {
					p.After = append(p.After, observation)
				} else {
					p.Before = append(p.Before, observation)
				}
			}
		}
	}
	return pairs
}

// medians are those of a chain's latencies.
func (r *recording) medians(index int) (values [latenciesOfChain]int64) {
	c := &r.chains[index]
	slower := 1 + r.fleet.Swing*load(r.begin)
	total := 0.0
	for stop := range stops {
		values[stop] = int64(slower * c.work[stop])
		if stop > 0 {
			values[stops+stop-1] = int64(slower * c.travel[stop])
			total += slower * (c.work[stop] + c.travel[stop])
		}
	}
	values[latenciesOfChain-1] = int64(total)
	return values
}
