package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// print writes the comparison for people.
func (c *comparison) print(output io.Writer) {
	table := tabwriter.NewWriter(output, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "EVENT\tLTTNG\tCARET-BPF\tONLY LTTNG\tONLY CARET-BPF\tOTHER ARGUMENTS\tELSEWHERE\tDELAY MIN\tMEDIAN\tP99\tMAX\t")
	var uncompared []string
	for _, name := range slices.Sorted(maps.Keys(c.events)) {
		t := c.events[name]
		if t.lttng+t.recorded == 0 {
			continue
		}
		slices.Sort(t.delays)
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t\n", name, t.lttng, t.recorded, t.missing, t.extra, t.different, t.elsewhere,
			quantile(t.delays, 0), quantile(t.delays, 0.5), quantile(t.delays, 0.99), quantile(t.delays, 1))
		for _, argument := range slices.Sorted(maps.Keys(t.uncompared)) {
			uncompared = append(uncompared, name+"."+argument)
		}
	}
	_ = table.Flush()
	fmt.Fprintf(output, "\n%d threads; the delay is from caret-bpf's time of a hit to LTTng's\n", c.threads)
	if len(uncompared) > 0 {
		fmt.Fprintf(output, "arguments that only one has as numbers: %s\n", strings.Join(uncompared, ", "))
	}
	if len(c.onlyLTTng) > 0 {
		var events []string
		for _, name := range slices.Sorted(maps.Keys(c.onlyLTTng)) {
			events = append(events, fmt.Sprintf("%s (%d)", name, c.onlyLTTng[name]))
		}
		fmt.Fprintf(output, "events of LTTng that caret-bpf does not observe: %s\n", strings.Join(events, ", "))
	}
	for _, detail := range c.details {
		fmt.Fprintln(output, detail)
	}
}

// quantile is the least value of a sorted list that a fraction of the list does not exceed, such as the median for 0.5.
func quantile(sorted []int64, fraction float64) string {
	if len(sorted) == 0 {
		return "-"
	}
	rank := int(math.Ceil(fraction * float64(len(sorted))))
	return time.Duration(sorted[max(rank, 1)-1]).String()
}
