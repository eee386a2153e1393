package simulation

import (
	"fmt"
	"math"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// repeating is what has a period: a callback, a publisher, a subscription, or a communication.
type repeating struct {
	label analyze.PeriodicLabel
	times []int64
	// grid is when a timer was due last at each of its starts; nil for others, and where nobody can tell. known: its begin
	// was recorded.
	grid  []int64
	known bool
}

func (t *truth) repeatingCallbacks() (all []repeating) {
	t.eachCallback(func(c *callback) {
		byAddress := make(map[trace.Address]*repeating)
		for _, e := range c.executions {
			if r := c.node.process.recording; r.sees(e.start) {
				of := byAddress[c.address]
				if of == nil {
					l := t.label(c, e.address())
					of = &repeating{label: analyze.PeriodicLabel{Node: l.Node, PID: l.PID, Callback: l.Callback, Kind: l.Kind, Topic: l.Topic, TimerPeriod: l.Period}}
					byAddress[c.address] = of
				}
				of.times = append(of.times, r.common(e.start))
			}
		}
		for _, of := range byAddress {
			slices.Sort(of.times)
			if c.kind == trace.KindTimer && !c.hidden {
				of.addGrid(c)
			}
			all = append(all, *of)
		}
	})
	return all
}

func (t *truth) repeatingPublishers() (all []repeating) {
	t.eachNode(func(n *node) {
		for _, p := range n.publishers {
			of := repeating{label: analyze.PeriodicLabel{Node: n.name, PID: n.process.key.PID, Topic: p.topic}}
			for _, m := range p.messages {
				if m.numbered {
					of.times = append(of.times, m.published())
				}
			}
			slices.Sort(of.times)
			all = append(all, of)
		}
	})
	return all
}

// periodRows are the times from one occurrence to the next.
func periodRows(all []repeating) (rows []row) {
	for _, of := range all {
		for i := 1; i < len(of.times); i++ {
			rows = append(rows, row{text: fmt.Sprintf("%+v", analyze.PeriodInstance{PeriodicLabel: of.label, Begin: of.times[i-1], Period: of.times[i] - of.times[i-1]})})
		}
	}
	return rows
}

// frequencyRows count the occurrences of each interval from the first one to the last, of each or of all.
func frequencyRows(all []repeating, interval int64, common bool) (rows []row) {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, of := range all {
		if len(of.times) > 0 {
			first, last = min(first, of.times[0]), max(last, of.times[len(of.times)-1])
		}
	}
	for _, of := range all {
		if len(of.times) == 0 {
			continue
		}
		if !common {
			first, last = of.times[0], of.times[len(of.times)-1]
		}
		counts := make(map[int64]uint64)
		for _, at := range of.times {
			counts[(at-first)/interval]++
		}
		for i := int64(0); i <= (last-first)/interval; i++ {
			rows = append(rows, row{text: fmt.Sprintf("%+v", analyze.FrequencyInstance{
				PeriodicLabel: of.label, Begin: first + i*interval, Count: counts[i], Rate: float64(counts[i]) * 1e9 / float64(interval),
			})})
		}
	}
	return rows
}

// addGrid tells when a timer was due at each of its starts.
func (of *repeating) addGrid(c *callback) {
	r := c.node.process.recording
	of.known = r.sees(c.init)
	for _, e := range c.executions {
		if r.sees(e.start) {
			since := e.start - c.init
			if of.known {
				// Whether a timer was called at once, or nearly a period too late, is told as far as clocks can tell.
				since = r.common(e.start) - r.common(c.init) + 1000
			}
			of.grid = append(of.grid, r.common(c.init)+since/c.period*c.period)
		}
	}
	slices.Sort(of.grid)
	least, greatest := int64(math.MaxInt64), int64(math.MinInt64)
	for i, due := range of.grid {
		least, greatest = min(least, of.times[i]-due), max(greatest, of.times[i]-due)
	}
	if !of.known && greatest-least >= c.period/2 {
		of.grid = nil
	}
}

// latenessRows tell how late timers started. Where nothing tells when a timer was due, the earliest start was on time.
func latenessRows(all []repeating) (rows []row) {
	for _, of := range all {
		if of.grid == nil {
			continue
		}
		least, greatest, points := int64(math.MaxInt64), int64(math.MinInt64), make(map[int64]bool)
		for i, due := range of.grid {
			late := of.times[i] - due
			least, greatest = min(least, late), max(greatest, late)
			points[due] = true
		}
		missed := (of.grid[len(of.grid)-1]-of.grid[0])/of.label.TimerPeriod.Value + 1 - int64(len(points))
		if of.known {
			rows = append(rows, row{text: latenessText(of.label, len(of.times), least, greatest, missed)})
			continue
		}
		rows = append(rows, row{text: latenessText(of.label, len(of.times), 0, greatest-least, missed)})
	}
	return rows
}

func latenessText(label analyze.PeriodicLabel, count int, least, greatest, missed int64) string {
	return fmt.Sprintf("%+v: %d starts, %d to %d, %d missed", label, count, least, greatest, missed)
}

// latenessTexts are the same of an answer, of those of which somebody can tell.
func latenessTexts(periods []analyze.Period, all []repeating) (texts []string) {
	told := make(map[analyze.PeriodicLabel]bool)
	for _, of := range all {
		told[of.label] = of.grid != nil
	}
	for _, p := range periods {
		if p.Measure == analyze.MeasureLateness && told[p.PeriodicLabel] {
			texts = append(texts, latenessText(p.PeriodicLabel, int(p.Count), p.Min.Value, p.Max.Value, int64(p.Missed.Value)))
		}
	}
	return texts
}

// repeatingSubscriptions are those of the messages that subscriptions received.
func (t *truth) repeatingSubscriptions() (all []repeating) {
	t.eachNode(func(n *node) {
		for _, sub := range n.subscriptions {
			of := repeating{label: analyze.PeriodicLabel{Node: n.name, PID: n.process.key.PID, Topic: sub.topic}}
			for _, in := range sub.inputs() {
				of.times = append(of.times, in.input())
			}
			all = append(all, of)
		}
	})
	return all
}

// repeatingCommunications are those of the messages of which it is known that a subscription received them.
func (t *truth) repeatingCommunications() (all []repeating) {
	type way struct {
		publisher    *publisher
		subscription *subscription
		transport    analyze.Transport
	}
	byWay := make(map[way]*repeating)
	t.eachMessage(func(m *message) {
		for sub, d := range m.deliveries {
			if t.untold[d] || !sub.node.process.isKnown() || !d.reception.seen() {
				continue
			}
			n, transport := m.publisher.node, analyze.InterProcess
			switch {
			case sub.hasOf(m.publisher) && !n.process.recording.sees(d.enqueued), !sub.hasOf(m.publisher) && !m.hasSource():
				continue
			case sub.hasOf(m.publisher):
				transport = analyze.IntraProcess
			}
			by := way{m.publisher, sub, transport}
			if byWay[by] == nil {
				byWay[by] = &repeating{label: analyze.PeriodicLabel{Node: n.name, PID: n.process.key.PID, Topic: sub.topic, SubscriptionNode: sub.node.name, Transport: transport}}
			}
			byWay[by].times = append(byWay[by].times, m.published())
		}
	})
	for _, of := range byWay {
		slices.Sort(of.times)
		all = append(all, *of)
	}
	return all
}
