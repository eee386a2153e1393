package analyze

import (
	"context"
	"fmt"
	"math/big"

	"github.com/caret-bpf/caret-bpf/trace"
)

// ClockVerdict says whether messages fit what was recorded of the clocks.
type ClockVerdict string

// The verdicts.
const (
	// ClocksAgree: what was recorded may be right.
	ClocksAgree ClockVerdict = "agree"
	// ClocksDisagree: the clocks were farther apart than they can have been by what was recorded.
	ClocksDisagree ClockVerdict = "disagree"
	// ClocksUnjudged: nothing was recorded that bounds them, or no message tells of them.
	ClocksUnjudged ClockVerdict = "unknown"
	// ClocksContradictory: no offset fits all messages. A clock has drifted by more than was recorded of it, or has stood
	// still while its computer slept.
	ClocksContradictory ClockVerdict = "contradictory"
)

// ClockPair names two hosts in results, and what is said of them by messages.
type ClockPair struct {
	Host      string `report:"host"`
	OtherHost string `report:"other_host"`
}

// ClockComparison is how far real time of a host is ahead of that of another one, by the messages between them. Times
// are in nanoseconds.
type ClockComparison struct {
	ClockPair
	// There and Back are how many messages were found to go from the host to the other one, and back.
	There uint64 `report:"messages_there,drop=7"`
	Back  uint64 `report:"messages_back,drop=7"`
	// Offset is the mean of what is in the middle of the bounds, and OffsetUncertainty is how far the bounds of any time
	// are from it at most. They are null where messages went one way only.
	Offset            trace.Optional[int64] `report:"offset,duration"`
	OffsetUncertainty trace.Optional[int64] `report:"offset_uncertainty,duration"`
	// AtLeast and AtMost are the least and the greatest bound at any time.
	AtLeast trace.Optional[int64] `report:"offset_at_least,duration,drop=4"`
	AtMost  trace.Optional[int64] `report:"offset_at_most,duration,drop=4"`
	// Drift is by how much the monotonic clock of the other host was faster on average, in nanoseconds a second, and
	// DriftUncertainty bounds its error.
	Drift            trace.Optional[int64] `report:"drift_per_second,duration,drop=5"`
	DriftUncertainty trace.Optional[int64] `report:"drift_uncertainty,duration,drop=5"`
	// RecordedUncertainty bounds the offset, by what was recorded; null where nothing does, at least at some time.
	RecordedUncertainty trace.Optional[int64] `report:"recorded_uncertainty,duration"`
	Verdict             ClockVerdict          `report:"verdict"`
}

// ClockBounds is a ClockComparison at one time.
type ClockBounds struct {
	ClockPair
	// Timestamp is real time of the host.
	Timestamp           int64                 `report:"timestamp,time"`
	Offset              trace.Optional[int64] `report:"offset,duration"`
	AtLeast             trace.Optional[int64] `report:"offset_at_least,duration"`
	AtMost              trace.Optional[int64] `report:"offset_at_most,duration"`
	RecordedUncertainty trace.Optional[int64] `report:"recorded_uncertainty,duration"`
	Verdict             ClockVerdict          `report:"verdict"`
}

// Clocks answers how far the clocks of hosts are apart, for each two of them. No message arrives before it was sent:
// one in either direction is a bound. each, if not nil, gets the bounds at times that are a second apart, of one pair
// after the other. What the query filters does not matter. The error wraps ErrNothingSelected if the datasets are of
// one clock.
func (q *Query) Clocks(ctx context.Context, each func([]ClockBounds) error) (results []ClockComparison, err error) {
	hosts := q.hosts.list
	if len(hosts) < 2 {
		return nil, fmt.Errorf("%w: the datasets are of one clock, that of %s: name those of several hosts", ErrNothingSelected, hosts[0].name)
	}
	evidence, err := q.readEvidence(ctx)
	if err != nil {
		return nil, err
	}
	instances := newSeries(each, nil)
	recorded, rates, supposed := newRecordedClocks(q.hosts, nil), ratesOf(hosts), make(map[int]bool)
	for a := range hosts {
		for b := a + 1; b < len(hosts); b++ {
			pair := comparedClocks{recorded: recorded, a: a, b: b, first: recorded.points(a), second: recorded.points(b)}
			of := ClockComparison{ClockPair: ClockPair{Host: hosts[a].name, OtherHost: hosts[b].name}, There: evidence.count(a, b), Back: evidence.count(b, a)}
			bounds := evidence.bounds(a, b, rates)
			if bounds != nil {
				supposed[a], supposed[b] = supposed[a] || bounds.drift.supposed[0], supposed[b] || bounds.drift.supposed[1]
			}
			pair.compare(&of, bounds, instances.add)
			results = append(results, of)
			if err := instances.flush(); err != nil {
				return nil, err
			}
		}
	}
	q.warnOfSupposedRates(supposed)
	return results, instances.end(q)
}

