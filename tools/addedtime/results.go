package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/caret-bpf/caret-bpf/test/measure"
	"github.com/caret-bpf/caret-bpf/tools/busy"
)

// results are all measurements of a system.
type results struct {
	system   busy.System
	ways     []way
	untraced map[busy.Workload][]float64
	// added are nanoseconds a callback, one measurement each round, hits are how often a callback passes the sites.
	added map[string]map[busy.Workload][]float64
	hits  map[string]map[busy.Workload]float64
	lost  map[string]uint64
	// failed are the ways that did not work.
	failed map[string]error
}

func newResults(s busy.System, ways []way) *results {
	r := &results{
		system: s, ways: ways, untraced: map[busy.Workload][]float64{}, added: map[string]map[busy.Workload][]float64{},
		hits: map[string]map[busy.Workload]float64{}, lost: map[string]uint64{}, failed: map[string]error{},
	}
	for _, w := range ways {
		r.added[w.name] = map[busy.Workload][]float64{}
		r.hits[w.name] = map[busy.Workload]float64{}
	}
	return r
}

func (r *results) add(name string, load busy.Workload, added float64, lost uint64) {
	r.added[name][load] = append(r.added[name][load], added)
	r.lost[name] += lost
}

// cost is what the workloads cost for a callback.
type cost struct{ callback, withPublish, subscription float64 }

// part is one of the columns: what a timer's callback costs, what a publish costs more, both, and what a subscription's
// callback costs with the take that feeds it.
type part struct {
	name string
	of   func(cost) float64
}

var parts = []part{
	{"callback", func(c cost) float64 { return c.callback }},
	{"publish", func(c cost) float64 { return c.withPublish - c.callback }},
	{"both", func(c cost) float64 { return c.withPublish }},
	{"subscription", func(c cost) float64 { return c.subscription - (c.withPublish - c.callback) }},
}

// median is what a way adds to a part, the median of all rounds. ok is false if it was not measured.
func (r *results) median(name string, p part) (nanoseconds float64, ok bool) {
	callback, withPublish, subscription := r.added[name][busy.Callback], r.added[name][busy.CallbackWithPublish], r.added[name][busy.Subscription]
	var all []float64
	for round := range min(len(callback), len(withPublish), len(subscription)) {
		all = append(all, p.of(cost{callback[round], withPublish[round], subscription[round]}))
	}
	if len(all) == 0 || r.failed[name] != nil {
		return 0, false
	}
	return measure.Median(all), true
}

// ratio is how many times as much one way adds as another.
func (r *results) ratio(of, to string, p part) string {
	one, measured := r.median(of, p)
	other, otherMeasured := r.median(to, p)
	if !measured || !otherMeasured || other <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", one/other)
}

// print prints the table of a system.
func (r *results) print(out io.Writer) {
	callback, withPublish := measure.Median(r.untraced[busy.Callback]), measure.Median(r.untraced[busy.CallbackWithPublish])
	fmt.Fprintf(out, "\n%s (%s): untraced %.0f ns a timer's callback, %.0f ns with a publish, %.0f ns a subscription's with a publish; added, medians of %d rounds:\n",
		r.system.Name, r.system.RMW, callback, withPublish, measure.Median(r.untraced[busy.Subscription]), len(r.added[nameFloor][busy.Callback]))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tcallback\tpublish\tboth\tsubscription\thits of a callback\tof a publish\tof a subscription\tto the floor\tlost\t")
	for _, way := range r.ways {
		fmt.Fprintf(w, "%s\t", way.name)
		for _, p := range parts {
			if added, ok := r.median(way.name, p); ok {
				fmt.Fprintf(w, "%.0f ns\t", added)
			} else {
				fmt.Fprint(w, "-\t")
			}
		}
		if hits := r.hits[way.name]; len(hits) > 0 {
			publish := hits[busy.CallbackWithPublish] - hits[busy.Callback]
			fmt.Fprintf(w, "%.1f\t%.1f\t%.1f\t", hits[busy.Callback], publish, hits[busy.Subscription]-publish)
		} else {
			fmt.Fprint(w, "-\t-\t-\t")
		}
		fmt.Fprintf(w, "%s\t%d\t\n", r.ratio(way.name, nameFloor, parts[2]), r.lost[way.name])
	}
	w.Flush()
	for _, ratio := range [][2]string{
		{nameStandard, nameFloor}, {nameEntries, nameStandard}, {nameBpftrace, nameStandard}, {nameLTTng, nameStandard},
	} {
		if _, measured := r.median(ratio[0], parts[0]); !measured {
			continue
		}
		fmt.Fprintf(out, "(%s) / (%s):", ratio[0], ratio[1])
		for _, p := range parts {
			fmt.Fprintf(out, " %s %s", p.name, r.ratio(ratio[0], ratio[1], p))
		}
		fmt.Fprintln(out)
	}
	for _, name := range slices.Sorted(maps.Keys(r.failed)) {
		fmt.Fprintf(out, "%s was not measured: %v\n", name, r.failed[name])
	}
}
