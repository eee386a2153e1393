package significance

import (
	"cmp"
	"math"
	"slices"
)

// Options say what counts as a change.
type Options struct {
	// Alpha is the probability, at most, with which any median of a family is called changed although none is.
	Alpha float64
	// MinChange is the least change of a median, as a share of the former one, that is called a change.
	MinChange float64
	// RunNoise is the standard deviation of a median from run to run that is assumed, as a share of the median, where both
	// sides have one recording.
	RunNoise float64
}

// Verdict is what can be said of a median.
type Verdict string

// The verdicts.
const (
	// Changed is a change that is more than noise and at least Options.MinChange.
	Changed Verdict = "changed"
	// Small is a change that is more than noise, but less than Options.MinChange.
	Small Verdict = "small"
	// Noise is a difference that chance may have made. It does not say that nothing changed.
	Noise Verdict = "noise"
	// TooShort is said where a recording is too short for how long durations depend on one another.
	TooShort Verdict = "too_short"
)

// Pair has the medians of a latency's recordings on both sides.
type Pair struct {
	Before, After []Median
}

// Finding is a comparison among others.
type Finding struct {
	Comparison
	// Corrected is P, corrected for the number of comparisons. It is meaningless if Known is false.
	Corrected float64
	// Detectable is the least difference, in nanoseconds, that these recordings could have shown as a change, as the only
	// one of the family.
	Detectable float64
	Verdict    Verdict
}

// JudgeFamily compares both sides of all pairs. Options.Alpha is for all of them together.
func JudgeFamily(pairs []Pair, options Options) []Finding {
	findings := make([]Finding, len(pairs))
	var known []int
	var probabilities []float64
	for i, pair := range pairs {
		c := Compare(pair.Before, pair.After, options.RunNoise)
		findings[i] = Finding{Comparison: c, Verdict: TooShort}
		if c.Known {
			known = append(known, i)
			probabilities = append(probabilities, c.P)
		}
	}
	for i, corrected := range Holm(probabilities) {
		f := &findings[known[i]]
		least := options.MinChange * math.Abs(f.Before)
		f.Corrected = corrected
		f.Detectable = max(f.Comparison.Detectable(options.Alpha/float64(len(known))), least)
		f.Verdict = verdictOf(corrected, math.Abs(f.After-f.Before), least, options.Alpha)
	}
	return findings
}

func verdictOf(corrected, change, least, alpha float64) Verdict {
	switch {
	case corrected >= alpha:
		return Noise
	case change < least:
		return Small
	}
	return Changed
}

// Holm corrects probabilities for their number: the probability that any of true hypotheses has one below α is less
// than α, however they depend on one another (Holm: A simple sequentially rejective multiple test procedure, Scand. J.
// Stat. 6, 1979).
func Holm(probabilities []float64) []float64 {
	order := make([]int, len(probabilities))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(probabilities[a], probabilities[b]) })
	corrected := make([]float64, len(probabilities))
	greatest := 0.0
	for i, at := range order {
		greatest = max(greatest, min(probabilities[at]*float64(len(order)-i), 1))
		corrected[at] = greatest
	}
	return corrected
}

// RecordingsForPermutation is the number of recordings a side with which a test that assumes nothing of how runs differ
// could have a probability of at most alpha: if all medians of one side are below all of the other one, that is one of
// the two extremes of the C(2n, n) ways to share the recordings out.
func RecordingsForPermutation(alpha float64) int {
	n, ways := 0, 1.0
	for 2/ways > alpha {
		n++
		ways *= float64(2*n) * float64(2*n-1) / float64(n*n)
	}
	return n
}
