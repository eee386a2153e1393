package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// attributeFlags choose and group datasets by what was noted of the recordings.
type attributeFlags struct {
	only []string
	by   string
}

// defineAttributeFlag is for what takes all datasets for one system.
func defineAttributeFlag(flags *pflag.FlagSet) *attributeFlags {
	f := new(attributeFlags)
	flags.StringArrayVar(&f.only, "attribute", nil, "only datasets whose recording was given `KEY=VALUE` (record --attribute); repeatable: all have to fit")
	return f
}

func defineAttributeFlags(flags *pflag.FlagSet) *attributeFlags {
	f := defineAttributeFlag(flags)
	flags.StringVar(&f.by, "by", "", "answer separately for each value of the attribute `KEY`, which the column group shows")
	return f
}

// datasetGroup are datasets that are taken for one system.
type datasetGroup struct {
	key, value string // the attribute that they have in common; "" without one
	datasets   []*trace.Dataset
}

// attributesOf are those of a recording. If its session.json is damaged or lost, the table has them.
func attributesOf(ctx context.Context, d *trace.Dataset) (map[string]string, error) {
	if d.Session() != nil {
		return d.Session().Attributes, nil
	}
	attributes := map[string]string{}
	err := trace.Scan(ctx, d, trace.TableAttribute, func(rows []trace.Attribute) error {
		for _, row := range rows {
			attributes[row.Key] = row.Value
		}
		return nil
	})
	return attributes, err
}

// open opens datasets and chooses among them and groups them, as group does.
func (f *attributeFlags) open(ctx context.Context, directories []string) ([]datasetGroup, error) {
	if err := refuseRepeated(directories); err != nil {
		return nil, err
	}
	datasets, err := openAll(directories)
	if err != nil {
		return nil, err
	}
	return f.group(ctx, datasets)
}

// refuseRepeated refuses to take one dataset for two, whose events would count twice: `rec/*` means it several times.
func refuseRepeated(directories []string) error {
	known := make([]os.FileInfo, len(directories))
	for i, directory := range directories {
		info, err := os.Stat(trace.Locate(directory))
		if err != nil {
			continue // opening it tells
		}
		same := slices.IndexFunc(known, func(former os.FileInfo) bool { return former != nil && os.SameFile(former, info) })
		if same >= 0 {
			return fmt.Errorf("%w: %s and %s are one dataset: name it once", errUsage, directories[same], directory)
		}
		known[i] = info
	}
	return nil
}

func openAll(directories []string) ([]*trace.Dataset, error) {
	var datasets []*trace.Dataset
	for _, directory := range directories {
		d, err := trace.Open(trace.Locate(directory))
		if err != nil {
			return nil, err
		}
		datasets = append(datasets, d)
	}
	return datasets, nil
}

// group chooses among datasets and groups them, in the order of the values. Without a key there is one group.
func (f *attributeFlags) group(ctx context.Context, datasets []*trace.Dataset) ([]datasetGroup, error) {
	if len(f.only) == 0 && f.by == "" {
		return []datasetGroup{{datasets: datasets}}, nil
	}
	of := make(map[*trace.Dataset]map[string]string, len(datasets))
	for _, d := range datasets {
		var err error
		if of[d], err = attributesOf(ctx, d); err != nil {
			return nil, err
		}
	}
	for _, text := range f.only {
		wanted, err := trace.ParseAttribute(text)
		if err != nil {
			return nil, fmt.Errorf("%w: --attribute: %w", errUsage, err)
		}
		datasets = slices.DeleteFunc(slices.Clone(datasets), func(d *trace.Dataset) bool { return of[d][wanted.Key] != wanted.Value })
	}
	if len(datasets) == 0 {
		return nil, fmt.Errorf("%w: no dataset has the attributes %s; `caret-bpf info` shows those of a dataset",
			analyze.ErrNothingSelected, strings.Join(f.only, ", "))
	}
	if f.by == "" {
		return []datasetGroup{{datasets: datasets}}, nil
	}
	if err := trace.CheckAttributeKey(f.by); err != nil {
		return nil, fmt.Errorf("%w: --by: %w", errUsage, err)
	}
	var groups []datasetGroup
	for _, d := range datasets {
		value := of[d][f.by]
		i := slices.IndexFunc(groups, func(g datasetGroup) bool { return g.value == value })
		if i < 0 {
			i = len(groups)
			groups = append(groups, datasetGroup{key: f.by, value: value})
		}
		groups[i].datasets = append(groups[i].datasets, d)
	}
	slices.SortFunc(groups, func(a, b datasetGroup) int { return strings.Compare(a.value, b.value) })
	return groups, nil
}

// warnings say of which group they are.
func (g datasetGroup) warnings(of []string) []string {
	if g.key == "" {
		return of
	}
	var named []string
	for _, text := range of {
		named = append(named, fmt.Sprintf("%s=%s: %s", g.key, g.value, text))
	}
	return named
}

// grouped is a row of the answer for a group.
type grouped[T any] struct {
	Group string `report:"group"`
	Row   T      `report:",inline"`
}

// groupWriter writes rows, and with --by of which group they are.
type groupWriter[T any] struct {
	write          func(group datasetGroup, rows []T) error
	close, discard func() error
	// nothing, if not nil, takes the place of close, before discard, where nothing was written.
	nothing func() error
}

func newGroupWriter[T any](c console, q *question) (groupWriter[T], error) {
	if q.attributes.by == "" {
		w, err := rowWriter[T](c, q.outputFlags)
		if err != nil {
			return groupWriter[T]{}, err
		}
		return groupWriter[T]{write: func(_ datasetGroup, rows []T) error { return w.Write(rows) }, close: w.Close, discard: w.Discard}, nil
	}
	w, err := rowWriter[grouped[T]](c, q.outputFlags)
	if err != nil {
		return groupWriter[T]{}, err
	}
	var wrapped []grouped[T]
	write := func(group datasetGroup, rows []T) error {
		wrapped = wrapped[:0]
		for _, row := range rows {
			wrapped = append(wrapped, grouped[T]{group.value, row})
		}
		return w.Write(wrapped)
	}
	return groupWriter[T]{write: write, close: w.Close, discard: w.Discard}, nil
}

// limitGroups makes a writer write so many rows of each group at most, and say how many it has left out, as the flags
// say. Where nothing is written to a table, a sentence takes its place.
func limitGroups[T any](c console, q *question, w groupWriter[T]) groupWriter[T] {
	limiting := w
	written, left := make(map[string]int), 0
	limiting.write = func(group datasetGroup, rows []T) error {
		kept, more := limited(q.orderFlags, written[group.value], rows)
		written[group.value] += len(kept)
		left += more
		return w.write(group, kept)
	}
	limiting.close = func() error {
		err := w.close()
		q.tellLeft(c, *q.quiet, left)
		return err
	}
	if q.isTable() {
		limiting.nothing = func() error { return q.sayNothing(c) }
	}
	return limiting
}
