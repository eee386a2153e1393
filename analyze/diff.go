package analyze

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/significance"
	"github.com/caret-bpf/caret-bpf/trace"
)

// DiffOptions say what counts as a difference. The zero value of a field stands for its default.
type DiffOptions struct {
	// Alpha is the probability, at most, with which any latency of recordings of the same system is called changed.
	// Default 0.01.
	Alpha float64
	// MinChange is the least change of the median, as a share of the former one, that is called a change. Default 0.03.
	MinChange float64
	// RunNoise is the standard deviation of a median from run to run of the same system that is assumed, as a share of the
	// median, where both sides have one recording of a latency. Default 0.03.
	RunNoise trace.Optional[float64]
	// Progress, if not nil, is called with the rows that were read of those that one of several passes has to read. It may
	// be called by several goroutines.
	Progress func(read, total int64)
}

func (o DiffOptions) defaults() significance.Options {
	chosen := significance.Options{Alpha: cmp.Or(o.Alpha, 0.01), MinChange: cmp.Or(o.MinChange, 0.03), RunNoise: 0.03}
	if o.RunNoise.Valid {
		chosen.RunNoise = o.RunNoise.Value
	}
	return chosen
}

// Difference is what differs between the recordings of two sides.
type Difference struct {
	Entities []EntityChange `json:"entities"`
	// Latencies has a row for every callback and communication that both sides have, those that changed first.
	Latencies []LatencyChange `json:"latencies"`
	// Noise says what the verdicts rest on.
	Noise NoiseBasis `json:"noise"`
	// Warnings say what the comparison lacks: damaged segments, records that were lost.
	Warnings []string `json:"warnings"`
}

// NoiseBasis says what is known of the noise from run to run.
type NoiseBasis struct {
	RecordingsA int `json:"recordings_a"`
	RecordingsB int `json:"recordings_b"`
	// AssumedPercent is the standard deviation from run to run that was assumed; null where recordings told it.
	AssumedPercent trace.Optional[float64] `json:"assumed_percent"`
	// PermutationRecordings is the number of recordings a side from which on a test that assumes nothing of how runs
	// differ could call a single latency changed. The t-test takes the medians of runs to be normally distributed.
	PermutationRecordings int `json:"permutation_recordings"`
}

// EntityChange is an entity that only one side has.
type EntityChange struct {
	// Change is came (only recordings of the second side have it) or went.
	Change string `json:"change" report:"change"`
	Kind   string `json:"kind" report:"kind"`
	Name   string `json:"name" report:"name,prose"`
	// Recordings is the number of recordings of its side that have it.
	Recordings int `json:"recordings" report:"recordings"`
}

// LatencyChange compares a latency of both sides, in nanoseconds.
type LatencyChange struct {
	Kind string `json:"kind" report:"kind,drop=7"`
	Name string `json:"name" report:"name,prose"`
	// RecordingsA and RecordingsB are the numbers of recordings that have the latency.
	RecordingsA int    `json:"recordings_a" report:"recordings_a,detail"`
	RecordingsB int    `json:"recordings_b" report:"recordings_b,detail"`
	CountA      uint64 `json:"count_a" report:"count_a,drop=5"`
	CountB      uint64 `json:"count_b" report:"count_b,drop=5"`
	// EffectiveA and EffectiveB are the numbers of independent durations that would tell the medians as well; null if a
	// recording is too short to tell.
	EffectiveA trace.Optional[uint64] `json:"effective_a" report:"effective_a,drop=2"`
	EffectiveB trace.Optional[uint64] `json:"effective_b" report:"effective_b,drop=2"`
	// MedianA and MedianB are the means of the medians of a side's recordings.
	MedianA int64 `json:"median_a" report:"median_a,duration"`
	MedianB int64 `json:"median_b" report:"median_b,duration"`
	// MediansExact is false where a recording has more than 4 million durations of the latency: its median is that of a
	// random part, some 2 to 4 million of them.
	MediansExact bool  `json:"medians_exact" report:"medians_exact,detail"`
	Change       int64 `json:"change" report:"change,duration,drop=8"`
	// Percent is Change as a share of MedianA; null where that is 0.
	Percent trace.Optional[float64] `json:"percent" report:"change_percent,percent"`
	// RunNoise is the standard deviation of the median from run to run, as a share of the median, and RunNoiseFrom where
	// that is from: assumed, or recordings.
	RunNoise     float64 `json:"run_noise_percent" report:"run_noise_percent,percent,drop=3"`
	RunNoiseFrom string  `json:"run_noise_from" report:"run_noise_from,drop=1"`
	// Detectable is the least change, as a share of MedianA, that these recordings could have shown; null where that is
	// not known.
	Detectable trace.Optional[float64] `json:"detectable_percent" report:"detectable_percent,percent,drop=4"`
	// P is the probability of such a difference between recordings of the same system, corrected for the number of
	// comparisons, in percent; null for recordings too short to tell.
	P trace.Optional[float64] `json:"p" report:"p,percent,drop=6"`
	// Verdict says what can be said of the change.
	Verdict significance.Verdict `json:"verdict" report:"verdict"`
}

