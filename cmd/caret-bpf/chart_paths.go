package main

import (
	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/chart"
	"github.com/caret-bpf/caret-bpf/report"
)

// pathPanel is the panel of a path in a group.
type pathPanel struct{ group, path string }

func (p pathPanel) name() string {
	if p.group == "" {
		return report.Printable(p.path)
	}
	return report.Printable(p.group + ": " + p.path)
}

// stackedBars gathers of which hops the latencies of messages consist, a panel for each path.
type stackedBars struct {
	panels  map[pathPanel]*chart.StackedBar
	ordered []chart.Panel
	path    string  // of the message whose hops come now
	begin   int64   // likewise
	hops    []int64 // that have come
}

func newStackedBars() charted[analyze.PathHop, analyze.PathHopInstance] {
	s := &stackedBars{panels: make(map[pathPanel]*chart.StackedBar)}
	return charted[analyze.PathHop, analyze.PathHopInstance]{s.add, s.end, s.figure}
}

func (s *stackedBars) panel(group, path string) *chart.StackedBar {
	of := pathPanel{group, path}
	p := s.panels[of]
	if p == nil {
		p = &chart.StackedBar{Name: of.name(), Axis: "latency", Of: "ways"}
		s.panels[of] = p
	}
	return p
}

// add takes the hops of messages: those of each follow the path as a whole, and are added with the next message.
func (s *stackedBars) add(group string, instances []analyze.PathHopInstance) error {
	for i := range instances {
		hop := &instances[i]
		if hop.Hop == 0 {
			s.flush(group)
			s.path, s.begin = hop.Path, hop.Begin
			continue
		}
		s.hops = append(s.hops, hop.Latency.Value)
	}
	return nil
}

// flush adds the message whose hops have come.
func (s *stackedBars) flush(group string) {
	if len(s.hops) > 0 {
		s.panel(group, s.path).Add(s.begin, s.hops)
		s.hops = s.hops[:0]
	}
}

func (s *stackedBars) end(group string, rows []analyze.PathHop) {
	s.flush(group)
	for i := range rows {
		row := &rows[i]
		p := s.panel(group, row.Path)
		switch {
		case row.Hop > 0:
			if row.Hop > len(p.Parts) {
				p.Parts = append(p.Parts, report.Printable(string(row.Kind)+" "+row.Name))
			}
			continue
		case len(p.Parts) == 0:
			s.ordered = append(s.ordered, p)
		}
		p.Missing = addMissing(p.Missing, []chart.Missing{{Count: row.Dropped, What: "dropped"}})
	}
}

func (s *stackedBars) figure() *chart.Figure {
	return &chart.Figure{Title: "latency of paths by hop", Panels: s.ordered}
}

// messageFlows gathers the ways of messages, a panel for each path.
type messageFlows struct {
	panels  map[pathPanel]*flowPanel
	ordered []chart.Panel
}

type flowPanel struct {
	chart.MessageFlow
	begun, messages uint64 // that set out, and that are drawn
}

func newMessageFlows() charted[analyze.PathHop, analyze.PathFlow] {
	m := &messageFlows{panels: make(map[pathPanel]*flowPanel)}
	return charted[analyze.PathHop, analyze.PathFlow]{m.add, m.end, m.figure}
}

func (m *messageFlows) panel(group, path string) *flowPanel {
	of := pathPanel{group, path}
	p := m.panels[of]
	if p == nil {
		p = new(flowPanel)
		p.Name = of.name()
		m.panels[of] = p
	}
	return p
}

// flowEnds are how the fates of messages are drawn.
var flowEnds = map[analyze.Fate]chart.FlowEnd{
	analyze.Received: chart.Arrived, analyze.Lost: chart.Lost, analyze.Unused: chart.Lost, analyze.Open: chart.Uncertain, analyze.Unknown: chart.Uncertain,
}

func (m *messageFlows) add(group string, flows []analyze.PathFlow) error {
	for i := range flows {
		p := m.panel(group, flows[i].Path)
		if !flows[i].Again {
			p.messages++
		}
		if err := p.Add(flows[i].Times, flowEnds[flows[i].Fate]); err != nil {
			return err
		}
	}
	return nil
}

func (m *messageFlows) end(group string, rows []analyze.PathHop) {
	for i := range rows {
		row := &rows[i]
		p := m.panel(group, row.Path)
		switch {
		case row.Hop > 0:
			if row.Hop > len(p.Hops) {
				p.Hops = append(p.Hops, report.Printable(row.Name))
			}
			continue
		case len(p.Hops) == 0:
			m.ordered = append(m.ordered, &p.MessageFlow)
		}
		p.begun += row.Messages
		p.Missing = []chart.Missing{{Count: p.begun - p.messages, What: "messages of which nothing more is known"}}
	}
}

func (m *messageFlows) figure() *chart.Figure {
	return &chart.Figure{Title: "message flow", Panels: m.ordered}
}
