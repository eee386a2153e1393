package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

// summaryRows is how many nodes, callbacks and topics a summary shows unless asked otherwise.
const summaryRows = 10

func infoCommand() command {
	return command{
		name: "info", arguments: "DATASET [flags]",
		summary: "summarize a dataset: span, rows, tracepoints, nodes, callbacks, topics, losses, warnings",
		examples: []string{
			"caret-bpf info rec",
			"caret-bpf info rec --last 10s --rows 20",
			"caret-bpf info rec --part callbacks --sort max_time --limit 5",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			rows := flags.IntP("rows", "n", summaryRows, "`NUMBER` of nodes, callbacks and topics to show")
			all := allEntitiesFlag(flags)
			part := flags.String("part", "", "print only this `PART`, all of it: "+strings.Join(partNames(), ", "))
			times := defineTimeFlags(flags)
			quiet := flags.BoolP("quiet", "q", false, "no progress")
			output := defineOutputFlags(flags)
			output.order = defineOrderFlags(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				if err := output.check(); err != nil {
					return err
				}
				switch {
				case len(arguments) != 1:
					return fmt.Errorf("%w: name one dataset", errUsage)
				case *rows < 0:
					return fmt.Errorf("%w: --rows takes a number from 0 on", errUsage)
				case *part != "" && summaryParts[*part] == nil:
					return fmt.Errorf("%w: --part is one of %s", errUsage, strings.Join(partNames(), ", "))
				case *part == "" && (flags.Changed("sort") || flags.Changed("limit")):
					return fmt.Errorf("%w: --sort and --limit need --part; --rows is the number for all of them", errUsage)
				case *part == "" && (*output.csv || *output.parquet != ""):
					return fmt.Errorf("%w: --csv and --parquet need --part", errUsage)
				}
				dataset, err := trace.Open(trace.Locate(arguments[0]))
				if err != nil {
					return err
				}
				given, err := times.check()
				if err != nil {
					return err
				}
				within := times.within
				if !given {
					within = nil
				}
				s, err := summary.OfPart(ctx, dataset, within, newReadProgress(c.err, *quiet))
				endProgress(c.err, *quiet)
				switch {
				case err != nil:
					return err
				case *part != "":
					return summaryParts[*part](c, output, s)
				case *output.json:
					return report.WriteJSON(c.out, s)
				}
				printSummary(c.out, dataset.Dir(), s, *rows, *all)
				return nil
			}
		},
	}
}

// summaryParts write one table of a summary.
var summaryParts = map[string]func(console, outputFlags, *summary.Summary) error{
	"tables":      func(c console, o outputFlags, s *summary.Summary) error { return writeRows(c, o, s.Tables) },
	"tracepoints": func(c console, o outputFlags, s *summary.Summary) error { return writeRows(c, o, s.Tracepoints) },
	"processes":   func(c console, o outputFlags, s *summary.Summary) error { return writeRows(c, o, s.Processes) },
	"nodes":       func(c console, o outputFlags, s *summary.Summary) error { return writeRows(c, o, s.Nodes) },
	"callbacks":   func(c console, o outputFlags, s *summary.Summary) error { return writeRows(c, o, s.Callbacks) },
	"topics":      func(c console, o outputFlags, s *summary.Summary) error { return writeRows(c, o, s.Topics) },
	"losses":      func(c console, o outputFlags, s *summary.Summary) error { return writeRows(c, o, s.Losses) },
	"unarmed":     func(c console, o outputFlags, s *summary.Summary) error { return writeRows(c, o, s.Unarmed) },
	"unstamped":   writeUnstamped,
	"warnings":    writeWarnings,
}

func partNames() []string {
	return []string{"tables", "tracepoints", "processes", "nodes", "callbacks", "topics", "losses", "unarmed", "unstamped", "warnings"}
}

// spanText says how long a span is and when it begins.
func spanText(span trace.Span) string {
	from, to := time.Unix(0, span.First), time.Unix(0, span.Last)
	return fmt.Sprintf("%s from %s", to.Sub(from).Round(time.Millisecond), from.Format("2006-01-02 15:04:05.000 MST"))
}

