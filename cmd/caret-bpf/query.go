package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

// question is what the commands that ask a dataset have in common.
type question struct {
	outputFlags
	*orderFlags
	// of is what the rows of its answers tell of, such as "call of a service".
	of                       string
	nodes, topics, callbacks []string
	processes                []int32
	time                     *timeFlags
	series                   bool
	quiet                    *bool
	attributes               *attributeFlags
	// clocks is nil where the clocks of several hosts are as recorded.
	clocks *clockFlags
}

// defineQuestion is for a command whose answers tell of something: what a recording may have none of.
func defineQuestion(flags *pflag.FlagSet, of string) *question {
	q := &question{of: of}
	q.defineNames(flags)
	flags.StringArrayVar(&q.callbacks, "callback", nil, "only callbacks whose whole name or symbol fits the `EXPRESSION`; repeatable")
	q.definePlaces(flags)
	q.attributes = defineAttributeFlags(flags)
	q.clocks = defineClockFlags(flags)
	flags.BoolVar(&q.series, "series", false, "one row for each instance")
	q.orderFlags = defineOrderFlags(flags)
	q.outputFlags = defineOutputFlags(flags)
	q.quiet = quietFlag(flags)
	return q
}

// defineNames defines the filters by names of nodes and topics.
func (q *question) defineNames(flags *pflag.FlagSet) {
	flags.StringArrayVar(&q.nodes, "node", nil, "only nodes whose whole name fits the regular `EXPRESSION`; repeatable")
	flags.StringArrayVar(&q.topics, "topic", nil, "only topics and services whose whole name fits the `EXPRESSION`; repeatable")
}

// definePlaces defines the filters by process and time.
func (q *question) definePlaces(flags *pflag.FlagSet) {
	flags.Int32SliceVarP(&q.processes, "process", "p", nil, "only processes with these `PIDS`")
	q.time = defineTimeFlags(flags)
}

func quietFlag(flags *pflag.FlagSet) *bool {
	return flags.BoolP("quiet", "q", false, "no progress and no warnings")
}

// open opens the datasets that the question is about, in the groups that are to be answered one by one.
func (q *question) open(ctx context.Context, directories []string) ([]datasetGroup, error) {
	if len(directories) == 0 {
		return nil, fmt.Errorf("%w: name a dataset, or several of one system", errUsage)
	}
	if err := q.check(); err != nil {
		return nil, err
	}
	return q.attributes.open(ctx, directories)
}

// prepare makes the query to datasets.
func (q *question) prepare(ctx context.Context, c console, filter analyze.Filter, datasets []*trace.Dataset) (*analyze.Query, error) {
	collectSeldom(c)
	clocks, err := q.clocks.options()
	if err != nil {
		return nil, err
	}
	query, err := analyze.NewQuery(ctx, filter, datasets...)
	if err != nil {
		return nil, err
	}
	query.Progress = newReadProgress(c.err, *q.quiet)
	if err := query.AlignClocks(ctx, clocks); err != nil {
		return nil, err
	}
	return query, q.restrict(ctx, query)
}

// collectSeldom lets garbage grow to three times of what is in use, in place of once: a query keeps little, makes much,
// and takes a fifth less time so. A recording, which must stay small beside a vehicle's programs, keeps Go's own
// measure.
func collectSeldom(c console) { collectAt(c, 300) }

