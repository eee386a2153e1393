package significance

import (
	"math"
	"slices"
)

// Observation is a statistic of a latency in one recording of a vehicle.
type Observation struct {
	// Vehicle is its index among those of the family. Recordings of which it is not known cannot be compared.
	Vehicle int32
	// Value is the statistic, in nanoseconds.
	Value int64
}

// Basis says between what the noise was found that a nested comparison rests on.
type Basis string

// The bases, the best first.
const (
	// VehiclesInBoth compares each vehicle with itself: how its change differs from that of others is the noise.
	VehiclesInBoth Basis = "vehicles_in_both"
	// Vehicles compares the vehicles of one side with those of the other one: how they differ is the noise.
	Vehicles Basis = "vehicles"
	// Recordings compares recordings of the same vehicles, which are too few to tell of others: what is found holds for
	// these vehicles.
	Recordings Basis = "recordings"
	// NoBasis is said where there are too few recordings for any of these.
	NoBasis Basis = "none"
)

// LeastUnits is the number of vehicles or, with basis Recordings, recordings that each side must have. Two tell a
// spread of their own, but so badly that only changes of many times the latency itself would be found.
const LeastUnits = 3

// Unknown is the verdict of nested comparisons without basis.
const Unknown Verdict = "unknown"

// NestedComparison is what statistics of recordings tell, which are nested in vehicles. Shares and noise are of the
// logarithm, so that those of fast and slow vehicles compare.
type NestedComparison struct {
	// Before and After are the geometric means of the vehicles' geometric means, in nanoseconds, of the vehicles that were
	// compared, or of all without basis: NaN where a side has none.
	Before, After float64
	// Change is the change as a share: After/Before − 1.
	Change float64
	Basis  Basis
	// Units are the vehicles, or the recordings, of each side that were compared.
	Units [2]int
	// Error is the standard error of the logarithm of After/Before, and Freedom its degrees of freedom.
	Error, Freedom float64
	// BetweenVehicles is the standard deviation, as a share, of what vehicles differ by: in their change with basis
	// VehiclesInBoth, else in the latency. NaN with fewer than two vehicles a side.
	BetweenVehicles float64
	// BetweenRecordings is that of recordings of one vehicle and side. NaN where no vehicle has two on a side.
	BetweenRecordings float64
	// P is the probability that sides of the same system differ as much. It is meaningless without basis.
	P float64
}

// CompareNested tests whether two sides differ by more than vehicles, and recordings of a vehicle, do.
//
// Recordings of one vehicle are not independent: whoever counts them as if they were finds changes that are none
// (Hurlbert: Pseudoreplication and the design of ecological field experiments, Ecol. Monogr. 54, 1984). So what is
// tested is one number for each vehicle (Matthews, Altman, Campbell, Royston: Analysis of serial measurements in
// medical research, BMJ 300, 1990): the mean of the logarithms of its recordings' statistics. If enough vehicles have
// recordings on both sides, the others are left out, and it is the difference of both means of a vehicle: the test is
// Student's of pairs. Else it is that of Welch. The noise between recordings of a vehicle is part of that between the
// numbers. Where the numbers happen to be closer together than the recordings allow, these count (as by Kalibera and
// Jones: Rigorous benchmarking in reasonable time, ISMM 2013, for levels of repetition).
//
// With too few vehicles, recordings are compared within each, which tells nothing of other vehicles.
func CompareNested(before, after []Observation) NestedComparison {
	a, b := cellsOf(before), cellsOf(after)
	within := withinCells(a, b)
	var both []int32
	for vehicle := range a {
		if _, ok := b[vehicle]; ok {
			both = append(both, vehicle)
		}
	}
	slices.Sort(both)
	var c NestedComparison
	switch {
	case len(both) >= LeastUnits:
		c = comparePaired(a, b, both, within)
	case len(a) >= LeastUnits && len(b) >= LeastUnits:
		c = compareApart(a, b, within)
	case recordingsOf(a, both) >= LeastUnits && recordingsOf(b, both) >= LeastUnits && within.freedom > 0:
		c = compareRecordings(a, b, both, within)
	default:
		c = NestedComparison{Basis: NoBasis, BetweenVehicles: math.NaN()}
		c.setMeans(meansOf(a, vehiclesOf(a)), meansOf(b, vehiclesOf(b)))
	}
	c.BetweenRecordings = math.NaN()
	if within.freedom > 0 {
		c.BetweenRecordings = math.Sqrt(within.variance)
	}
	if c.Basis != NoBasis {
		c.P = 2 * studentT(c.Freedom).Survival(math.Abs(math.Log1p(c.Change))/c.Error)
	}
	return c
}

// Detectable returns the least change that would have had the probability alpha, as a share.
func (c *NestedComparison) Detectable(alpha float64) float64 {
	return math.Expm1(c.Error * studentT(c.Freedom).Quantile(1-alpha/2))
}

// cell is what the recordings of a vehicle on one side tell.
type cell struct {
	count int
	mean  float64
	// squares is the sum of the squared differences from the mean.
	squares float64
}

func cellsOf(observations []Observation) map[int32]*cell {
	cells := make(map[int32]*cell)
	for _, o := range observations {
		c := cells[o.Vehicle]
		if c == nil {
			c = new(cell)
			cells[o.Vehicle] = c
		}
		// One nanosecond is what a clock tells at least.
		value := math.Log(float64(max(o.Value, 1)))
		c.count++
		apart := value - c.mean
		c.mean += apart / float64(c.count)
		c.squares += apart * (value - c.mean)
	}
	return cells
}

