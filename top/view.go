package top

import (
	"bytes"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/live"
	"github.com/caret-bpf/caret-bpf/report"
)

// view is one of the tables.
type view struct {
	name string
	// columns are the names of its columns, by which it can be sorted.
	columns []string
	order   report.Order
	// draw makes its lines: the first one is the header. missing says what there was no room for.
	draw func(s *live.Snapshot, by report.Order, filter string, width int) (lines []string, missing string, err error)
}

// newViews returns all tables, in the order of their keys.
func newViews() ([]*view, error) {
	var all []*view
	for _, add := range []func() (*view, error){
		func() (*view, error) {
			return newView("callbacks", "load", func(s *live.Snapshot) []live.Callback { return s.Callbacks },
				func(c *live.Callback) string { return c.Node + " " + c.Callback })
		},
		func() (*view, error) {
			return newView("topics", "p99", func(s *live.Snapshot) []live.Topic { return s.Topics },
				func(t *live.Topic) string { return t.Topic + " " + t.Node })
		},
		func() (*view, error) {
			return newView("nodes", "load", func(s *live.Snapshot) []live.Node { return s.Nodes }, func(n *live.Node) string { return n.Node })
		},
		func() (*view, error) {
			return newView("paths", "p99", func(s *live.Snapshot) []live.Path { return s.Paths }, func(p *live.Path) string { return p.From + " " + p.To })
		},
	} {
		v, err := add()
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// newView is the table of some rows of a snapshot. names is what a filter is about.
func newView[T any](name, sorted string, rows func(*live.Snapshot) []T, names func(*T) string) (*view, error) {
	columns, err := report.Columns[T]()
	if err != nil {
		return nil, err
	}
	draw := func(s *live.Snapshot, by report.Order, filter string, width int) ([]string, string, error) {
		shown := slices.DeleteFunc(slices.Clone(rows(s)), func(row T) bool {
			return !strings.Contains(strings.ToLower(names(&row)), strings.ToLower(filter))
		})
		if err := report.Sort(shown, by, nil); err != nil {
			return nil, "", err
		}
		screen := report.Screen{Width: width}
		var text bytes.Buffer
		w, err := report.NewTableWriter[T](&text, &screen)
		if err == nil {
			err = w.Write(shown)
		}
		if err == nil {
			err = w.Close()
		}
		return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n"), screen.Missing(), err
	}
	return &view{name: name, columns: columns, order: report.Order{Column: sorted}, draw: draw}, nil
}

// sortByNext sorts by the column that is so many places further on.
func (v *view) sortByNext(step int) {
	at := slices.Index(v.columns, v.order.Column) + step
	v.order = report.Order{Column: v.columns[(at+len(v.columns))%len(v.columns)]}
}
