// Command columnbytes prints what each column of a dataset takes on disk: the bytes of its pages, a row, and its share
// of the table. What another recorder of the same programs wrote is compared with it.
//
// usage: columnbytes [-beside WHO,BYTES,CALLBACKS]... DATASET
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/caret-bpf/caret-bpf/trace"
)

func main() {
	var others []recording
	flag.Func("beside", "what another recorder wrote: `WHO,BYTES,CALLBACKS`", func(text string) error {
		other, err := parseRecording(text)
		others = append(others, other)
		return err
	})
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: columnbytes [-beside WHO,BYTES,CALLBACKS]... DATASET")
		os.Exit(2)
	}
	if err := describe(os.Stdout, flag.Arg(0), others); err != nil {
		fmt.Fprintln(os.Stderr, "columnbytes:", err)
		os.Exit(1)
	}
}

// merged are the tables whose rows are merged records.
var merged = []string{trace.TableCallback, trace.TablePublish, trace.TableTake, trace.TableEnqueue}

func describe(out io.Writer, dir string, others []recording) error {
	dataset, err := trace.Open(dir)
	if err != nil {
		return err
	}
	tables, err := dataset.Tables()
	if err != nil {
		return err
	}
	var own recording
	var rows int64
	for _, name := range tables {
		sizes, err := measure(dataset, name)
		if err != nil {
			return err
		}
		if sizes.rows == 0 {
			continue
		}
		if slices.Contains(merged, name) {
			rows += sizes.rows
			own.bytes += sizes.files
			if name == trace.TableCallback {
				own.callbacks = sizes.rows
			}
			if err := sizes.print(out); err != nil {
				return err
			}
		}
	}
	if rows == 0 {
		return fmt.Errorf("%s has no merged records", dir)
	}
	each := float64(own.bytes) / float64(rows)
	fmt.Fprintf(out, "%s: %d merged records, %.2f bytes each\n", dir, rows, each)
	for _, other := range others {
		times := other.times(own)
		fmt.Fprintf(out, "%s %s: %.2f bytes a merged record, %.1f times as many\n", dir, other.who, times*each, times)
	}
	return nil
}

// tableSizes is what a table takes on disk, in bytes.
type tableSizes struct {
	name    string
	rows    int64
	files   int64 // footers and indexes included
	columns []columnSize
}

type columnSize struct {
	name  string
	bytes int64
}

func measure(dataset *trace.Dataset, table string) (*tableSizes, error) {
	segments, _, err := dataset.Segments(table)
	if err != nil {
		return nil, err
	}
	sizes := &tableSizes{name: table}
	for _, segment := range segments {
		sizes.files += segment.Bytes
	}
	groups, err := trace.Groups(context.Background(), dataset, table)
	if err != nil {
		return nil, err
	}
	for _, column := range trace.TableByName(table).Columns {
		sizes.columns = append(sizes.columns, columnSize{name: column.Name})
	}
	for _, group := range groups {
		sizes.rows += group.Rows()
		for i := range sizes.columns {
			sizes.columns[i].bytes += group.StoredBytes(sizes.columns[i].name)
		}
	}
	slices.SortStableFunc(sizes.columns, func(a, b columnSize) int { return cmp.Compare(b.bytes, a.bytes) })
	return sizes, nil
}

func (s *tableSizes) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	perRow := func(bytes int64) float64 { return float64(bytes) / float64(s.rows) }
	fmt.Fprintf(w, "%s: %d rows\tbytes a row\t\n", s.name, s.rows)
	pages := int64(0)
	for _, column := range s.columns {
		pages += column.bytes
		fmt.Fprintf(w, "%s\t%.3f\t\n", column.name, perRow(column.bytes))
	}
	fmt.Fprintf(w, "footers and indexes\t%.3f\t\n", perRow(s.files-pages))
	fmt.Fprintf(w, "all\t%.3f\t\n", perRow(s.files))
	return w.Flush()
}
