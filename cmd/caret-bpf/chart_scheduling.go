package main

import (
	"cmp"
	"fmt"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/chart"
	"github.com/caret-bpf/caret-bpf/report"
)

// scheduling gathers when callbacks ran, a panel for each group.
type scheduling struct {
	groups []*schedulingGroup
}

func newScheduling() charted[analyze.CallbackLatency, analyze.CallbackExecution] {
	s := new(scheduling)
	return charted[analyze.CallbackLatency, analyze.CallbackExecution]{s.add, s.end, s.figure}
}

type schedulingGroup struct {
	chart.CallbackScheduling
	group string
	open  uint64 // executions that are drawn without an end
}

func (s *scheduling) of(group string) *schedulingGroup {
	if last := len(s.groups) - 1; last >= 0 && s.groups[last].group == group {
		return s.groups[last]
	}
	g := &schedulingGroup{group: group}
	g.Name = report.Printable(group)
	s.groups = append(s.groups, g)
	return g
}

func (s *scheduling) add(group string, instances []analyze.CallbackExecution) error {
	g := s.of(group)
	for i := range instances {
		e := &instances[i]
		thread := fmt.Sprintf("PID %d, thread %d", e.PID, e.TID)
		name := report.Printable(joined(callbackOf(e.CallbackLabel), cmp.Or(e.Topic, string(e.Kind))))
		var err error
		if e.End.Valid {
			err = g.Add(thread, name, e.Begin, e.End.Value)
		} else {
			g.open++
			err = g.AddOpen(thread, name, e.Begin)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *scheduling) end(group string, rows []analyze.CallbackLatency) {
	if len(rows) == 0 {
		return
	}
	g := s.of(group)
	var incomplete uint64
	for i := range rows {
		incomplete += rows[i].Incomplete
	}
	g.Missing = []chart.Missing{{Count: incomplete - g.open, What: "without a known begin"}}
}

func (s *scheduling) figure() *chart.Figure {
	f := &chart.Figure{Title: "callback scheduling"}
	for _, g := range s.groups {
		f.Panels = append(f.Panels, &g.CallbackScheduling)
	}
	return f
}
