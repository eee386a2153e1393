package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

// question is what the commands that ask a dataset have in common.
type question struct {
	outputFlags
	nodes, topics, callbacks []string
	processes                []int32
	fromTime, toTime         string
	last, strip              time.Duration
	series                   bool
	quiet                    *bool
}

func defineQuestion(flags *pflag.FlagSet) *question {
	q := new(question)
	flags.StringArrayVar(&q.nodes, "node", nil, "only nodes whose whole name fits the regular `EXPRESSION`; repeatable")
	flags.StringArrayVar(&q.topics, "topic", nil, "only topics and services whose whole name fits the `EXPRESSION`; repeatable")
	flags.StringArrayVar(&q.callbacks, "callback", nil, "only callbacks whose whole name or symbol fits the `EXPRESSION`; repeatable")
	flags.Int32SliceVarP(&q.processes, "process", "p", nil, "only processes with these `PIDS`")
	flags.StringVar(&q.fromTime, "from-time", "", "only what began at `TIME` or later: RFC 3339, or a duration since the begin of the recording")
	flags.StringVar(&q.toTime, "to-time", "", "only what began at `TIME` or earlier")
	flags.DurationVar(&q.last, "last", 0, "only the last `DURATION` of the recording")
	flags.DurationVar(&q.strip, "strip", 0, "without this `DURATION` at both ends of the recording")
	flags.BoolVar(&q.series, "series", false, "one row for each instance")
	q.outputFlags = defineOutputFlags(flags)
	q.quiet = quietFlag(flags)
	return q
}

func quietFlag(flags *pflag.FlagSet) *bool {
	return flags.BoolP("quiet", "q", false, "no progress and no warnings")
}

// prepare opens the datasets and makes the query.
func (q *question) prepare(ctx context.Context, c console, directories []string) (*analyze.Query, error) {
	if len(directories) == 0 {
		return nil, fmt.Errorf("%w: name a dataset, or several of one system", errUsage)
	}
	if err := q.check(); err != nil {
		return nil, err
	}
	filter, err := q.filter()
	if err != nil {
		return nil, err
	}
	var datasets []*trace.Dataset
	for _, directory := range directories {
		d, err := trace.Open(directory)
		if err != nil {
			return nil, err
		}
		datasets = append(datasets, d)
	}
	collectSeldom(c)
	query, err := analyze.NewQuery(ctx, filter, datasets...)
	if err != nil {
		return nil, err
	}
	if err := q.restrict(ctx, query); err != nil {
		return nil, err
	}
	query.Progress = newReadProgress(c.err, *q.quiet)
	return query, nil
}

// collectSeldom lets garbage grow to three times of what is in use, in place of once, unless the user has said how far: a query keeps little, makes
// much, and takes a fifth less time so. A recording, which must stay small beside a vehicle's programs, keeps Go's own measure.
func collectSeldom(c console) {
	if c.getenv("GOGC") == "" {
		debug.SetGCPercent(300)
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
	if q.last < 0 || q.strip < 0 {
		return fmt.Errorf("%w: --last and --strip take positive durations", errUsage)
	}
	if q.fromTime == "" && q.toTime == "" && q.last == 0 && q.strip == 0 {
		return nil
	}
	span, ok, err := query.TimeSpan(ctx)
	if err != nil || !ok {
		return err
	}
	from, to := span.First+int64(q.strip), span.Last-int64(q.strip)
	if q.last > 0 {
		from = max(from, span.Last-int64(q.last))
	}
	if q.fromTime != "" {
		at, err := parseTime(q.fromTime, span.First)
		if err != nil {
			return fmt.Errorf("%w: --from-time: %w", errUsage, err)
		}
		from = max(from, at)
	}
	if q.toTime != "" {
		at, err := parseTime(q.toTime, span.First)
		if err != nil {
			return fmt.Errorf("%w: --to-time: %w", errUsage, err)
		}
		to = min(to, at)
	}
	query.Restrict(trace.Some(from), trace.Some(to))
	return nil
}

// parseTime reads a point of time, or a duration since begin, as Unix nanoseconds.
func parseTime(text string, begin int64) (int64, error) {
	if since, err := time.ParseDuration(text); err == nil {
		return begin + int64(since), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999 MST"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UnixNano(), nil
		}
	}
	return 0, fmt.Errorf("%q is neither a time such as 2026-11-22T00:07:36.346Z nor a duration such as 2.5s", text)
}

// answer writes the statistics that ask returns or, with --series, the instances that it passes on.
func answer[S, I any](ctx context.Context, c console, q *question, directories []string,
	ask func(*analyze.Query, context.Context, func([]I) error) ([]S, error)) error {
	query, err := q.prepare(ctx, c, directories)
	if err != nil {
		return err
	}
	if q.series {
		err = writeSeries(c, q, func(each func([]I) error) error {
			_, err := ask(query, ctx, each)
			return err
		})
	} else {
		var rows []S
		if rows, err = ask(query, ctx, nil); err == nil {
			endProgress(c.err, *q.quiet)
			err = writeRows(c, q.outputFlags, rows)
		}
	}
	endProgress(c.err, *q.quiet)
	warn(c, *q.quiet, query.Warnings)
	return err
}

func writeSeries[I any](c console, q *question, ask func(each func([]I) error) error) error {
	w, err := rowWriter[I](c, q.outputFlags)
	if err != nil {
		return err
	}
	if err := ask(w.Write); err != nil {
		return errors.Join(err, w.Discard())
	}
	return w.Close()
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
