package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/export/perfetto"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/wholefile"
)

// viewableBytes is the size from which on a trace is too large for some browsers.
const viewableBytes = 500_000_000

// exportWindowRows is the number of rows of a window of an export. Its rows have more in them than those of other
// queries, so fewer are held at a time. A row group has twice as many.
const exportWindowRows = 1 << 16

// exportGarbage is to what part of the memory in use garbage grows, in percent. An export uses its memory again and
// makes little: with three times as much it takes a third more memory, and saves 3 % of the time.
const exportGarbage = 100

func exportPerfettoCommand() command {
	return command{
		name: "perfetto", arguments: "DATASET -o FILE [flags]", summary: "a trace for ui.perfetto.dev and trace_processor",
		examples: []string{
			"caret-bpf export perfetto rec -o trace.pftrace",
			"caret-bpf export perfetto rec -o trace.pftrace --from /points --to /control --last 10s",
			"caret-bpf export perfetto rec -o - --topic /points --compression deflate >trace.pftrace",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			e := perfettoExport{question: &question{of: "callback, publish or take"}}
			flags.StringVarP(&e.path, "output", "o", "", "write to this `FILE`; - is standard output")
			flags.StringVar(&e.compression, "compression", string(perfetto.Zstd), "`HOW` packets are compressed: zstd, which Perfetto reads since v58; deflate, which older ones read, too; or none")
			flags.BoolVar(&e.taskStates, "task-states", false, "also write what threads did as states of the kernel's scheduler, where that is known: SQL has them in thread_state and sched (record --sched=full); not with --node and --topic")
			e.defineNames(flags)
			e.definePlaces(flags)
			e.quiet = quietFlag(flags)
			e.paths = definePathFlags(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				return e.run(ctx, c, arguments)
			}
		},
	}
}

// perfettoExport is what the flags say of an export.
type perfettoExport struct {
	*question
	path, compression string
	taskStates        bool
	paths             *pathFlags
}

func (e *perfettoExport) run(ctx context.Context, c console, arguments []string) error {
	switch {
	case len(arguments) != 1:
		return fmt.Errorf("%w: name one dataset", errUsage)
	case e.path == "":
		return fmt.Errorf("%w: name the file to write with -o", errUsage)
	case !slices.Contains(perfetto.Compressions, perfetto.Compression(e.compression)):
		return fmt.Errorf("%w: --compression is zstd, deflate or none", errUsage)
	case e.path == "-" && c.out.terminal() != nil:
		return fmt.Errorf("%w: a trace is not for a terminal: name a file with -o, or redirect the output", errUsage)
	}
	filter, err := e.filter()
	if err != nil {
		return err
	}
	d, err := trace.Open(trace.Locate(arguments[0]))
	if err != nil {
		return err
	}
	if e.taskStates && len(filter.Nodes)+len(filter.Topics) > 0 {
		return fmt.Errorf("%w: --task-states are of threads, which belong to no --node and no --topic", errUsage)
	}
	query, err := e.prepare(ctx, c, filter, []*trace.Dataset{d})
	if err != nil {
		return err
	}
	query.WindowRows = exportWindowRows
	collectAt(c, exportGarbage)
	options := perfetto.Options{Compression: perfetto.Compression(e.compression), PathOptions: e.paths.options(), TaskStates: e.taskStates}
	if len(e.paths.paths) > 0 || e.paths.from != "" || e.paths.to != "" {
		if options.Paths, err = e.paths.find(ctx, query); err != nil {
			return err
		}
	}
	summary, err := e.write(ctx, c, d, query, options)
	endProgress(c.err, *e.quiet)
	warn(c, *e.quiet, query.Warnings)
	if err != nil {
		return err
	}
	e.tell(c, query, &summary)
	return nil
}

// write writes the trace, to a file that is whole or not there. What has nothing in it is not written.
func (e *perfettoExport) write(ctx context.Context, c console, d *trace.Dataset, query *analyze.Query, options perfetto.Options) (summary perfetto.Summary, err error) {
	if e.path == "-" {
		return e.writeTo(ctx, c, rawOutput{c.out}, d, query, options)
	}
	file, err := wholefile.Create(e.path, 0o640, c.caller)
	if err != nil {
		return summary, fmt.Errorf("write trace: %w", err)
	}
	buffer := bufio.NewWriterSize(file, chartBytes)
	summary, err = e.writeTo(ctx, c, buffer, d, query, options)
	if err = errors.Join(err, buffer.Flush()); err != nil {
		return summary, errors.Join(err, file.Discard())
	}
	if err := file.Commit(); err != nil {
		return summary, fmt.Errorf("write trace: %w", err)
	}
	return summary, nil
}

func (e *perfettoExport) writeTo(ctx context.Context, c console, out io.Writer, d *trace.Dataset, query *analyze.Query, options perfetto.Options) (perfetto.Summary, error) {
	limit := &sizeWarner{out: out, left: viewableBytes, warn: func() {
		warn(c, *e.quiet, []string{fmt.Sprintf("the trace is larger than %d MB: a browser may not open it; --last, --from-time, --to-time, --node, --topic and --process make it smaller", viewableBytes/1_000_000)})
	}}
	summary, err := perfetto.Write(ctx, limit, d, query, options)
	if err != nil {
		return summary, err
	}
	var misfits []string
	for _, m := range query.Misfits() {
		misfits = append(misfits, explain(m))
	}
	if len(misfits) > 0 && summary.IsEmpty() {
		return summary, withMisfits(analyze.ErrNothingSelected, misfits)
	}
	warn(c, *e.quiet, misfits)
	return summary, nil
}

// tell says on the side what the trace has.
func (e *perfettoExport) tell(c console, query *analyze.Query, summary *perfetto.Summary) {
	if summary.Overlapping > 0 {
		warn(c, *e.quiet, []string{fmt.Sprintf("%d callbacks overlap others on their threads: they have tracks of their own", summary.Overlapping)})
	}
	if *e.quiet {
		return
	}
	if summary.IsEmpty() {
		fmt.Fprintln(c.err, e.describeNothing())
	}
	where := "wrote " + report.Printable(e.path)
	if e.path == "-" {
		where = "wrote"
	}
	states := ""
	if e.taskStates {
		states = fmt.Sprintf(" %d states of threads,", summary.TaskStates)
	}
	fmt.Fprintf(c.err, "%s: %d callbacks, %d publishes, %d polled takes, %d messages from publish to callback or take, %d calls of services, %d transitions, %d waits, %d times off the CPU,%s %d ways along paths; %.1f MB\n",
		where, summary.Callbacks, summary.Publishes, summary.Polls, summary.Flows, summary.Calls, summary.Transitions, summary.Waits, summary.TimesOffCPU, states, summary.Ways, float64(summary.Bytes)/1e6)
}

// sizeWarner warns once when much was written.
type sizeWarner struct {
	out  io.Writer
	left int64
	warn func()
}

func (w *sizeWarner) Write(b []byte) (int, error) {
	n, err := w.out.Write(b)
	if w.left >= 0 && w.left < int64(n) {
		w.warn()
	}
	w.left -= int64(n)
	return n, err
}
