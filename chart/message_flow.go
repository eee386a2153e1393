package chart

import "fmt"

// MaxFlows is how many ways of messages a MessageFlow draws at most.
const MaxFlows = 1000

// FlowEnd says where the line of a way ends.
type FlowEnd int

// The ends. All but Arrived are marked.
const (
	// Arrived: at the end of the path.
	Arrived FlowEnd = iota
	// Lost: the next hop is known not to have happened.
	Lost
	// Uncertain: it is not known whether the next hop happened.
	Uncertain
)

// MessageFlow draws the ways of messages: time to the right, the hops of a path downwards, and one line for each. A
// message of which a node made several has several ways.
type MessageFlow struct {
	Name string
	// Hops name the bands that the lines cross, the first on top.
	Hops []string
	// Missing is said below.
	Missing []Missing

	flows  []flow
	counts [Uncertain + 1]uint64
	times  span
}

type flow struct {
	times []int64
	end   FlowEnd
}

// Add adds the way of a message: when it set out, and then the end of each hop that it has passed, in Unix
// nanoseconds. It must have set out. Add returns ErrTooMuch when there are MaxFlows.
func (m *MessageFlow) Add(times []int64, end FlowEnd) error {
	if len(m.flows) == MaxFlows {
		return fmt.Errorf("%w: more than %s ways of messages on %s", ErrTooMuch, groupDigits(MaxFlows), m.Name)
	}
	of := flow{end: end}
	for _, at := range times {
		at = limitTime(at)
		if len(m.flows) == 0 && len(of.times) == 0 {
			m.times = span{at, at}
		}
		m.times = m.times.with(span{at, at})
		of.times = append(of.times, at)
	}
	m.counts[end]++
	m.flows = append(m.flows, of)
	return nil
}

func (m *MessageFlow) span() (span, bool) { return m.times, len(m.flows) > 0 }

// notes say what the panel shows, in lines of that width; uncertain is the mark of lines whose rest is unknown.
func (m *MessageFlow) notes(width int, uncertain string) []string {
	text := counted(m.counts[Arrived], "ways") + " arrived; " + groupDigits(m.counts[Lost]) + " lost or unused on the way (×)"
	if m.counts[Uncertain] > 0 {
		text += "; " + groupDigits(m.counts[Uncertain]) + " of which the rest is unknown (" + uncertain + ")"
	}
	if left := missingText(m.Missing); left != "" {
		text += "; not drawn: " + left
	}
	return wrap(text, width)
}
