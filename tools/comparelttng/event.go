package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// thread is a thread of a process, by IDs in the recorder's PID namespace.
type thread struct{ pid, tid int32 }

// argument is a named argument of a tracepoint.
type argument struct {
	name string
	// isNumber is false where LTTng recorded what a pointer leads to, a string or an array; caret-bpf's value is the
	// pointer then.
	isNumber bool
	value    uint64
}

// event is one tracepoint hit.
type event struct {
	thread
	name string
	// time is CLOCK_MONOTONIC in nanoseconds.
	time      int64
	arguments []argument
}

func (e event) argument(name string) (a argument, found bool) {
	index := slices.IndexFunc(e.arguments, func(a argument) bool { return a.name == name })
	if index < 0 {
		return argument{}, false
	}
	return e.arguments[index], true
}

func (e event) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d %s", e.time, e.name)
	for _, a := range e.arguments {
		if a.isNumber {
			fmt.Fprintf(&text, " %s=%#x", a.name, a.value)
		}
	}
	return text.String()
}

// byThread are the events of each thread in order of time.
func byThread(events []event) map[thread][]event {
	threads := map[thread][]event{}
	for _, e := range events {
		threads[e.thread] = append(threads[e.thread], e)
	}
	for _, list := range threads {
		slices.SortStableFunc(list, func(a, b event) int { return cmp.Compare(a.time, b.time) })
	}
	return threads
}