// collectAt lets garbage grow to that percentage of what is in use, unless the user has said how far.
func collectAt(c console, percent int) {
	if c.getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

func (q *question) filter() (f analyze.Filter, err error) {
	for _, list := range []struct {
		flag     string
		texts    []string
		patterns *[]*regexp.Regexp
	}{{"--node", q.nodes, &f.Nodes}, {"--topic", q.topics, &f.Topics}, {"--callback", q.callbacks, &f.Callbacks}} {
		for _, text := range list.texts {
			pattern, err := regexp.Compile(text)
			if err != nil {
				return f, fmt.Errorf("%w: %s: %w", errUsage, list.flag, err)
			}
			pattern.Longest()
			*list.patterns = append(*list.patterns, pattern)
		}
	}
	f.Processes = q.processes
	return f, nil
}

// restrict bounds the query by the flags about time.
func (q *question) restrict(ctx context.Context, query *analyze.Query) error {
	part, given, err := q.part(ctx, query)
	if err == nil && given {
		query.Restrict(trace.Some(part.First), trace.Some(part.Last))
	}
	return err
}

// part is the part of what was recorded that the flags about time ask for; given is false where that is all.
func (q *question) part(ctx context.Context, query *analyze.Query) (part trace.Span, given bool, err error) {
	if given, err = q.time.check(); err != nil || !given {
		return part, false, err
	}
	span, ok, err := query.TimeSpan(ctx)
	if err != nil || !ok {
		return part, false, err
	}
	part, err = q.time.within(span)
	return part, true, err
}

// answer writes the statistics that ask returns, in the order of the flags or by the ranking, or, with --series, the
// instances that it passes on, in order of time.
func answer[S, I any](ctx context.Context, c console, q *question, directories []string, rank ranking[S],
	ask func(*analyze.Query, context.Context, func([]I) error) ([]S, error)) error {
	by, sorts, err := order[S](q.orderFlags, rank.by)
	if q.series && q.sort != "" {
		err = fmt.Errorf("%w: --series is in order of time: it goes without --sort", errUsage)
	}
	if err != nil {
		return err
	}
	if q.series {
		return answerEach(ctx, c, q, directories, func(query *analyze.Query, write func([]I) error) error {
			_, err := ask(query, ctx, write)
			return err
		})
	}
	return answerEach(ctx, c, q, directories, func(query *analyze.Query, write func([]S) error) error {
		rows, err := ask(query, ctx, nil)
		if err != nil {
			return err
		}
		if sorts {
			if err := rank.arrange(rows, by, q.sort != ""); err != nil {
				return err
			}
		}
		endProgress(c.err, *q.quiet)
		return write(rows)
	})
}

// answerEach writes the rows that ask passes on, group by group, as many as the flags say.
func answerEach[T any](ctx context.Context, c console, q *question, directories []string,
	ask func(query *analyze.Query, write func([]T) error) error) error {
	return answerInto(ctx, c, q, directories, func() (groupWriter[T], error) {
		w, err := newGroupWriter[T](c, q)
		if err != nil {
			return w, err
		}
		return limitGroups(c, q, w), nil
	}, ask)
}

// answerInto passes what ask passes on to a writer, group by group. The writer is made when it is certain that there is
// something to ask.
func answerInto[T any](ctx context.Context, c console, q *question, directories []string,
	newWriter func() (groupWriter[T], error), ask func(query *analyze.Query, write func([]T) error) error) error {
	filter, err := q.filter()
	if err != nil {
		return err
	}
	groups, err := q.open(ctx, directories)
	if err != nil {
		return err
	}
	// Before anything is written: there may be nothing to answer.
	queries := make([]*analyze.Query, len(groups))
	for i, group := range groups {
		if queries[i], err = q.prepare(ctx, c, filter, group.datasets); err != nil {
			return err
		}
	}
	w, err := newWriter()
	if err != nil {
		return err
	}
	misfitting := make(map[string]int) // in so many groups
	answered := false
	for i, group := range groups {
		err := ask(queries[i], func(rows []T) error {
			answered = answered || len(rows) > 0
			return w.write(group, rows)
		})
		for _, m := range queries[i].Misfits() {
			misfitting[explain(m)]++
		}
		endProgress(c.err, *q.quiet)
		warn(c, *q.quiet, group.warnings(queries[i].Warnings))
		if errors.Is(err, analyze.ErrNothingSelected) {
			err = withMisfits(err, slices.Sorted(maps.Keys(misfitting)))
		}
		if err != nil {
			return errors.Join(err, w.discard())
		}
	}
	maps.DeleteFunc(misfitting, func(_ string, in int) bool { return in < len(groups) })
	misfits := slices.Sorted(maps.Keys(misfitting))
	if len(misfits) > 0 && !answered {
		return errors.Join(withMisfits(analyze.ErrNothingSelected, misfits), w.discard())
	}
	warn(c, *q.quiet, misfits)
	if !answered && w.nothing != nil {
		return errors.Join(w.nothing(), w.discard())
	}
	return w.close()
}

// sayNothing prints that there is no answer.
func (q *question) sayNothing(c console) error {
	_, err := fmt.Fprintln(c.out, q.describeNothing())
	return err
}

// describeNothing says that there is no answer.
func (q *question) describeNothing() string {
	restricted, _ := q.time.check() // open has checked it
	if restricted || len(q.nodes)+len(q.topics)+len(q.callbacks)+len(q.processes) > 0 {
		return fmt.Sprintf("no %s was recorded that fits the filters", q.of)
	}
	return fmt.Sprintf("no %s was recorded", q.of)
}

// withMisfits adds to an error which filters fit nothing.
func withMisfits(err error, misfits []string) error {
	if len(misfits) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", err, strings.Join(misfits, "; "))
}

// warn says on the side what an answer lacks.
func warn(c console, quiet bool, warnings []string) {
	if quiet {
		return
	}
	for _, warning := range warnings {
		fmt.Fprintln(c.err, "warning:", report.Printable(strings.TrimSpace(warning)))
	}
}
