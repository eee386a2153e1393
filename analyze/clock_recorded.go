package analyze

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/trace"
)

// ClockOffset is by how much the clock of a host is ahead of that of the first dataset's host, as somebody says.
type ClockOffset struct {
	// Ahead is in nanoseconds, and Within bounds its error: null if that is not known.
	Ahead  int64
	Within trace.Optional[int64]
}

// recordedClocks take all hosts' real times for the same, but for those of which somebody has said how far they are
// ahead.
type recordedClocks struct {
	hosts  []*clockHost
	errors []*realTimeError // nil where there is one host
	given  map[int]ClockOffset
}

func newRecordedClocks(hosts *clockHosts, given map[int]ClockOffset) *recordedClocks {
	c := &recordedClocks{hosts: hosts.list, given: given}
	if len(hosts.list) > 1 {
		for _, h := range hosts.list {
			c.errors = append(c.errors, newRealTimeError(h))
		}
	}
	return c
}

func (c *recordedClocks) points(host int) []clockPoint {
	points := c.hosts[host].realTime()
	for i := range points {
		points[i].correction -= c.given[host].Ahead
	}
	if len(points) == 0 && c.given[host].Ahead != 0 {
		points = []clockPoint{{correction: -c.given[host].Ahead}}
	}
	return points
}

// realTime is the host's own at a time of the common clock.
func (c *recordedClocks) realTime(host int, at int64) int64 { return at + c.given[host].Ahead }

func (c *recordedClocks) between(a int, atA int64, b int, atB int64) ClockAgreement {
	bound := c.errors[a].ofFollowing(c.realTime(a, atA)) + c.errors[b].ofFollowing(c.realTime(b, atB))
	ofA, givenA := c.given[a]
	ofB, givenB := c.given[b]
	// What is given is given against the first host: its own is exact.
	givenA, givenB = givenA || a == 0 && givenB, givenB || b == 0 && givenA
	if a == 0 && givenA {
		ofA.Within = trace.Some(int64(0))
	}
	if b == 0 && givenB {
		ofB.Within = trace.Some(int64(0))
	}
	parts := []trace.Optional[int64]{ofA.Within, ofB.Within}
	source := ClockGiven
	switch {
	case !givenA && !givenB:
		source = ClockRecorded
		parts = []trace.Optional[int64]{c.errors[a].ofSynchronization(c.realTime(a, atA)), c.errors[b].ofSynchronization(c.realTime(b, atB))}
	case !givenA:
		parts = []trace.Optional[int64]{ofB.Within, c.errors[0].ofSynchronization(atB), c.errors[a].ofSynchronization(c.realTime(a, atA))}
	case !givenB:
		parts = []trace.Optional[int64]{ofA.Within, c.errors[0].ofSynchronization(atA), c.errors[b].ofSynchronization(c.realTime(b, atB))}
	}
	for _, part := range parts {
		if !part.Valid {
			return ClockAgreement{ClockSource: ClockUnknown}
		}
		bound += part.Value
	}
	return ClockAgreement{ClockSource: source, ClockUncertainty: trace.Some(bound)}
}

// why says why nothing bounds the clocks of hosts.
func (c *recordedClocks) why(hosts ...int) string {
	var reasons []string
	for _, h := range hosts {
		if c.errors[h].why != "" {
			reasons = append(reasons, fmt.Sprintf("%s: %s", c.hosts[h].name, c.errors[h].why))
		}
	}
	if names := c.unbounded(); len(names) > 0 {
		reasons = append(reasons, fmt.Sprintf("what is given of %s has no bound (HOST=OFFSET±BOUND)", strings.Join(names, ", ")))
	}
	return strings.Join(reasons, "; ") + ". --clock-offset messages takes what the messages tell of the clocks"
}

// unbounded are the hosts of which something is given without a bound.
func (c *recordedClocks) unbounded() (names []string) {
	for _, h := range slices.Sorted(maps.Keys(c.given)) {
		if !c.given[h].Within.Valid {
			names = append(names, c.hosts[h].name)
		}
	}
	return names
}
