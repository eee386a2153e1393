package analyze

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/trace"
)

// hostPair is a direction between two hosts.
type hostPair struct{ from, to int }

// clockEvidence is what messages tell of the clocks of hosts, in each direction. The times of crossings are by the
// sender's clock.
type clockEvidence map[hostPair]*leastCrossings

func (e clockEvidence) add(from, to int, sent, received int64) {
	of := e[hostPair{from, to}]
	if of == nil {
		of = newLeastCrossings()
		e[hostPair{from, to}] = of
	}
	of.add(crossing{at: sent, difference: received - sent})
}

// count is the number of messages in a direction.
func (e clockEvidence) count(from, to int) uint64 {
	if of := e[hostPair{from, to}]; of != nil {
		return of.count
	}
	return 0
}

// bounds bounds by how much a host's clock is ahead of another's, by the times of that other one; nil where no message
// tells. The clocks go at these rates.
func (e clockEvidence) bounds(of, ahead int, rates []*clockRate) *offsetBounds {
	var to, back []crossing
	width := leastWindow
	if sent := e[hostPair{of, ahead}]; sent != nil {
		to, width = slices.Collect(maps.Values(sent.least)), sent.width
	}
	if returned := e[hostPair{ahead, of}]; returned != nil {
		for _, c := range returned.least {
			back = append(back, crossing{at: c.at + c.difference, difference: c.difference})
		}
		width = max(width, returned.width)
	}
	return offsetsOf(to, back, width, pairRate{rates[of], rates[ahead]})
}

// messageClocks bring clocks together by what messages tell: on the clock of the first host.
type messageClocks struct {
	hosts []*clockHost
	rates []*clockRate
	grid  timeGrid
	// offsets are those of each host against the first one; nil where nothing leads to it.
	offsets []*hostOffsets
	// contradicted are the pairs of which no offset fits all messages.
	contradicted map[hostPair]bool
	oneWay       []hostPair
	// supposed are hosts of which it was not recorded how fast their clocks were made.
	supposed map[int]bool
}

// hostOffsets are how far a host's clock is ahead of the first one, at the times of the grid, and within what.
type hostOffsets struct {
	offset, within []int64
	points         []clockPoint
	drift          *gridDrift
}

