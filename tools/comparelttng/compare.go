package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// lookahead is how many events further on a thread's two sequences may agree again.
const lookahead = 1000

// clockSlack is by how many nanoseconds the clock that kernel programs read may run ahead of the one that programs
// read: both are CLOCK_MONOTONIC, but the kernel's is one that it may read at any time, and is not exact to the
// nanosecond while the clock is adjusted.
const clockSlack = 100

// maxDetails bounds the differences that are shown one by one.
const maxDetails = 20

// tally is the comparison of one kind of event.
type tally struct {
	lttng, recorded int
	// missing are hits that only LTTng has, extra those that only the recording has, different those with other arguments.
	missing, extra, different int
	// elsewhere are hits of other functions, where caret-bpf observes what the tracepoint does not show, such as
	// serialized messages.
	elsewhere int
	// uncompared are the names of arguments that caret-bpf has as pointers and LTTng as what they lead to, or not at all.
	uncompared map[string]bool
	// delays are LTTng's time minus the recording's, of each hit that both have.
	delays []int64
}

func (t *tally) matches() bool { return t.missing+t.extra+t.different == 0 }

// comparison is what the two recordings have in common and what not.
type comparison struct {
	events map[string]*tally
	// elsewhere are the events that have such hits.
	elsewhere map[string]bool
	// onlyLTTng are numbers of hits of events that caret-bpf did not observe where LTTng does.
	onlyLTTng map[string]int
	// unexplained: not every hit of rcl_publish elsewhere is a publish of a serialized or loaned message, or the reverse.
	unexplained bool
	details     []string
	threads     int
}

func (c *comparison) matches() bool {
	compared := 0
	for _, t := range c.events {
		if !t.matches() {
			return false
		}
		compared += len(t.delays)
	}
	return compared > 0 && !c.unexplained
}

// compare compares all events that the recording observed, thread by thread.
func compare(lttng []event, recorded recording) *comparison {
	c := &comparison{events: map[string]*tally{}, elsewhere: recorded.elsewhere, onlyLTTng: map[string]int{}}
	for name := range recorded.observed {
		c.events[name] = &tally{uncompared: map[string]bool{}}
	}
	var ofBoth, own []event
	for _, e := range lttng {
		if t := c.events[e.name]; t != nil {
			t.lttng++
			ofBoth = append(ofBoth, e)
		} else {
			c.onlyLTTng[e.name]++
		}
	}
	for _, e := range recorded.events {
		if t := c.events[e.name]; t != nil {
			t.recorded++
			own = append(own, e)
		}
	}
	first, second := byThread(ofBoth), byThread(own)
	threads := maps.Collect(maps.All(first))
	maps.Copy(threads, second)
	c.threads = len(threads)
	for _, of := range slices.SortedFunc(maps.Keys(threads), func(a, b thread) int {
		return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.tid, b.tid))
	}) {
		c.compareThread(of, first[of], second[of])
	}
	if publish := c.events["rcl_publish"]; publish != nil && publish.elsewhere != recorded.otherForms {
		c.unexplained = true
		c.details = append(c.details, fmt.Sprintf("rcl_publish was hit %d times elsewhere, but %d messages were serialized or loaned",
			publish.elsewhere, recorded.otherForms))
	}
	return c
}

// compareThread walks along both sequences of a thread. Where they part, the shortest way on which they meet again
// counts.
func (c *comparison) compareThread(of thread, lttng, recorded []event) {
	for len(lttng) > 0 && len(recorded) > 0 {
		a, b := lttng[0], recorded[0]
		if c.same(lttng, recorded) {
			t := c.events[a.name]
			t.delays = append(t.delays, a.time-b.time)
			lttng, recorded = lttng[1:], recorded[1:]
			continue
		}
		missing, extra := c.meetAgain(lttng, recorded)
		if missing == 1 && extra == 1 && a.name == b.name {
			c.events[a.name].different++
			c.detail(of, "other arguments: LTTng %v, caret-bpf %v", a, b)
		} else {
			c.onlyInLTTng(of, lttng[:missing])
			c.onlyRecorded(of, recorded[:extra])
		}
		lttng, recorded = lttng[missing:], recorded[extra:]
	}
	c.onlyInLTTng(of, lttng)
	c.onlyRecorded(of, recorded)
}

// meetAgain is how many events of each sequence come before the two agree again; one of each if they do not within
// sight.
func (c *comparison) meetAgain(lttng, recorded []event) (missing, extra int) {
	for distance := 1; distance <= lookahead; distance++ {
		for missing = range distance + 1 {
			extra = distance - missing
			if missing < len(lttng) && extra < len(recorded) && c.same(lttng[missing:], recorded[extra:]) {
				return missing, extra
			}
		}
		if distance >= len(lttng)+len(recorded) {
			break
		}
	}
	return 1, 1
}

func (c *comparison) onlyInLTTng(of thread, events []event) {
	for _, e := range events {
		c.events[e.name].missing++
		c.detail(of, "only in LTTng: %v", e)
	}
}

func (c *comparison) onlyRecorded(of thread, events []event) {
	for _, e := range events {
		if c.elsewhere[e.name] {
			c.events[e.name].elsewhere++
			continue
		}
		c.events[e.name].extra++
		c.detail(of, "only in caret-bpf: %v", e)
	}
}

func (c *comparison) detail(of thread, format string, arguments ...any) {
	if len(c.details) < maxDetails {
		c.details = append(c.details, fmt.Sprintf("PID %d, thread %d: ", of.pid, of.tid)+fmt.Sprintf(format, arguments...))
	}
}

// booleans are the arguments of type bool: only the lowest byte of their registers is defined.
var booleans = []string{"is_intra_process", "taken", "overwritten"}

// notForLTTng are the arguments that libtracetools does not hand on to LTTng, and those that caret-bpf adds by reading
// the object.
var notForLTTng = map[string][]string{
	"rclcpp_publish":                     {"publisher_handle"},
	"rcl_service_init":                   {"impl"},
	"rclcpp_service_callback_added":      {"impl"},
	"rclcpp_subscription_callback_added": {"buffer", "capacity", "ipb"},
}

// same reports whether the first of each are the same hit: the event, every argument that is a number, and the time. A
// thread comes by caret-bpf's probe, then by LTTng's, and only then by the probe of the next event.
func (c *comparison) same(lttng, recorded []event) bool {
	a, b := lttng[0], recorded[0]
	if a.name != b.name || a.time < b.time-clockSlack || len(recorded) > 1 && a.time > recorded[1].time+clockSlack {
		return false
	}
	for _, own := range b.arguments {
		other, found := a.argument(own.name)
		switch {
		case found && other.isNumber:
			value := own.value
			if slices.Contains(booleans, own.name) {
				value = min(value&0xff, 1)
			}
			if value != other.value {
				return false
			}
		case found, slices.Contains(notForLTTng[b.name], own.name):
			c.events[b.name].uncompared[own.name] = true
		default:
			return false
		}
	}
	return !slices.ContainsFunc(a.arguments, func(other argument) bool {
		_, found := b.argument(other.name)
		return other.isNumber && !found
	})
}
