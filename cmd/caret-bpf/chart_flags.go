package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// chartKind is a way to draw an answer.
type chartKind string

// The kinds, as their flags are called, and none.
const (
	noChart         chartKind = ""
	histogramChart  chartKind = "histogram"
	seriesChart     chartKind = "plot"
	stackedBarChart chartKind = "stacked-bar"
	flowChart       chartKind = "message-flow"
	schedulingChart chartKind = "scheduling"
)

// flag is how the kind is asked for.
func (k chartKind) flag() string {
	if k == seriesChart {
		return "--series --plot"
	}
	return "--" + string(k)
}

// hasRows tells whether there is a panel for each row of the answer.
func (k chartKind) hasRows() bool { return k == histogramChart || k == seriesChart }

// chartUsage says what the kinds draw.
var chartUsage = map[chartKind]string{
	histogramChart:  "draw a histogram of each row",
	seriesChart:     "with --series: draw the instances over time",
	stackedBarChart: "draw of which hops the latencies consist, over time",
	flowChart:       "draw the way of each message over time, and where it was lost",
	schedulingChart: "draw when callbacks ran, on which threads",
}

// chartFlags say what is drawn of an answer, and where.
type chartFlags struct {
	kinds    []chartKind // that the command has
	chosen   []*bool     // of kinds
	svg, png string
}

// defineChartFlags is for commands whose answers can be drawn in those ways.
func defineChartFlags(flags *pflag.FlagSet, kinds ...chartKind) *chartFlags {
	f := &chartFlags{kinds: kinds}
	for _, kind := range kinds {
		f.chosen = append(f.chosen, flags.Bool(string(kind), false, chartUsage[kind]))
	}
	flags.StringVar(&f.svg, "svg", "", "draw to an SVG `FILE` instead of the terminal")
	flags.StringVar(&f.png, "png", "", "draw to a PNG `FILE` instead of the terminal")
	return f
}

// asked returns the drawings that are asked for.
func (f *chartFlags) asked() (kinds []chartKind) {
	for i, chosen := range f.chosen {
		if *chosen {
			kinds = append(kinds, f.kinds[i])
		}
	}
	return kinds
}

// asks tells whether a drawing is asked for.
func (f *chartFlags) asks(kind chartKind) bool { return slices.Contains(f.asked(), kind) }

// asksAny tells whether anything is to be drawn, or to a file.
func (f *chartFlags) asksAny() bool { return len(f.asked()) > 0 || f.svg != "" || f.png != "" }

// choose returns what is to be drawn, and refuses contradictions.
func (f *chartFlags) choose(q *question) (chartKind, error) {
	kinds := f.asked()
	switch {
	case len(kinds) > 1:
		return noChart, fmt.Errorf("%w: choose one of %s", errUsage, flagsOfKinds(kinds, " and "))
	case len(kinds) == 0 && f.svg != "":
		return noChart, fmt.Errorf("%w: say what --svg draws: %s", errUsage, flagsOfKinds(f.kinds, " or "))
	case len(kinds) == 0 && f.png != "":
		return noChart, fmt.Errorf("%w: say what --png draws: %s", errUsage, flagsOfKinds(f.kinds, " or "))
	case len(kinds) == 0:
		return noChart, nil
	}
	kind := kinds[0]
	if form := formFlag(q.outputFlags); form != "" {
		return noChart, fmt.Errorf("%w: %s draws, and %s writes rows: leave one of them out", errUsage, kind.flag(), form)
	}
	switch {
	case kind == seriesChart && !q.series:
		return noChart, fmt.Errorf("%w: --plot draws the instances over time: add --series", errUsage)
	case kind != seriesChart && q.series:
		return noChart, fmt.Errorf("%w: %s draws all instances by itself: leave out --series%s", errUsage, kind.flag(), f.orPlot())
	case !kind.hasRows() && (q.sort != "" || q.limit != 0):
		return noChart, fmt.Errorf("%w: %s is in order of time and whole: leave out --sort and --limit", errUsage, kind.flag())
	case f.svg != "" && f.svg == f.png:
		return noChart, fmt.Errorf("%w: --svg and --png name one file", errUsage)
	}
	return kind, nil
}

// formFlag returns the flag that asks for rows in a form, "" if there is none.
func formFlag(o outputFlags) string {
	switch {
	case *o.json:
		return "--json"
	case *o.csv:
		return "--csv"
	case *o.parquet != "":
		return "--parquet"
	}
	return ""
}

// orPlot says how else the instances are drawn.
func (f *chartFlags) orPlot() string {
	if slices.Contains(f.kinds, seriesChart) {
		return ", or take --series --plot"
	}
	return ""
}

// flagsOfKinds lists flags: "--a, --b or --c".
func flagsOfKinds(kinds []chartKind, last string) string {
	var flags []string
	for _, kind := range kinds {
		flags = append(flags, kind.flag())
	}
	if len(flags) == 1 {
		return flags[0]
	}
	end := len(flags) - 1
	return strings.Join(flags[:end], ", ") + last + flags[end]
}
