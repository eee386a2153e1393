package analyze

import (
	"fmt"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
)

// ClockSource says what is known of how the clocks of two hosts differ.
type ClockSource string

// The sources.
const (
	// ClockRecorded: both hosts' real times are taken for the same. How far they may be off was recorded.
	ClockRecorded ClockSource = "recorded"
	// ClockMessages: it was estimated from the messages that went from one to the other and back.
	ClockMessages ClockSource = "messages"
	// ClockGiven: who asks has said so.
	ClockGiven ClockSource = "given"
	// ClockUnknown: nothing bounds it.
	ClockUnknown ClockSource = "unknown"
)

// ClockAgreement says by how much durations may be wrong because their ends are on the clocks of two hosts.
type ClockAgreement struct {
	// ClockSource is empty where both ends are on one clock.
	ClockSource ClockSource `report:"clock_source,detail"`
	// ClockUncertainty bounds the error of the durations, in nanoseconds. It is null on one clock, and where nothing
	// bounds it.
	ClockUncertainty trace.Optional[int64] `report:"clock_uncertainty,duration,sparse,drop=9"`
}

// clockAgreement is the worst of several.
type clockAgreement struct {
	worst ClockAgreement
}

func (g *clockAgreement) add(of ClockAgreement) {
	switch {
	case of.ClockSource == "" || g.worst.ClockSource == ClockUnknown:
	case of.ClockSource == ClockUnknown || g.worst.ClockSource == "" || of.ClockUncertainty.Value > g.worst.ClockUncertainty.Value:
		g.worst = of
	}
}

// clockAlignment tells how the clocks of hosts are brought together.
type clockAlignment interface {
	// points are what is to be added to a host's times, by these; nil: nothing.
	points(host int) []clockPoint
	// between bounds the error of the difference of two hosts' times, which are on the common clock.
	between(a int, atA int64, b int, atB int64) ClockAgreement
	// why says why nothing is known of hosts, and what can be done.
	why(hosts ...int) string
}

// align brings the clocks of the datasets together.
func (q *Query) align(by clockAlignment) {
	q.alignment = by
	q.clocks = make([]clockCorrection, len(q.datasets))
	for i := range q.datasets {
		q.clocks[i].constant = q.hosts.constants[i]
		if len(q.hosts.list) > 1 {
			q.clocks[i].points = by.points(q.hosts.of[i])
		}
	}
}

// agreement says how well the clocks of two datasets agree at two times, and warns where that is not known.
func (q *Query) agreement(a int, atA int64, b int, atB int64) ClockAgreement {
	if a == b {
		return ClockAgreement{}
	}
	from, to := q.hosts.of[a], q.hosts.of[b]
	if from == to {
		return ClockAgreement{}
	}
	of := q.alignment.between(from, atA, to, atB)
	if of.ClockSource == ClockUnknown {
		q.warnOfClocks(from, to, func(first, second string) string {
			return fmt.Sprintf("nothing bounds how far the clocks of %s and %s are apart: latencies between them may be wrong by any time. %s", first, second, q.alignment.why(from, to))
		})
	}
	return of
}

// warnOfContradiction warns of a message that came before it was sent by more than the clocks may differ.
func (q *Query) warnOfContradiction(a, b int, latency int64, of ClockAgreement) {
	if of.ClockUncertainty.Valid && latency < -of.ClockUncertainty.Value {
		q.warnOfClocks(q.hosts.of[a], q.hosts.of[b], func(from, to string) string {
			return fmt.Sprintf("the clocks of %s and %s are farther apart than clock_uncertainty says: a message was there %v before it was sent. `caret-bpf clocks` tells what the messages say of them",
				from, to, time.Duration(-latency))
		})
	}
}

// warnOfSupposedRates warns of hosts of which it is not known how fast their clocks went.
func (q *Query) warnOfSupposedRates(hosts map[int]bool) {
	for i, h := range q.hosts.list {
		if hosts[i] {
			q.Warnings = append(q.Warnings, fmt.Sprintf("what messages tell of the clock of %s supposes that nothing slewed it by more than 500 ppm: at some time, at least, it was not recorded by how much something did", h.name))
		}
	}
}

// warnOfClocks warns once of each two hosts.
func (q *Query) warnOfClocks(from, to int, say func(from, to string) string) {
	pair := [2]int{min(from, to), max(from, to)}
	if !q.warnedOfClocks[pair] {
		q.warnedOfClocks[pair] = true
		q.Warnings = append(q.Warnings, say(q.hosts.list[pair[0]].name, q.hosts.list[pair[1]].name))
	}
}
