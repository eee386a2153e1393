package merge

import "regexp"

// Filter chooses entities by name, with CARET's rule: where something is selected, only that is recorded and nothing is
// ignored; otherwise everything is recorded but what is ignored. Each list matches if one of its expressions does.
type Filter struct {
	SelectNodes, IgnoreNodes   []*regexp.Regexp
	SelectTopics, IgnoreTopics []*regexp.Regexp
}

// Empty reports whether the filter lets everything pass.
func (f *Filter) Empty() bool {
	return len(f.SelectNodes) == 0 && len(f.IgnoreNodes) == 0 && len(f.SelectTopics) == 0 && len(f.IgnoreTopics) == 0
}

// verdict is what a filter says of an entity, as far as it is known.
type verdict uint8

const (
	undecided verdict = iota // the name is not known yet
	pass
	drop
)

func judge(name string, selected, ignored []*regexp.Regexp) verdict {
	switch {
	case len(selected) == 0 && len(ignored) == 0:
		return pass
	case name == "":
		return undecided
	case len(selected) > 0:
		if matchesAny(name, selected) {
			return pass
		}
		return drop
	case matchesAny(name, ignored):
		return drop
	}
	return pass
}

func matchesAny(name string, expressions []*regexp.Regexp) bool {
	for _, expression := range expressions {
		if expression.MatchString(name) {
			return true
		}
	}
	return false
}

// judge combines what the node and the topic say. Entities without a topic (timers) have none to be judged by.
func (f *Filter) judge(node, topic string, hasTopic bool) verdict {
	byNode := judge(node, f.SelectNodes, f.IgnoreNodes)
	byTopic := pass
	if hasTopic {
		byTopic = judge(topic, f.SelectTopics, f.IgnoreTopics)
	}
	switch {
	case byNode == drop || byTopic == drop:
		return drop
	case byNode == undecided || byTopic == undecided:
		return undecided
	}
	return pass
}

// selects reports whether something is selected, and not only ignored.
func (f *Filter) selects() bool { return len(f.SelectNodes) > 0 || len(f.SelectTopics) > 0 }
