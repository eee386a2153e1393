package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze"
)

// shownThreads is the number of threads that a view has at most.
const shownThreads = 20_000

// busiestThreads returns those threads that ran most callbacks, in their order, and a warning of the others.
func busiestThreads(threads []analyze.Thread, executions map[analyze.Thread]int) (shown []analyze.Thread, warning string) {
	if len(threads) <= shownThreads {
		return threads, ""
	}
	byExecutions := slices.Clone(threads)
	slices.SortStableFunc(byExecutions, func(a, b analyze.Thread) int { return cmp.Compare(executions[b], executions[a]) })
	chosen := make(map[analyze.Thread]bool, shownThreads)
	for _, t := range byExecutions[:shownThreads] {
		chosen[t] = true
	}
	for _, t := range threads {
		if chosen[t] {
			shown = append(shown, t)
		}
	}
	return shown, fmt.Sprintf("the timeline leaves %s out, which ran fewest callbacks: ask for some processes with --process", plural(uint64(len(threads)-shownThreads), "thread", "threads"))
}
