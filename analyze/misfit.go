package analyze

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// Misfit is a part of a Filter that fits nothing the entity tables of the datasets name. Rows may name something else.
type Misfit struct {
	// Of says what it was to choose: "node", "topic or service", "callback", "process".
	Of string
	// Text is the pattern or the PID.
	Text string
	// Pattern is nil for a PID.
	Pattern *regexp.Regexp
	// Names are those that there are.
	Names []string
}

// Misfits are the parts of the query's filter that fit nothing.
func (q *Query) Misfits() []Misfit {
	var misfits []Misfit
	for _, of := range []struct {
		what     string
		patterns []*regexp.Regexp
		names    func(*system.Node) []string
	}{
		{"node", q.filter.Nodes, func(n *system.Node) []string { return []string{n.Name} }},
		{"topic or service", q.filter.Topics, topicsOf},
		{"callback", q.filter.Callbacks, callbacksOf},
	} {
		if len(of.patterns) == 0 {
			continue
		}
		names := q.Architecture.NamesOf(of.names)
		for _, pattern := range of.patterns {
			if !matches([]*regexp.Regexp{pattern}, names...) {
				misfits = append(misfits, Misfit{of.what, pattern.String(), pattern, names})
			}
		}
	}
	for _, pid := range q.filter.Processes {
		recorded := make([]string, 0, len(q.Architecture.Processes))
		for _, p := range q.Architecture.Processes {
			recorded = append(recorded, strconv.Itoa(int(p.PID)))
		}
		if text := strconv.Itoa(int(pid)); !slices.Contains(recorded, text) {
			misfits = append(misfits, Misfit{"process", text, nil, recorded})
		}
	}
	return misfits
}

func topicsOf(n *system.Node) []string {
	names := n.TopicNames()
	for _, s := range n.Services {
		names = append(names, s.ServiceName)
	}
	for _, c := range n.Clients {
		names = append(names, c.ServiceName)
	}
	return names
}

func callbacksOf(n *system.Node) (names []string) {
	for _, c := range n.Callbacks {
		names = append(names, c.Name, c.Symbol)
	}
	return names
}
