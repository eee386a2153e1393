package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"

	"github.com/caret-bpf/caret-bpf/live"
	"github.com/caret-bpf/caret-bpf/report"
)

// Frame is what is shown at a time.
type Frame struct {
	// Status is one line on the recording as a whole.
	Status string
	live.Snapshot
}

// keys is the last line.
const keys = "q quit  1-4 tables  <> sort by  r reverse  / filter  space pause  ↑↓ scroll"

// headLines are the lines above the table: the status, the span, the tables and the order.
const headLines = 3

// display is what the terminal shows, and how.
type display struct {
	screen  tcell.Screen
	views   []*view
	shown   int
	frame   *Frame // nil until there is one
	problem string // why there is no newer one
	message string // the last thing that the recording said
	filter  string
	typing  bool // the filter is being typed
	paused  bool
	top     int // the first row that is shown
}

func newDisplay(screen tcell.Screen) (*display, error) {
	views, err := newViews()
	return &display{screen: screen, views: views}, err
}

func (d *display) view() *view { return d.views[d.shown] }

// draw shows all that there is.
func (d *display) draw() error {
	width, height := d.screen.Size()
	d.screen.Clear()
	defer d.screen.Show()
	plain, strong := tcell.StyleDefault, tcell.StyleDefault.Bold(true)
	line := func(y int, text string, style tcell.Style) {
		if y < height {
			d.screen.PutStrStyled(0, y, report.Printable(text), style)
		}
	}
	line(height-1, d.foot(), plain.Dim(true))
	if d.frame == nil {
		line(0, "waiting for the recording", strong)
		line(1, d.problem, plain)
		return nil
	}
	line(0, d.frame.Status, strong)
	span, isWarning := d.span()
	if isWarning {
		line(1, span, plain.Bold(true).Foreground(color.Yellow))
	} else {
		line(1, span, plain)
	}
	line(2, d.tabs(), plain)
	lines, missing, err := d.view().draw(&d.frame.Snapshot, d.view().order, d.filter, width)
	if err != nil {
		return err
	}
	line(headLines, lines[0], plain.Reverse(true))
	rows := lines[1:]
	room := max(1, height-headLines-2)
	d.top = max(0, min(d.top, len(rows)-room))
	for i, text := range rows[d.top:min(len(rows), d.top+room)] {
		line(headLines+1+i, text, plain)
	}
	if len(rows) == 0 {
		line(headLines+1, d.nothing(), plain)
	}
	if missing != "" && !d.typing && d.message == "" {
		line(height-1, missing+"  "+keys, plain.Dim(true))
	}
	return nil
}

// foot is the last line.
func (d *display) foot() string {
	switch {
	case d.typing:
		return "filter: " + d.filter + "_"
	case d.message != "":
		return d.message
	}
	return keys
}

// span says what time the numbers are of, and what is wrong with them.
func (d *display) span() (text string, isWarning bool) {
	f := d.frame
	clock := func(ns int64) string { return time.Unix(0, ns).Format("15:04:05.0") }
	text = fmt.Sprintf("%s to %s (%.1f s)", clock(f.BeginNs), clock(f.EndNs), float64(f.EndNs-f.BeginNs)/1e9)
	var wrong []string
	if d.problem != "" {
		wrong = append(wrong, d.problem)
	}
	if d.paused {
		wrong = append(wrong, "paused")
	}
	if f.Lost > 0 {
		wrong = append(wrong, report.Count(f.Lost)+" records were lost: rates are too low")
	}
	if f.Unarmed > 0 {
		wrong = append(wrong, fmt.Sprintf("%d files were not probed for a time", f.Unarmed))
	}
	if f.Beyond > 0 {
		wrong = append(wrong, report.Count(f.Beyond)+" are left out so far: there was too much")
	}
	if len(wrong) == 0 {
		return text, false
	}
	return text + "  " + strings.Join(wrong, "; "), true
}

// tabs names the tables, the one that is shown in brackets, and how it is sorted and filtered.
func (d *display) tabs() string {
	var all []string
	for i, v := range d.views {
		name := fmt.Sprintf("%d %s", i+1, v.name)
		if i == d.shown {
			name = "[" + name + "]"
		}
		all = append(all, name)
	}
	direction := ""
	if d.view().order.Reversed {
		direction = " reversed"
	}
	text := strings.Join(all, "  ") + "   sorted by " + d.view().order.Column + direction
	if d.filter != "" {
		text += "   filter " + d.filter
	}
	return text
}

// nothing says why a table is empty.
func (d *display) nothing() string {
	switch {
	case d.filter != "":
		return "nothing matches the filter"
	case d.view().name == "paths" && len(d.frame.Paths) == 0:
		return "name paths with --path 'from=REGEXP to=REGEXP'"
	}
	return "nothing happened"
}
