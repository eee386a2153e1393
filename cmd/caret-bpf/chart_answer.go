package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/chart"
	"github.com/caret-bpf/caret-bpf/report"
)

// charted gathers an answer to draw it. add gets instances, and end the rows of statistics, which come after them. The
// group is the value of --by.
type charted[S, I any] struct {
	add    func(group string, instances []I) error
	end    func(group string, rows []S)
	figure func() *chart.Figure
}

// part is some of an answer: instances, or the rows of statistics.
type part[S, I any] struct {
	instances []I
	rows      []S
}

// answerCharted draws the answer that ask gives.
func answerCharted[S, I any](ctx context.Context, c console, q *question, f *chartFlags, directories []string,
	ask func(*analyze.Query, context.Context, func([]I) error) ([]S, error), gathered charted[S, I]) error {
	if _, err := f.choose(q); err != nil {
		return err
	}
	newWriter := func() (groupWriter[part[S, I]], error) {
		files, err := f.create(c)
		if err != nil {
			return groupWriter[part[S, I]]{}, err
		}
		write := func(group datasetGroup, parts []part[S, I]) error {
			for _, p := range parts {
				if err := gathered.add(group.name(), p.instances); err != nil {
					return tooMuch(err, "take less time (--last, or --from-time and --to-time), or fewer things (--node, --topic, --callback)")
				}
				gathered.end(group.name(), p.rows)
			}
			return nil
		}
		nothing := func() error {
			if len(files) == 0 {
				return q.sayNothing(c)
			}
			return fmt.Errorf("%w: %s", analyze.ErrNothingSelected, q.describeNothing())
		}
		return groupWriter[part[S, I]]{write: write, close: func() error { return draw(c, gathered.figure(), files) }, discard: files.discard, nothing: nothing}, nil
	}
	return answerInto(ctx, c, q, directories, newWriter, func(query *analyze.Query, write func([]part[S, I]) error) error {
		rows, err := ask(query, ctx, func(instances []I) error { return write([]part[S, I]{{instances: instances}}) })
		if err != nil || len(rows) == 0 {
			return err
		}
		return write([]part[S, I]{{rows: rows}})
	})
}

// tooMuch adds a remedy to an error of too much to draw.
func tooMuch(err error, remedy string) error {
	if !errors.Is(err, chart.ErrTooMuch) {
		return err
	}
	return fmt.Errorf("%w: %w: %s", errUsage, err, remedy)
}

// name tells the group from others in a drawing; "" if there are none.
func (g datasetGroup) name() string {
	if g.key == "" {
		return ""
	}
	return g.key + "=" + g.value
}

// draw shows a figure in the files or, if there are none, on the console.
func draw(c console, figure *chart.Figure, files chartFiles) error {
	if len(files) > 0 {
		return tooMuch(files.write(figure), "choose with --node, --topic or --callback, take --limit, or draw in the terminal")
	}
	width := c.out.screen.Width
	if width == 0 {
		width = plainWidth
	}
	return figure.Text(c.out, width)
}

// plainWidth is how many columns drawings have where no terminal shows them.
const plainWidth = 80

// answerOrChart answers with rows, or draws the values of the answer where flags ask for it: a panel for each row, in
// the order of the rows, and as many as the flags say.
func answerOrChart[S, I any, L comparable](ctx context.Context, c console, q *question, f *chartFlags, directories []string, rank ranking[S],
	ask func(*analyze.Query, context.Context, func([]I) error) ([]S, error), values valued[S, I, L]) error {
	kind, err := f.choose(q)
	if err != nil {
		return err
	}
	if kind == noChart {
		return answer(ctx, c, q, directories, rank, ask)
	}
	by, sorts, err := order[S](q.orderFlags, rank.by)
	if err != nil {
		return err
	}
	left := 0
	arranged := func(query *analyze.Query, ctx context.Context, each func([]I) error) ([]S, error) {
		rows, err := ask(query, ctx, each)
		if err == nil && sorts {
			err = report.Sort(rows, by, rank.together)
		}
		kept, more := limited(q.orderFlags, 0, rows)
		left += more
		return kept, err
	}
	if err := answerCharted(ctx, c, q, f, directories, arranged, chartValues(kind, values)); err != nil {
		return err
	}
	q.tellLeft(c, *q.quiet, left)
	return nil
}