// Differs tells whether entities came or went, or a latency changed by more than noise.
func (d *Difference) Differs() bool { return len(d.Entities) > 0 || d.Count(significance.Changed) > 0 }

// Count returns the number of latencies with a verdict.
func (d *Difference) Count(verdict significance.Verdict) int {
	count := 0
	for i := range d.Latencies {
		if d.Latencies[i].Verdict == verdict {
			count++
		}
	}
	return count
}

// Diff compares recordings of one system before something with recordings after it: at least one of each. Callbacks are
// the same when node, kind, topic or period, and symbol are.
func Diff(ctx context.Context, before, after []*trace.Dataset, options DiffOptions) (*Difference, error) {
	chosen := options.defaults()
	former, err := measureAll(ctx, before, options.Progress)
	if err != nil {
		return nil, err
	}
	latter, err := measureAll(ctx, after, options.Progress)
	if err != nil {
		return nil, err
	}
	d := &Difference{
		Entities: append(changedEntities("came", latter, former), changedEntities("went", former, latter)...), Latencies: []LatencyChange{},
		Noise: NoiseBasis{
			RecordingsA: len(before), RecordingsB: len(after), PermutationRecordings: significance.RecordingsForPermutation(chosen.Alpha),
		},
		Warnings: append(append([]string{}, former.warnings...), latter.warnings...),
	}
	slices.SortFunc(d.Entities, func(x, y EntityChange) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Name, y.Name))
	})
	var names []measured
	var pairs []significance.Pair
	for of, medians := range former.latencies {
		if others := latter.latencies[of]; others != nil {
			names = append(names, of)
			pairs = append(pairs, significance.Pair{Before: medians, After: others})
		}
	}
	for i, finding := range significance.JudgeFamily(pairs, chosen) {
		d.Latencies = append(d.Latencies, describeChange(names[i], pairs[i], finding))
		if finding.Assumed {
			d.Noise.AssumedPercent = trace.Some(100 * chosen.RunNoise)
		}
	}
	slices.SortFunc(d.Latencies, func(a, b LatencyChange) int {
		if x, y := a.Verdict == significance.Changed, b.Verdict == significance.Changed; x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return d, nil
}

// changedEntities returns the entities that the recordings of one side have, and none of the other.
func changedEntities(change string, have, lack *measuredSide) []EntityChange {
	changes := []EntityChange{}
	for of, recordings := range have.entities {
		if lack.entities[of] == 0 {
			changes = append(changes, EntityChange{Change: change, Kind: of.kind, Name: of.name, Recordings: recordings})
		}
	}
	return changes
}

func describeChange(of measured, pair significance.Pair, f significance.Finding) LatencyChange {
	l := LatencyChange{
		Kind: of.kind, Name: of.name, RecordingsA: len(pair.Before), RecordingsB: len(pair.After), MediansExact: true,
		MedianA: int64(math.Round(f.Before)), MedianB: int64(math.Round(f.After)), Change: int64(math.Round(f.After - f.Before)),
		RunNoise: 100 * f.RunNoise, RunNoiseFrom: "recordings", Verdict: f.Verdict,
	}
	if f.Assumed {
		l.RunNoiseFrom = "assumed"
	}
	l.CountA, l.EffectiveA = countsOf(pair.Before)
	l.CountB, l.EffectiveB = countsOf(pair.After)
	for _, m := range slices.Concat(pair.Before, pair.After) {
		l.MediansExact = l.MediansExact && m.Kept == m.Count
	}
	if f.Before != 0 {
		l.Percent = trace.Some(100 * (f.After - f.Before) / math.Abs(f.Before))
	}
	if f.Known {
		l.P = trace.Some(100 * f.Corrected)
		if f.Before != 0 {
			l.Detectable = trace.Some(100 * f.Detectable / math.Abs(f.Before))
		}
	}
	return l
}

// countsOf adds up what recordings have.
func countsOf(medians []significance.Median) (count uint64, effective trace.Optional[uint64]) {
	sum, known := 0.0, true
	for _, m := range medians {
		count += m.Count
		sum += m.Effective
		known = known && m.Known
	}
	if known {
		effective = trace.Some(uint64(math.Round(sum)))
	}
	return count, effective
}