// newMessageClocks finds how all clocks differ from the first one: directly or by way of others.
func newMessageClocks(hosts []*clockHost, evidence clockEvidence) *messageClocks {
	c := &messageClocks{hosts: hosts, rates: ratesOf(hosts), offsets: make([]*hostOffsets, len(hosts)), contradicted: make(map[hostPair]bool), supposed: make(map[int]bool)}
	bounds := c.boundPairs(evidence)
	known := c.newKnown(bounds)
	if known == nil {
		return c
	}
	pairs := slices.SortedFunc(maps.Keys(bounds), func(a, b hostPair) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	for range hosts[1:] {
		for _, p := range pairs {
			known[p.to].chain(known[p.from], bounds[p])
		}
	}
	for i, b := range known {
		b.spread()
		b.drift = b.followed(pairRate{c.rates[0], c.rates[i]})
		b.spread()
		if i > 0 && !b.isContradictory() {
			c.offsets[i] = b.offsets()
		}
		if c.offsets[i] != nil {
			c.suppose(b, 0, i)
		}
	}
	for p, b := range bounds {
		c.suppose(b, p.from, p.to)
	}
	return c
}

// suppose notes of which of two hosts bounds suppose how fast their clocks went.
func (c *messageClocks) suppose(b *offsetBounds, first, second int) {
	c.supposed[first] = c.supposed[first] || b.drift.supposed[0]
	c.supposed[second] = c.supposed[second] || b.drift.supposed[1]
}

func ratesOf(hosts []*clockHost) (rates []*clockRate) {
	for _, h := range hosts {
		rates = append(rates, newClockRate(h))
	}
	return rates
}

// boundPairs bounds the clocks of all pairs of hosts that have exchanged messages.
func (c *messageClocks) boundPairs(evidence clockEvidence) map[hostPair]*offsetBounds {
	bounds := make(map[hostPair]*offsetBounds)
	for a := range c.hosts {
		for b := a + 1; b < len(c.hosts); b++ {
			there, back := hostPair{a, b}, hostPair{b, a}
			ofThere, ofBack := evidence.bounds(a, b, c.rates), evidence.bounds(b, a, c.rates)
			if ofThere == nil || ofBack == nil {
				continue
			}
			if ofThere.isContradictory() || ofBack.isContradictory() {
				c.contradicted[there] = true
				continue
			}
			bounds[there], bounds[back] = ofThere, ofBack
			if evidence.count(b, a) == 0 {
				c.oneWay = append(c.oneWay, there)
			}
			if evidence.count(a, b) == 0 {
				c.oneWay = append(c.oneWay, back)
			}
		}
	}
	return bounds
}

// newKnown makes the grid of times, and room for what is known of each host there: of the first one that is exact. It
// is nil if no message tells of the first host.
func (c *messageClocks) newKnown(bounds map[hostPair]*offsetBounds) (known []*offsetBounds) {
	first, last, step := int64(math.MaxInt64), int64(math.MinInt64), leastWindow
	for pair, b := range bounds {
		if pair.from == 0 {
			first, last, step = min(first, b.first), max(last, b.at(b.count-1)), max(step, b.step)
		}
	}
	if first > last {
		return nil
	}
	c.grid = newTimeGrid(first, last, step)
	for i := range c.hosts {
		known = append(known, newOffsetBounds(c.grid, pairRate{c.rates[0], c.rates[i]}))
	}
	for k := range c.grid.count {
		known[0].lower[k], known[0].upper[k] = 0, 0
	}
	return known
}

// chain narrows the bounds of a clock by those of another one against the same first clock, and by those between the
// two.
func (b *offsetBounds) chain(by, between *offsetBounds) {
	for k := range b.count {
		if !isTwoSided(by.lower[k], by.upper[k]) || by.lower[k] > by.upper[k] {
			continue
		}
		offset, within := middle(by.lower[k], by.upper[k])
		at := b.at(k) + offset
		lower, upper := between.when(at)
		away := between.drift.between(at-within, at+within)
		b.lower[k] = max(b.lower[k], below(lower, away-by.lower[k]))
		b.upper[k] = min(b.upper[k], above(upper, away+by.upper[k]))
	}
}

// offsets are in the middle of the bounds; nil where there are none on both sides.
func (b *offsetBounds) offsets() *hostOffsets {
	o := &hostOffsets{drift: b.drift}
	for k := range b.count {
		if !isTwoSided(b.lower[k], b.upper[k]) {
			return nil
		}
		offset, within := middle(b.lower[k], b.upper[k])
		o.offset, o.within = append(o.offset, offset), append(o.within, within)
		o.points = append(o.points, clockPoint{at: b.at(k) + offset, correction: -offset})
	}
	return o
}

func (c *messageClocks) points(host int) []clockPoint {
	if c.offsets[host] == nil {
		return nil
	}
	return c.offsets[host].points
}

// within bounds the error of a host's times on the common clock: between two times of the grid the offset was as far
// from a straight line as the clocks can drift, and that the time is not exact shifts where it is looked up.
func (c *messageClocks) within(host int, at int64) trace.Optional[int64] {
	if host == 0 {
		return trace.Some(int64(0))
	}
	o := c.offsets[host]
	if o == nil {
		return trace.Optional[int64]{}
	}
	before, behind := c.grid.around(at)
	bound := max(o.within[before], o.within[behind])
	if before == behind {
		bound += o.drift.between(at, c.grid.at(before))
	} else {
		bound += o.drift.between(c.grid.at(before), c.grid.at(behind)) / 2
	}
	if bound > utmostTime/2 {
		return trace.Optional[int64]{} // no room for sums
	}
	return trace.Some(bound + o.drift.between(at-bound, at+bound) + 2)
}

func (c *messageClocks) between(a int, atA int64, b int, atB int64) ClockAgreement {
	ofA, ofB := c.within(a, atA), c.within(b, atB)
	if !ofA.Valid || !ofB.Valid {
		return ClockAgreement{ClockSource: ClockUnknown}
	}
	return ClockAgreement{ClockSource: ClockMessages, ClockUncertainty: trace.Some(ofA.Value + ofB.Value)}
}

func (c *messageClocks) why(hosts ...int) string {
	var unreached []string
	for _, h := range hosts {
		if h != 0 && c.offsets[h] == nil {
			unreached = append(unreached, c.hosts[h].name)
		}
	}
	text := fmt.Sprintf("no messages there and back lead from the clock of %s to that of %s", c.hosts[0].name, strings.Join(unreached, ", "))
	for _, p := range c.oneWay {
		if slices.Contains(hosts, p.from) || slices.Contains(hosts, p.to) {
			text += fmt.Sprintf("; they went from %s to %s only: `caret-bpf clocks` tells what that says", c.hosts[p.from].name, c.hosts[p.to].name)
		}
	}
	for p := range c.contradicted {
		if slices.Contains(hosts, p.from) || slices.Contains(hosts, p.to) {
			text += fmt.Sprintf("; those between %s and %s contradict each other: a clock drifted by more than was recorded of it, or stood still while its computer slept", c.hosts[p.from].name, c.hosts[p.to].name)
		}
	}
	return text
}