// printSummary shows at most limit nodes, callbacks and topics. Of the callbacks and topics that every node has it says
// how many there are unless all entities are asked for.
func printSummary(w *output, name string, s *summary.Summary, limit int, all bool) {
	fmt.Fprintf(w, "%s: %s\n", report.Printable(name), report.Printable(describeState(s)))
	if s.Span.Valid {
		fmt.Fprintln(w, spanText(s.Span.Value))
	}
	printSnapshot(w, s.Session)
	printChanges(w, s.Session)
	if s.Within.Valid {
		fmt.Fprintf(w, "of it %s: what began then; rows, bytes and cost are of all\n", spanText(s.Within.Value))
	}
	if session := s.Session; session != nil {
		fmt.Fprintf(w, "host %s, Linux %s, caret-bpf %s\n", report.Printable(session.Host.Name), report.Printable(session.Host.Kernel), report.Printable(session.Recorder.Version))
		for _, key := range slices.Sorted(maps.Keys(session.Attributes)) {
			fmt.Fprintf(w, "%s: %s\n", report.Printable(key), report.Printable(session.Attributes[key]))
		}
		fmt.Fprintf(w, "plan: %d sites of %d events probed, %d events missing\n", len(session.Plan.Sites), countEvents(session), len(session.MissingEvents()))
		printLinks(w, session)
	}
	fmt.Fprintln(w, realTimeText(s.RealTime))
	printUnstamped(w, s.Session)
	printProcesses(w, s)
	printTables(w, s)
	printTracepoints(w, s)
	printNodes(w, s.Nodes, limit)
	printCallbacks(w, s.Callbacks, limit, all)
	printTopics(w, s.Topics, limit, all)
	printOverhead(w, s)
	printLosses(w, s)
}

func countEvents(session *trace.Session) int {
	events := make(map[string]bool)
	for _, site := range session.Plan.Sites {
		events[site.Event] = true
	}
	return len(events)
}

func describeState(s *summary.Summary) string {
	switch {
	case s.Live:
		return "being recorded"
	case s.Killed:
		return "its recorder was killed; everything up to its last closed segments is here"
	case s.Session == nil:
		return "session.json is missing or damaged"
	case !recordingBegan(s.Session):
		return "nothing: the recording had not begun (ended by " + string(s.Session.Ending) + ")"
	case s.Session.Ending == trace.EndingError:
		return "ended by an error: " + s.Session.Error
	case s.Session.Snapshot != nil && len(s.Damaged) == 0:
		return "a snapshot of a recording"
	case len(s.Damaged) > 0:
		return "incomplete: a part of it cannot be read (ended by " + string(s.Session.Ending) + ")"
	}
	return "complete (ended by " + string(s.Session.Ending) + ")"
}

// recordingBegan is false of a session that ended while it was attaching.
func recordingBegan(session *trace.Session) bool {
	recording := func(change trace.StateChange) bool { return change.State == trace.StateRecording }
	return len(session.History) == 0 || slices.ContainsFunc(session.History, recording)
}

func printProcesses(w *output, s *summary.Summary) {
	var rows [][]string
	for _, p := range s.Processes {
		rows = append(rows, []string{
			strconv.Itoa(int(p.PID)), report.Text(p.Command), report.Text(p.Distro), report.Text(p.RMWImplementation),
			report.Count(p.Callbacks), report.Count(p.Publishes), report.Count(p.Takes), report.Count(p.Enqueues),
		})
	}
	if len(rows) > 0 {
		fmt.Fprintln(w)
		printTable(w, []string{"PID>", "COMMAND", "DISTRO", "RMW", "CALLBACKS>", "PUBLISHES>", "TAKES>", "ENQUEUES>"}, rows)
	}
}

func printTables(w *output, s *summary.Summary) {
	var rows [][]string
	for _, t := range s.Tables {
		if t.Rows > 0 || t.Unfinished > 0 {
			rows = append(rows, []string{t.Name, report.Count(t.Rows), report.Count(t.Bytes), strconv.Itoa(t.Segments), strconv.Itoa(t.Unfinished)})
		}
	}
	if len(rows) > 0 {
		fmt.Fprintln(w)
		printTable(w, []string{"TABLE", "ROWS>", "BYTES>", "SEGMENTS>", "UNFINISHED>"}, rows)
	}
}

func printTracepoints(w *output, s *summary.Summary) {
	counts := make(map[string]uint64)
	var names []string
	for _, t := range s.Tracepoints {
		if counts[t.Tracepoint] == 0 {
			names = append(names, t.Tracepoint)
		}
		counts[t.Tracepoint] += t.Count
	}
	var rows [][]string
	for _, name := range names {
		rows = append(rows, []string{name, report.Count(counts[name])})
	}
	if len(rows) > 0 {
		fmt.Fprintln(w)
		printTable(w, []string{"TRACEPOINT", "HITS>"}, rows)
	}
}

