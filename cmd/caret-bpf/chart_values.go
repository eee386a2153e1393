package main

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/chart"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

// valued says which values the instances of an answer have. There is a panel for each row of the answer, which a label
// of type L tells from the others.
type valued[S, I any, L comparable] struct {
	title string
	// axis is what the values are, and of whose they are: the "latency" of "executions".
	axis, of string
	unit     chart.Unit
	notes    []string
	// row returns the label of a row, its name, and how many instances have no value, and why.
	row func(*S) (label L, name string, missing []chart.Missing)
	// instance tells of the values of an instance. What has none may be told of with null.
	instance func(i *I, tell func(label L, at int64, value trace.Optional[int64]))
}

// panelOf is where a panel gets its values from.
type panelOf[L comparable] struct {
	group string
	label L
}

// valueCharts gathers values as panels of one kind, which are in the order of the rows.
type valueCharts[S, I any, L comparable] struct {
	valued[S, I, L]
	newPanel func() valuePanel
	panels   map[panelOf[L]]valuePanel
	ordered  []chart.Panel
}

// valuePanel is a panel that values are added to.
type valuePanel interface {
	chart.Panel
	add(at int64, value trace.Optional[int64])
	describe(name string, missing []chart.Missing)
}

// chartValues gathers the values of an answer as histograms or as time series.
func chartValues[S, I any, L comparable](kind chartKind, of valued[S, I, L]) charted[S, I] {
	v := &valueCharts[S, I, L]{valued: of, panels: make(map[panelOf[L]]valuePanel)}
	v.newPanel = func() valuePanel {
		return histogramPanel{&chart.Histogram{Axis: of.axis, Of: of.of, Unit: of.unit}}
	}
	if kind == seriesChart {
		v.newPanel = func() valuePanel {
			return seriesPanel{&chart.TimeSeries{Axis: of.axis, Of: of.of, Unit: of.unit}}
		}
	}
	return charted[S, I]{v.add, v.end, v.figure}
}

func (v *valueCharts[S, I, L]) panel(group string, label L) valuePanel {
	of := panelOf[L]{group, label}
	p := v.panels[of]
	if p == nil {
		p = v.newPanel()
		v.panels[of] = p
	}
	return p
}

func (v *valueCharts[S, I, L]) add(group string, instances []I) error {
	tell := func(label L, at int64, value trace.Optional[int64]) { v.panel(group, label).add(at, value) }
	for i := range instances {
		v.instance(&instances[i], tell)
	}
	return nil
}

func (v *valueCharts[S, I, L]) end(group string, rows []S) {
	drawn := make(map[L]bool)
	for i := range rows {
		label, name, missing := v.row(&rows[i])
		p := v.panel(group, label)
		if group != "" {
			name = group + ": " + name
		}
		p.describe(report.Printable(name), missing)
		if !drawn[label] {
			drawn[label] = true
			v.ordered = append(v.ordered, p)
		}
	}
}

func (v *valueCharts[S, I, L]) figure() *chart.Figure {
	return &chart.Figure{Title: v.title, Panels: v.ordered, Notes: v.notes}
}

// histogramPanel is a histogram as a valuePanel.
type histogramPanel struct{ *chart.Histogram }

func (p histogramPanel) add(_ int64, value trace.Optional[int64]) {
	if value.Valid {
		p.Add(value.Value)
	}
}

func (p histogramPanel) describe(name string, missing []chart.Missing) {
	p.Name, p.Missing = name, addMissing(p.Missing, missing)
}

// seriesPanel is a time series as a valuePanel.
type seriesPanel struct{ *chart.TimeSeries }

func (p seriesPanel) add(at int64, value trace.Optional[int64]) {
	if value.Valid {
		p.Add(at, value.Value)
	} else {
		p.AddMissing(at)
	}
}

func (p seriesPanel) describe(name string, missing []chart.Missing) {
	p.Name, p.Missing = name, addMissing(p.Missing, missing)
}

// addMissing adds counts to others of the same kind: rows that nothing tells apart are drawn as one.
func addMissing(to, more []chart.Missing) []chart.Missing {
	for _, m := range more {
		if i := slices.IndexFunc(to, func(known chart.Missing) bool { return known.What == m.What }); i >= 0 {
			to[i].Count += m.Count
		} else {
			to = append(to, m)
		}
	}
	return to
}