// withinCells is the variance between recordings of the same vehicle and side. What the clock cannot tell apart is the
// least that they differ by.
func withinCells(sides ...map[int32]*cell) (within uncertain) {
	squares, least := 0.0, math.Inf(1)
	for _, cells := range sides {
		for _, vehicle := range vehiclesOf(cells) {
			c := cells[vehicle]
			squares += c.squares
			within.freedom += float64(c.count - 1)
			least = min(least, c.mean)
		}
	}
	if within.freedom > 0 {
		within.variance = max(squares/within.freedom, clockVariance*math.Exp(-2*least))
	}
	return within
}

func vehiclesOf(cells map[int32]*cell) []int32 {
	vehicles := make([]int32, 0, len(cells))
	for vehicle := range cells {
		vehicles = append(vehicles, vehicle)
	}
	slices.Sort(vehicles)
	return vehicles
}

func recordingsOf(cells map[int32]*cell, vehicles []int32) (count int) {
	for _, vehicle := range vehicles {
		count += cells[vehicle].count
	}
	return count
}

func meansOf(cells map[int32]*cell, vehicles []int32) []float64 {
	means := make([]float64, len(vehicles))
	for i, vehicle := range vehicles {
		means[i] = cells[vehicle].mean
	}
	return means
}

// sumOfShares is Σ 1/n of the cells' numbers of recordings: the variance of the sum of their means, in variances of one
// recording.
func sumOfShares(cells map[int32]*cell, vehicles []int32) (sum float64) {
	for _, vehicle := range vehicles {
		sum += 1 / float64(cells[vehicle].count)
	}
	return sum
}

func comparePaired(a, b map[int32]*cell, both []int32, within uncertain) NestedComparison {
	n := float64(len(both))
	former, latter := meansOf(a, both), meansOf(b, both)
	changes := make([]float64, len(both))
	for i := range changes {
		changes[i] = latter[i] - former[i]
	}
	between := varianceOf(changes)
	c := NestedComparison{Basis: VehiclesInBoth, Units: [2]int{len(both), len(both)}, BetweenVehicles: math.Sqrt(between), Freedom: n - 1}
	c.setMeans(former, latter)
	least := within.variance * (sumOfShares(a, both) + sumOfShares(b, both)) / (n * n)
	c.Error = math.Sqrt(max(between/n, least, clockVariance*math.Exp(-2*slices.Min(former))/n))
	return c
}

func compareApart(a, b map[int32]*cell, within uncertain) NestedComparison {
	var means [2][]float64
	var total uncertain
	squares := 0.0
	for i, cells := range []map[int32]*cell{a, b} {
		vehicles := vehiclesOf(cells)
		n := float64(len(vehicles))
		means[i] = meansOf(cells, vehicles)
		between := varianceOf(means[i])
		squares += between * (n - 1)
		least := within.variance * sumOfShares(cells, vehicles) / (n * n)
		total = total.plus(uncertain{max(between/n, least, clockVariance*math.Exp(-2*slices.Min(means[i]))/n), n - 1})
	}
	c := NestedComparison{
		Basis: Vehicles, Units: [2]int{len(a), len(b)}, BetweenVehicles: math.Sqrt(squares / float64(len(a)+len(b)-2)),
		Error: math.Sqrt(total.variance), Freedom: total.freedom,
	}
	c.setMeans(means[0], means[1])
	return c
}

func compareRecordings(a, b map[int32]*cell, both []int32, within uncertain) NestedComparison {
	n := float64(len(both))
	c := NestedComparison{
		Basis: Recordings, Units: [2]int{recordingsOf(a, both), recordingsOf(b, both)}, BetweenVehicles: math.NaN(), Freedom: within.freedom,
		Error: math.Sqrt(within.variance*(sumOfShares(a, both)+sumOfShares(b, both))) / n,
	}
	c.setMeans(meansOf(a, both), meansOf(b, both))
	return c
}

func (c *NestedComparison) setMeans(before, after []float64) {
	former, latter := meanOf(before), meanOf(after)
	c.Before, c.After, c.Change = math.Exp(former), math.Exp(latter), math.Expm1(latter-former)
}

// meanOf is NaN of none.
func meanOf(values []float64) (mean float64) {
	if len(values) == 0 {
		return math.NaN()
	}
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}

func varianceOf(values []float64) (variance float64) {
	mean := meanOf(values)
	for _, v := range values {
		variance += square(v-mean) / float64(len(values)-1)
	}
	return variance
}

// NestedPair has the statistics of a latency's recordings on both sides.
type NestedPair struct {
	Before, After []Observation
}

// NestedFinding is a nested comparison among others.
type NestedFinding struct {
	NestedComparison
	// Corrected is P, corrected for the number of comparisons, and DetectableChange the least change, as a share, that
	// these recordings could have shown. They are meaningless without basis.
	Corrected, DetectableChange float64
	Verdict                     Verdict
}

// JudgeNested compares both sides of all pairs. Options.Alpha is for all of them together; RunNoise is not used, for
// nothing is assumed.
func JudgeNested(pairs []NestedPair, options Options) []NestedFinding {
	findings := make([]NestedFinding, len(pairs))
	var known []int
	var probabilities []float64
	for i, pair := range pairs {
		findings[i] = NestedFinding{NestedComparison: CompareNested(pair.Before, pair.After), Verdict: Unknown}
		if findings[i].Basis != NoBasis {
			known = append(known, i)
			probabilities = append(probabilities, findings[i].P)
		}
	}
	for i, corrected := range Holm(probabilities) {
		f := &findings[known[i]]
		f.Corrected = corrected
		f.DetectableChange = max(f.Detectable(options.Alpha/float64(len(known))), options.MinChange)
		f.Verdict = verdictOf(corrected, math.Abs(f.Change), options.MinChange, options.Alpha)
	}
	return findings
}