func printNodes(w *output, nodes []summary.Node, limit int) {
	busiest := slices.Clone(nodes)
	slices.SortStableFunc(busiest, func(a, b summary.Node) int { return cmp.Compare(b.Callbacks, a.Callbacks) })
	var rows [][]string
	for _, n := range busiest[:min(limit, len(busiest))] {
		rows = append(rows, []string{
			report.Text(n.NodeName), strconv.Itoa(int(n.PID)), report.Count(n.Callbacks), optionalRate(n.CallbackRate), report.Duration(n.TotalTime),
			report.Count(n.Publishes), optionalRate(n.PublishRate), report.Count(n.Takes), report.Count(n.IgnoredTakes),
		})
	}
	if len(rows) > 0 {
		fmt.Fprintf(w, "\nbusiest nodes (%d of %d):\n", len(rows), len(nodes))
		printTable(w, []string{"NODE", "PID>", "CALLBACKS>", "RATE>", "TOTAL>", "PUBLISHES>", "RATE>", "POLLED TAKES>", "IGNORED>"}, rows)
	}
}

// countedElsewhere is said of what is not listed because every node has it.
const countedElsewhere = "counted in all other tables; `info --" + allEntities + "` lists them"

func optionalRate(r trace.Optional[float64]) string {
	if !r.Valid {
		return "-"
	}
	return report.Rate(r.Value)
}

func printCallbacks(w *output, callbacks []summary.Callback, limit int, all bool) {
	var standard []summary.Callback
	if !all {
		callbacks, standard = setApart(callbacks, func(i int) bool { return callbacks[i].Standard })
	}
	var rows [][]string
	for _, c := range callbacks[:min(limit, len(callbacks))] {
		of := c.Topic
		if c.Period.Valid {
			of = report.Duration(c.Period.Value)
		}
		mean := "-"
		if c.MeanTime.Valid {
			mean = report.Duration(c.MeanTime.Value)
		}
		rows = append(rows, []string{
			report.Text(c.NodeName), report.Text(string(c.Kind)), report.Text(of), report.Count(c.Count), optionalRate(c.Rate),
			report.Duration(c.TotalTime), mean, report.Duration(c.MaxTime), describeFunction(c),
		})
	}
	if len(rows) > 0 {
		fmt.Fprintf(w, "\nbusiest callbacks (%d of %d):\n", len(rows), len(callbacks))
		printTable(w, []string{"NODE", "KIND", "TOPIC OR PERIOD", "COUNT>", "RATE>", "TOTAL>", "MEAN>", "MAX>", "FUNCTION"}, rows)
	}
	if limit > 0 && len(standard) > 0 {
		var count uint64
		var total int64
		for _, c := range standard {
			count += c.Count
			total += c.TotalTime
		}
		fmt.Fprintf(w, "standard: %s, executed %s times in %s, %s\n",
			counted(len(standard), "callback"), report.Count(count), report.Duration(total), countedElsewhere)
	}
}

func describeFunction(c summary.Callback) string {
	if c.Symbol == "" {
		return c.Callback.String()
	}
	return c.Symbol
}

func printTopics(w *output, topics []summary.Topic, limit int, all bool) {
	var standard []summary.Topic
	if !all {
		topics, standard = setApart(topics, func(i int) bool { return topics[i].Standard })
	}
	var rows [][]string
	for _, t := range topics[:min(limit, len(topics))] {
		rows = append(rows, []string{report.Text(t.TopicName), report.Count(t.Publishes), optionalRate(t.Rate), report.Count(t.Received)})
	}
	if len(rows) > 0 {
		fmt.Fprintf(w, "\nbusiest topics (%d of %d):\n", len(rows), len(topics))
		printTable(w, []string{"TOPIC", "PUBLISHES>", "RATE>", "RECEIVED>"}, rows)
	}
	if limit > 0 && len(standard) > 0 {
		var names []string
		var publishes, received uint64
		for _, t := range standard {
			names = append(names, t.TopicName)
			publishes += t.Publishes
			received += t.Received
		}
		fmt.Fprintf(w, "standard: %s (%s), published %s times, received %s times, %s\n",
			counted(len(standard), "topic"), strings.Join(names, ", "), report.Count(publishes), report.Count(received), countedElsewhere)
	}
}

// shownThreads is how many threads are shown with what the recording has cost them.
const shownThreads = 3

