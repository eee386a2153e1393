package analyze

import (
	"math"
	"slices"
)

const (
	// crystalRate is supposed to bound by how much a computer's clock goes wrong by itself, as a share of the time: 50
	// ppm.
	crystalRate = 50e-6
	// supposedSlew is what the kernel is supposed to slew a clock by at most where that was not recorded: 500 ppm. It is
	// the most that a frequency does, and adjtime(3). A tick and a phase that is to be corrected do more.
	supposedSlew = 500e-6
	// utmostSlew is more than the kernel lets anybody ask for.
	utmostSlew = 0.5
	// longestGap is the time between two measurements of a clock, or beside them, in which they tell of it: they are made
	// each second.
	longestGap = 3_000_000_000
	// mostSpans bounds how many spans are looked at one by one.
	mostSpans = 64
)

// clockRate bounds how fast CLOCK_MONOTONIC of a host goes wrong. What sets real time slews it, too: by its frequency,
// by its tick, and by what is still to be corrected.
type clockRate struct {
	at []int64 // of the measurements, by the clock of the host
	// most is by which share of the time it goes wrong at most, between the measurement and the next one; read: that was
	// recorded.
	most []float64
	read []bool
	// worst bounds that of all, and anyTime also that beside them. allRead tells whether all were recorded.
	worst, anyTime float64
	allRead        bool
}

func newClockRate(h *clockHost) *clockRate {
	r := &clockRate{allRead: len(h.measured) > 1}
	var slews []float64
	for i := range h.measured {
		m := &h.measured[i]
		r.at = append(r.at, m.MonotonicTimestamp+h.base)
		slew := math.NaN()
		if m.Frequency.Valid && m.Tick.Valid && m.RemainingAdjustment.Valid {
			// The kernel corrects a quarter of what remains each second at most. Two quarters may be gone since it was
			// told, before that is read here: then half of what remains is more than what was done.
			slew = math.Abs(float64(m.Frequency.Value))/65536e6 + math.Abs(float64(m.Tick.Value)-10_000)*100e-6 + math.Abs(float64(m.RemainingAdjustment.Value))/2e9
		}
		slews = append(slews, slew)
	}
	for i := range slews[:max(len(slews)-1, 0)] {
		slew := max(slews[i], slews[i+1]) // NaN if one is
		read := !math.IsNaN(slew) && r.at[i+1]-r.at[i] <= longestGap
		r.most, r.read = append(r.most, rateOf(slew, read)), append(r.read, read)
		r.allRead = r.allRead && read
	}
	r.worst = rateOf(0, len(r.most) > 0)
	if len(r.most) > 0 {
		r.worst = slices.Max(r.most)
	}
	r.anyTime = max(r.worst, rateOf(0, false))
	return r
}

// rateOf is the rate of a clock that is slewed so.
func rateOf(slew float64, read bool) float64 {
	if !read {
		slew = max(supposedSlew, slew) // NaN if that is
		if math.IsNaN(slew) {
			slew = supposedSlew
		}
	}
	slew = min(slew, utmostSlew)
	return slew + crystalRate*(1+slew)
}

// mostBetween bounds the rate between two times; read tells whether it was recorded.
func (r *clockRate) mostBetween(from, to int64) (most float64, read bool) {
	if len(r.most) == 0 {
		return r.anyTime, false
	}
	last := len(r.most)
	first, _ := slices.BinarySearch(r.at, from)
	end, _ := slices.BinarySearch(r.at, to)
	first, end = min(max(first-1, 0), last-1), min(max(end, 1), last)
	if end-first > mostSpans {
		most, read = r.worst, r.allRead
	} else {
		most, read = slices.Max(r.most[first:end]), !slices.Contains(r.read[first:end], false)
	}
	if from < r.at[0]-longestGap || to > r.at[last]+longestGap {
		most, read = max(most, rateOf(0, false)), false
	}
	return most, read
}

// pairRate bounds how fast the clocks of two hosts drift apart, by the time of the first one.
type pairRate struct {
	first, second *clockRate
}

// apart is the share of the first clock's time by which two drift apart: that clock may itself be too slow.
func apart(first, second float64) float64 { return (first + second) / (1 - min(first, utmostSlew)) }

func (p pairRate) worst() float64 { return apart(p.first.worst, p.second.worst) }

func (p pairRate) anyTime() float64 { return apart(p.first.anyTime, p.second.anyTime) }

// between bounds it in a time of the first clock, in which the second one shows a time that is not exact.
func (p pairRate) between(first, second [2]int64) (share float64, read [2]bool) {
	a, readA := p.first.mostBetween(first[0], first[1])
	b, readB := p.second.mostBetween(second[0], second[1])
	return apart(a, b), [2]bool{readA, readB}
}

// gridDrift bounds by how much two clocks may have drifted apart, between any two times.
type gridDrift struct {
	timeGrid
	// since is the drift since the first time, at each of the grid, and outside of it is the share of the time.
	since   []float64
	outside float64
	// supposed tells of which of the two clocks nothing was recorded that bounds it, at least at some time.
	supposed [2]bool
}

// newGridDrift supposes the worst at all times.
func newGridDrift(grid timeGrid, rate pairRate) *gridDrift {
	d := &gridDrift{timeGrid: grid, since: make([]float64, grid.count), outside: rate.anyTime(), supposed: [2]bool{!rate.first.allRead, !rate.second.allRead}}
	for k := range d.since {
		d.since[k] = float64(k) * float64(grid.step) * d.outside
	}
	return d
}

// followed is the drift at the rates of the times at which the second clock was within the bounds.
func (b *offsetBounds) followed(rate pairRate) *gridDrift {
	d := &gridDrift{timeGrid: b.timeGrid, since: make([]float64, b.count), outside: rate.worst()}
	for k := range b.count - 1 {
		share, read := rate.anyTime(), [2]bool{rate.first.allRead, rate.second.allRead}
		if b.lower[k] != noLower && b.upper[k+1] != noUpper {
			share, read = rate.between([2]int64{b.at(k), b.at(k + 1)}, [2]int64{b.at(k) + b.lower[k], b.at(k+1) + b.upper[k+1]})
		}
		d.since[k+1] = d.since[k] + float64(b.step)*share
		d.outside = max(d.outside, share)
		d.supposed = [2]bool{d.supposed[0] || !read[0], d.supposed[1] || !read[1]}
	}
	return d
}

// between bounds the drift from one time to the other, whichever is first.
func (d *gridDrift) between(from, to int64) int64 {
	away := math.Abs(d.at(to) - d.at(from))
	if away >= utmostTime {
		return utmostTime
	}
	return int64(math.Ceil(away)) + 1
}

// at is the drift until a time: that since the first one.
func (d *gridDrift) at(time int64) float64 {
	before, behind := d.around(time)
	drifted := d.since[before]
	past := float64(time - d.timeGrid.at(before))
	if before == behind {
		return drifted + past*d.outside
	}
	return drifted + past/float64(d.step)*(d.since[behind]-drifted)
}