// comparedClocks compares two hosts.
type comparedClocks struct {
	recorded      *recordedClocks
	a, b          int
	first, second []clockPoint // real times of both
}

func (c *comparedClocks) compare(of *ClockComparison, bounds *offsetBounds, tell func(ClockBounds)) {
	of.Verdict = ClocksUnjudged
	if bounds == nil {
		return
	}
	var offsets []int64
	bounded, judged, disagree := true, true, false
	for k := range bounds.count {
		at := c.at(bounds, k)
		at.ClockPair = of.ClockPair
		tell(at)
		of.AtLeast = lesser(of.AtLeast, at.AtLeast)
		of.AtMost = greater(of.AtMost, at.AtMost)
		of.RecordedUncertainty = greater(of.RecordedUncertainty, at.RecordedUncertainty)
		bounded = bounded && at.RecordedUncertainty.Valid
		judged = judged && at.Verdict != ClocksUnjudged
		disagree = disagree || at.Verdict == ClocksDisagree
		if at.Offset.Valid {
			offsets = append(offsets, at.Offset.Value)
		}
	}
	if !bounded {
		of.RecordedUncertainty = trace.Optional[int64]{}
	}
	switch {
	case bounds.isContradictory():
		of.Verdict = ClocksContradictory
		return
	case disagree:
		of.Verdict = ClocksDisagree
	case judged:
		of.Verdict = ClocksAgree
	}
	if len(offsets) == bounds.count {
		mean := meanTime(offsets)
		of.Offset, of.OffsetUncertainty = trace.Some(mean), trace.Some(max(of.AtMost.Value-mean, mean-of.AtLeast.Value))
		of.Drift, of.DriftUncertainty = driftOf(bounds)
	}
}

// meanTime is exact, rounded down. Sums of times need not fit.
func meanTime(times []int64) int64 {
	sum := new(big.Int)
	for _, time := range times {
		sum.Add(sum, big.NewInt(time))
	}
	return sum.Div(sum, big.NewInt(int64(len(times)))).Int64()
}

// at compares at a time of the grid.
func (c *comparedClocks) at(bounds *offsetBounds, knot int) ClockBounds {
	lower, upper := bounds.lower[knot], bounds.upper[knot]
	first := bounds.at(knot)
	second := first
	switch {
	case isTwoSided(lower, upper):
		offset, _ := middle(lower, upper)
		second += offset
	case lower != noLower:
		second += lower
	case upper != noUpper:
		second += upper
	}
	real, other := first+correctionAtAny(c.first, first), second+correctionAtAny(c.second, second)
	// What is to be added to the offset of the monotonic clocks, and how wrong that may be.
	more := (other - second) - (real - first)
	following := c.recorded.errors[c.a].ofFollowing(real) + c.recorded.errors[c.b].ofFollowing(other)
	of := ClockBounds{Timestamp: real, Verdict: ClocksUnjudged}
	if lower != noLower {
		of.AtLeast = trace.Some(lower + more - following)
	}
	if upper != noUpper {
		of.AtMost = trace.Some(upper + more + following)
	}
	if of.AtLeast.Valid && of.AtMost.Valid {
		offset, _ := middle(of.AtLeast.Value, of.AtMost.Value)
		of.Offset = trace.Some(offset)
	}
	ofA, ofB := c.recorded.errors[c.a].ofSynchronization(real), c.recorded.errors[c.b].ofSynchronization(other)
	if !ofA.Valid || !ofB.Valid {
		return of
	}
	bound := ofA.Value + ofB.Value
	of.RecordedUncertainty, of.Verdict = trace.Some(bound), ClocksAgree
	if of.AtLeast.Valid && of.AtLeast.Value > bound || of.AtMost.Valid && of.AtMost.Value < -bound {
		of.Verdict = ClocksDisagree
	}
	return of
}

// correctionAtAny is 0 without points.
func correctionAtAny(points []clockPoint, at int64) int64 {
	if len(points) == 0 {
		return 0
	}
	return correctionAt(points, at)
}

// driftOf is by how much the second clock went faster, in nanoseconds a second, from the first time to the last one,
// and how far that is from what the bounds of both times allow at most. There are some at both.
func driftOf(b *offsetBounds) (drift, within trace.Optional[int64]) {
	last := b.count - 1
	from, withinFrom := middle(b.lower[0], b.upper[0])
	to, withinTo := middle(b.lower[last], b.upper[last])
	seconds := float64(b.at(last)-b.first) / 1e9
	// Rounded up, and by as much as the drift itself is rounded down.
	return trace.Some(int64(float64(to-from) / seconds)), trace.Some(int64((float64(withinFrom)+float64(withinTo))/seconds) + 2)
}

func lesser(a, b trace.Optional[int64]) trace.Optional[int64] {
	if !a.Valid || b.Valid && b.Value < a.Value {
		return b
	}
	return a
}

func greater(a, b trace.Optional[int64]) trace.Optional[int64] {
	if !a.Valid || b.Valid && b.Value > a.Value {
		return b
	}
	return a
}
