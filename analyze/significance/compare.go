package significance

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Comparison is what the medians of two sides tell. Times are in nanoseconds.
type Comparison struct {
	// Before and After are the means of the medians of a side's recordings.
	Before, After float64
	// P is the probability that sides of the same system differ as much, if Known.
	P float64
	// Error is the standard error of After − Before, noise from run to run included, and Freedom its degrees of freedom.
	Error, Freedom float64
	// RunNoise is the standard deviation of the median from run to run, as a share of the median. It was assumed if
	// Assumed, otherwise estimated from recordings of the same side.
	RunNoise float64
	Assumed  bool
	// Known is false where both sides have one recording and one of them is too short to tell its error.
	Known bool
}

// Compare tests whether the medians of two sides differ. Each side has the medians of one or several recordings, none
// of which is without durations.
//
// The median of a recording is one observation: runs of the same program differ, and no longer recording shows that. If
// both sides have several recordings, their medians are compared by the t-test of Welch (The generalization of
// “Student's” problem when several different population variances are involved, Biometrika 34, 1947). If only one has,
// its runs stand for those of both. If neither has, nothing tells how much runs differ: assumedNoise does, a standard
// deviation as a share of the median.
//
// The errors within the recordings are the least that runs differ by, however close together a few medians happen to
// be.
func Compare(before, after []Median, assumedNoise float64) Comparison {
	a, b := sideOf(before), sideOf(after)
	c := Comparison{Before: a.mean, After: b.mean, Known: true}
	var variances [2]uncertain
	switch {
	case a.runs == 1 && b.runs == 1:
		c.Assumed, c.RunNoise, c.Known = true, assumedNoise, before[0].Known && after[0].Known
		for i, side := range []side{a, b} {
			assumed := uncertain{square(assumedNoise * side.mean), math.Inf(1)}
			variances[i] = uncertain{side.within, side.freedom}.plus(assumed)
		}
	case a.runs == 1 || b.runs == 1:
		several := a
		if a.runs == 1 {
			several = b
		}
		between := several.between * (1/a.runs + 1/b.runs)
		variances[0] = uncertain{max(between, a.within+b.within), several.runs - 1}
		c.RunNoise = share(math.Sqrt(several.between), several.mean)
	default:
		for i, side := range []side{a, b} {
			variances[i] = uncertain{max(side.between/side.runs, side.within), side.runs - 1}
		}
		c.RunNoise = share(math.Sqrt((a.between*(a.runs-1)+b.between*(b.runs-1))/(a.runs+b.runs-2)), (a.mean+b.mean)/2)
	}
	total := variances[0].plus(variances[1])
	c.Error, c.Freedom = math.Sqrt(total.variance), total.freedom
	c.P = 2 * studentT(c.Freedom).Survival(math.Abs(c.After-c.Before)/c.Error)
	return c
}

// Detectable returns the difference of the medians that would have had the probability alpha, in nanoseconds.
func (c *Comparison) Detectable(alpha float64) float64 {
	return c.Error * studentT(c.Freedom).Quantile(1-alpha/2)
}

// side is what the recordings of a side tell together.
type side struct {
	runs, mean float64
	// between is the variance of the medians of runs, 0 for a single one.
	between float64
	// within is the variance of the mean from within the recordings, and freedom its degrees of freedom.
	within, freedom float64
}

func sideOf(medians []Median) side {
	s := side{runs: float64(len(medians))}
	var within uncertain
	for _, m := range medians {
		s.mean += float64(m.Value) / s.runs
		within = within.plus(uncertain{square(m.Error / s.runs), m.Freedom})
	}
	s.within, s.freedom = within.variance, within.freedom
	for _, m := range medians {
		if s.runs > 1 {
			s.between += square(float64(m.Value)-s.mean) / (s.runs - 1)
		}
	}
	return s
}

// uncertain is a variance that was estimated with that many degrees of freedom.
type uncertain struct {
	variance, freedom float64
}

// plus is the variance of a sum, with the degrees of freedom of Satterthwaite (An approximate distribution of estimates
// of variance components, Biometrics Bulletin 2, 1946).
func (u uncertain) plus(v uncertain) uncertain {
	sum := uncertain{variance: u.variance + v.variance, freedom: math.Inf(1)}
	if parts := square(u.variance)/max(u.freedom, 1) + square(v.variance)/max(v.freedom, 1); parts > 0 {
		sum.freedom = square(sum.variance) / parts
	}
	return sum
}

func square(x float64) float64 { return x * x }

// studentT is the distribution of a mean by its estimated error. Beyond a million degrees of freedom it is the normal
// one.
func studentT(freedom float64) distuv.StudentsT {
	return distuv.StudentsT{Sigma: 1, Nu: min(freedom, 1e6)}
}

func share(part, of float64) float64 {
	if of == 0 {
		return 0
	}
	return part / math.Abs(of)
}
