package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// allEntities is the flag that shows what every node has, too.
const allEntities = "all-entities"

// allEntitiesFlag defines it. The forms for programs have all entities anyway.
func allEntitiesFlag(flags *pflag.FlagSet) *bool {
	return flags.Bool(allEntities, false, "show one by one what every node has (parameter services, /rosout, /parameter_events), which is one line otherwise")
}

// shownByFlag says how to see what is left out.
const shownByFlag = "--" + allEntities + " shows them"

// standardOf returns what of an architecture is not shown one by one: nothing if all entities are.
func standardOf(a *system.Architecture, all bool) *system.Standard {
	if all {
		return new(system.Standard)
	}
	return a.Standard()
}

// standardCount is how much there is of what every node has.
type standardCount struct {
	services, publishers, subscriptions int
}

func (s standardCount) none() bool { return s == standardCount{} }

// String is "7 services, 2 publishers, 1 subscription", without what there is none of.
func (s standardCount) String() string {
	var parts []string
	for _, of := range []struct {
		count int
		one   string
	}{{s.services, "service"}, {s.publishers, "publisher"}, {s.subscriptions, "subscription"}} {
		if of.count > 0 {
			parts = append(parts, counted(of.count, of.one))
		}
	}
	return strings.Join(parts, ", ")
}

// counted is a number with the noun that it counts, which takes an s for more than one.
func counted(count int, one string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", count, one)
}

// line stands for what it counts.
func (s standardCount) line() string { return fmt.Sprintf("standard: %v; %s", s, shownByFlag) }

// countStandard counts what every node has in one node.
func countStandard(standard *system.Standard, n *system.Node) (count standardCount) {
	for _, s := range n.Services {
		if standard.Service(s) {
			count.services++
		}
	}
	for _, p := range n.Publishers {
		if standard.Publisher(p) {
			count.publishers++
		}
	}
	for _, s := range n.Subscriptions {
		if standard.Subscription(s) {
			count.subscriptions++
		}
	}
	return count
}

// setApart splits entities into the others and those whose index is said to be of what every node has.
func setApart[E any](all []E, isStandard func(i int) bool) (others, standard []E) {
	for i, e := range all {
		if isStandard(i) {
			standard = append(standard, e)
		} else {
			others = append(others, e)
		}
	}
	return others, standard
}
