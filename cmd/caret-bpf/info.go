package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/trace"
)

// summaryRows is how many callbacks and topics a summary shows unless asked otherwise.
const summaryRows = 10

func infoCommand() command {
	return command{
		name: "info", arguments: "DATASET [flags]",
		summary: "summarize a dataset: span, rows, busiest callbacks and topics, losses",
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			asJSON := flags.Bool("json", false, "print JSON")
			rows := flags.IntP("rows", "n", summaryRows, "`NUMBER` of callbacks and topics to show")
			return func(ctx context.Context, c console, arguments []string) error {
				if len(arguments) != 1 {
					return fmt.Errorf("%w: name one dataset", errUsage)
				}
				dataset, err := trace.Open(arguments[0])
				if err != nil {
					return err
				}
				summary, err := trace.Summarize(ctx, dataset)
				if err != nil {
					return err
				}
				if *asJSON {
					return printJSON(c.out, summary)
				}
				printSummary(c.out, arguments[0], summary, *rows)
				return nil
			}
		},
	}
}

// printSummary shows at most limit callbacks and topics.
func printSummary(w io.Writer, name string, s *trace.Summary, limit int) {
	fmt.Fprintf(w, "%s: %s\n", name, describeState(s))
	if s.Span.Valid {
		from, to := time.Unix(0, s.Span.Value.First), time.Unix(0, s.Span.Value.Last)
		fmt.Fprintf(w, "%s from %s\n", to.Sub(from).Round(time.Millisecond), from.Format("2006-01-02 15:04:05.000 MST"))
	}
	if session := s.Session; session != nil {
		fmt.Fprintf(w, "host %s, Linux %s, caret-bpf %s\n", session.Host.Name, session.Host.Kernel, session.Recorder.Version)
	}
	printProcesses(w, s)
	printTables(w, s)
	printCallbacks(w, s.Callbacks, limit)
	printTopics(w, s.Topics, limit)
	printLosses(w, s)
}

func describeState(s *trace.Summary) string {
	switch {
	case s.Live:
		return "being recorded"
	case s.Killed:
		return "its recorder was killed; everything up to its last closed segments is here"
	case s.Session == nil:
		return "session.json is missing or damaged"
	case s.Session.Ending == trace.EndingError:
		return "ended by an error: " + s.Session.Error
	}
	return "complete (ended by " + string(s.Session.Ending) + ")"
}

func printProcesses(w io.Writer, s *trace.Summary) {
	var rows [][]string
	for _, p := range s.Processes {
		rows = append(rows, []string{
			strconv.Itoa(int(p.Process.PID)), orDash(p.Process.Command), orDash(p.Process.Distro), orDash(p.Process.RMWImplementation),
			formatCount(p.Callbacks), formatCount(p.Publishes), formatCount(p.Takes), formatCount(p.Enqueues),
		})
	}
	if len(rows) > 0 {
		fmt.Fprintln(w)
		printTable(w, []string{"PID>", "COMMAND", "DISTRO", "RMW", "CALLBACKS>", "PUBLISHES>", "TAKES>", "ENQUEUES>"}, rows)
	}
}

func printTables(w io.Writer, s *trace.Summary) {
	var rows [][]string
	for _, t := range s.Tables {
		if t.Rows > 0 || t.Unfinished > 0 {
			rows = append(rows, []string{t.Name, formatCount(t.Rows), formatCount(uint64(t.Bytes)), strconv.Itoa(t.Segments), strconv.Itoa(t.Unfinished)})
		}
	}
	if len(rows) > 0 {
		fmt.Fprintln(w)
		printTable(w, []string{"TABLE", "ROWS>", "BYTES>", "SEGMENTS>", "UNFINISHED>"}, rows)
	}
}

func printCallbacks(w io.Writer, callbacks []trace.CallbackSummary, limit int) {
	var rows [][]string
	for _, c := range callbacks[:min(limit, len(callbacks))] {
		of := c.TopicName
		if c.Period.Valid {
			of = formatNanoseconds(c.Period.Value)
		}
		mean := "-"
		if c.Timed > 0 {
			mean = formatNanoseconds(c.TotalTime / int64(c.Timed))
		}
		rows = append(rows, []string{
			orDash(c.NodeName), orDash(string(c.Kind)), orDash(of), formatCount(c.Count), formatNanoseconds(c.TotalTime), mean,
			formatNanoseconds(c.MaxTime), describeFunction(c),
		})
	}
	if len(rows) > 0 {
		fmt.Fprintf(w, "\nbusiest callbacks (%d of %d):\n", len(rows), len(callbacks))
		printTable(w, []string{"NODE", "KIND", "TOPIC OR PERIOD", "COUNT>", "TOTAL>", "MEAN>", "MAX>", "FUNCTION"}, rows)
	}
}

// functionWidth keeps the names of templates from breaking the table.
const functionWidth = 60

func describeFunction(c trace.CallbackSummary) string {
	if c.Symbol == "" {
		return c.Callback.String()
	}
	if name := []rune(c.Symbol); len(name) > functionWidth {
		return string(name[:functionWidth-1]) + "…"
	}
	return c.Symbol
}

func printTopics(w io.Writer, topics []trace.TopicSummary, limit int) {
	var rows [][]string
	for _, t := range topics[:min(limit, len(topics))] {
		rate := "-"
		if t.Rate.Valid {
			rate = fmt.Sprintf("%.1f/s", t.Rate.Value)
		}
		rows = append(rows, []string{orDash(t.TopicName), formatCount(t.Publishes), rate, formatCount(t.Received)})
	}
	if len(rows) > 0 {
		fmt.Fprintf(w, "\nbusiest topics (%d of %d):\n", len(rows), len(topics))
		printTable(w, []string{"TOPIC", "PUBLISHES>", "RATE>", "RECEIVED>"}, rows)
	}
}

func printLosses(w io.Writer, s *trace.Summary) {
	fmt.Fprintln(w)
	if len(s.Losses) == 0 {
		fmt.Fprintln(w, "nothing was lost")
	} else {
		var rows [][]string
		for _, loss := range s.Losses {
			rows = append(rows, []string{string(loss.Kind), string(loss.Reason), formatCount(loss.Count)})
		}
		printTable(w, []string{"LOST", "REASON", "COUNT>"}, rows)
	}
	if len(s.Incomplete) > 0 {
		var rows [][]string
		for _, i := range s.Incomplete {
			rows = append(rows, []string{i.Table, i.Status, formatCount(i.Count)})
		}
		fmt.Fprintln(w)
		printTable(w, []string{"INCOMPLETE", "STATUS", "COUNT>"}, rows)
	}
	for _, warning := range s.Warnings {
		fmt.Fprintln(w, "warning:", warning)
	}
}
