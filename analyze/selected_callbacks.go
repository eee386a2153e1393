package analyze

import "github.com/caret-bpf/caret-bpf/analyze/system"

// selectedCallbacks remembers which callbacks a filter lets pass. It is of one goroutine.
type selectedCallbacks struct {
	filter *Filter
	known  map[*system.Callback]bool
}

func newSelectedCallbacks(filter *Filter) selectedCallbacks {
	return selectedCallbacks{filter: filter, known: make(map[*system.Callback]bool)}
}

func (s selectedCallbacks) has(c *system.Callback) bool {
	selected, known := s.known[c]
	if !known {
		selected = s.filter.callback(c)
		s.known[c] = selected
	}
	return selected
}