func printOverhead(w *output, s *summary.Summary) {
	if s.Session == nil || s.Session.Overhead == nil || s.Session.Overhead.Hits == 0 {
		return
	}
	o := s.Session.Overhead
	costs := "default costs; `caret-bpf check --calibrate` measures this machine's"
	if o.Measured {
		costs = "costs measured on its machine"
	}
	fmt.Fprintf(w, "\nthe recording cost %s in %s hits on %d threads (%s):\n", report.Duration(o.Cost), report.Count(o.Hits), o.ThreadCount, costs)
	var rows [][]string
	for _, t := range o.Threads[:min(shownThreads, len(o.Threads))] {
		rows = append(rows, []string{
			strconv.Itoa(t.PID), strconv.Itoa(t.TID), report.Count(t.Hits), report.Duration(t.Cost), report.Percent(100 * t.Share), report.Percent(100 * t.PeakShare),
		})
	}
	printTable(w, []string{"PID>", "THREAD>", "HITS>", "COST>", "OF ITS TIME>", "AT MOST>"}, rows)
	rows = nil
	for _, e := range o.Events {
		rows = append(rows, []string{report.Text(e.Event), report.Count(e.Hits), report.Duration(e.Cost), report.Percent(100 * float64(e.Cost) / float64(max(o.Cost, 1)))})
	}
	fmt.Fprintln(w)
	printTable(w, []string{"PROBED FOR", "HITS>", "COST>", "OF ALL>"}, rows)
	rows = nil
	for _, d := range o.Detached {
		rows = append(rows, []string{
			report.Text(d.Event), report.Time(d.Timestamp), report.Percent(100 * d.OwnShare), strconv.Itoa(d.PID), strconv.Itoa(d.TID), report.Percent(100 * d.Share),
		})
	}
	if len(rows) > 0 {
		fmt.Fprintln(w)
		printTable(w, []string{"NO LONGER PROBED", "SINCE", "COST>", "OF PID>", "THREAD>", "WHICH ALL COST>"}, rows)
	}
}

// shownUnarmed is how many files are shown that were not probed.
const shownUnarmed = 20

// printUnarmed shows the files that were mapped while they were not probed, the longest first.
func printUnarmed(w *output, all []summary.Unarmed) {
	if len(all) == 0 {
		return
	}
	longest := slices.SortedStableFunc(slices.Values(all), func(a, b summary.Unarmed) int { return cmp.Compare(b.Duration, a.Duration) })
	var rows [][]string
	for _, u := range longest[:min(shownUnarmed, len(all))] {
		rows = append(rows, []string{
			strconv.Itoa(u.PID), report.Text(u.Command), report.Text(fileName(u.File)), report.Duration(u.Duration), report.Time(u.FromTimestamp), report.Text(shortList(u.Events)),
		})
	}
	printTable(w, []string{"PID>", "PROCESS", "FILE NOT PROBED", "FOR>", "FROM", "WHICH HITS"}, rows)
	if more := len(all) - len(rows); more > 0 {
		fmt.Fprintf(w, "and %d more: `info --part unarmed` shows all\n", more)
	}
}

// fileName is a path without directories; no path stands for all files.
func fileName(path string) string {
	if path == "" {
		return "all"
	}
	return filepath.Base(path)
}

// shortList shows the first of some names with commas between them, and how many more there are.
func shortList(names string) string {
	all := strings.Split(names, ",")
	if len(all) <= 3 {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:3], ", "), len(all)-3)
}

func printLosses(w *output, s *summary.Summary) {
	fmt.Fprintln(w)
	printUnarmed(w, s.Unarmed)
	switch {
	case len(s.Losses) == 0 && len(s.Unarmed) > 0:
	case len(s.Losses) > 0:
		var rows [][]string
		for _, loss := range s.Losses {
			rows = append(rows, []string{
				string(loss.Kind), string(loss.Reason), report.Count(loss.Count), report.Time(loss.FromTimestamp), report.Time(loss.ToTimestamp),
			})
		}
		printTable(w, []string{"LOST", "REASON", "COUNT>", "FROM", "TO"}, rows)
	default:
		fmt.Fprintln(w, "nothing was lost"+s.Reservation().Text)
	}
	if len(s.Incomplete) > 0 {
		var rows [][]string
		for _, i := range s.Incomplete {
			rows = append(rows, []string{i.Table, i.Status, report.Count(i.Count)})
		}
		fmt.Fprintln(w)
		printTable(w, []string{"INCOMPLETE", "STATUS", "COUNT>"}, rows)
	}
	printWarnings(w, s.Warnings)
}

// printLinks says for whom probes were made, from the beginning and from each change on.
func printLinks(w io.Writer, session *trace.Session) {
	if session.Links != nil {
		fmt.Fprintf(w, "probes: %s\n", session.Links)
	}
	for _, change := range session.LinkChanges {
		fmt.Fprintf(w, "probes from %s on: %s\n", report.Time(change.Timestamp), &change.Links)
	}
}
