package summary

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
)

func (s *summarizer) losses(ctx context.Context) error {
	type kind struct {
		kind   trace.LossKind
		reason trace.LossReason
	}
	losses := make(map[kind]*Loss)
	err := trace.Scan(ctx, s.dataset, trace.TableLoss, func(rows []trace.Loss) error {
		for _, row := range rows {
			if s.misses(trace.Span{First: row.FromTimestamp, Last: row.ToTimestamp}) {
				continue
			}
			if row.Reason == trace.LossUnarmed {
				s.result.Unarmed = append(s.result.Unarmed, Unarmed{
					PID: int(row.PID), ProcessStart: row.ProcessStart, File: row.File, Events: row.Events,
					Duration: row.ToTimestamp - row.FromTimestamp, FromTimestamp: row.FromTimestamp, ToTimestamp: row.ToTimestamp,
				})
				continue
			}
			l := losses[kind{row.Kind, row.Reason}]
			if l == nil {
				l = &Loss{Kind: row.Kind, Reason: row.Reason, FromTimestamp: row.FromTimestamp, ToTimestamp: row.ToTimestamp}
				losses[kind{row.Kind, row.Reason}] = l
			}
			l.Count += row.Count
			l.FromTimestamp, l.ToTimestamp = min(l.FromTimestamp, row.FromTimestamp), max(l.ToTimestamp, row.ToTimestamp)
		}
		return nil
	})
	for _, l := range losses {
		s.result.Losses = append(s.result.Losses, *l)
	}
	slices.SortFunc(s.result.Losses, func(a, b Loss) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Reason, b.Reason))
	})
	slices.SortFunc(s.result.Unarmed, func(a, b Unarmed) int {
		return cmp.Or(cmp.Compare(a.FromTimestamp, b.FromTimestamp), cmp.Compare(a.PID, b.PID), cmp.Compare(a.File, b.File))
	})
	return err
}

// warnings says in words what a reader of the numbers must know.
func (s *summarizer) warnings() []string {
	r := &s.result
	var warnings []string
	warn := func(format string, arguments ...any) { warnings = append(warnings, fmt.Sprintf(format, arguments...)) }
	if w := s.dataset.Warning(); w != "" {
		warn("%s", w)
	}
	unfinished := 0
	for _, t := range r.Tables {
		unfinished += t.Unfinished
	}
	switch {
	case r.Live:
		warn("the recording is still being written: this is what its closed segments hold")
	case r.Killed:
		warn("the recording did not end properly (its recorder was killed or the machine went down): it holds the closed segments, %d unfinished ones are lost", unfinished)
	}
	warnings = append(warnings, r.Damaged...)
	if r.Session != nil {
		s.warnOfSession(r.Session, warn)
		if !r.Live && !r.Killed {
			warnOfMissingRows(r.Session, r.Tables, warn)
		}
	}
	var lost uint64
	for _, l := range r.Losses {
		lost += l.Count
	}
	if lost > 0 {
		warn("%d records were lost while recording: see the losses", lost)
	}
	if len(r.Unarmed) > 0 {
		warn("%d files were mapped by processes while they were not probed: what was done in them is missing. See what was not probed", len(r.Unarmed))
	}
	for _, status := range r.Incomplete {
		warn("%d %s rows are incomplete: %s", status.Count, status.Table, status.Status)
	}
	for _, step := range r.ClockSteps {
		warn("real time jumped by %v at %s: it was set, or the machine slept. Source timestamps and header stamps jump there", time.Duration(step.Nanoseconds), time.Unix(0, step.Timestamp).UTC().Format(time.RFC3339Nano))
	}
	s.validate(warn)
	return warnings
}

func (s *summarizer) warnOfSession(session *trace.Session, warn func(string, ...any)) {
	if session.Ending == trace.EndingError {
		warn("the recording ended with an error: %s", session.Error)
	}
	for _, table := range sortedKeys(session.Unstored) {
		warn("%d %s rows were recorded and could not be stored; what came after them is missing, too", session.Unstored[table], table)
	}
	for _, w := range session.Warnings {
		warn("%s", w)
	}
	var events []string
	reasons := make(map[string]bool)
	for _, missing := range session.Plan.Missing {
		if !reasons[missing.Reason] && len(reasons) < 3 {
			events = append(events, fmt.Sprintf("%s (%s)", missing.Event, missing.Reason))
		}
		reasons[missing.Reason] = true
	}
	if n := len(session.MissingEvents()); n > 0 {
		warn("%d events could not be observed, such as %s; session.json lists them", n, strings.Join(events, ", "))
	}
	if n := len(session.Unresolved); n > 0 {
		warn("%d addresses stay without a name, such as: %s", n, session.Unresolved[0])
	}
}

// warnOfMissingRows tells of rows that the recorder had stored when the recording ended, in segments that are not there
// any more or cannot be read.
func warnOfMissingRows(session *trace.Session, tables []Table, warn func(string, ...any)) {
	there := map[string]uint64{}
	for _, t := range tables {
		there[t.Name] += t.Rows
	}
	for _, table := range sortedKeys(session.Rows) {
		if stored := session.Rows[table]; stored > there[table] {
			warn("%d of %d %s rows that were recorded are not there any more", stored-there[table], stored, table)
		}
	}
}

// validate tells what makes questions unanswerable, as CARET's check_ctf does.
func (s *summarizer) validate(warn func(string, ...any)) {
	r := &s.result
	hits := make(map[string]uint64)
	for _, t := range r.Tracepoints {
		hits[t.Tracepoint] += t.Count
	}
	var published int64
	for _, g := range s.groups[trace.TablePublish] {
		published += g.Values("source_timestamp")
	}
	if hits["callback_start"] == 0 {
		warn("no callback was recorded: either none ran, or the processes do not use rclcpp")
	}
	if hits["dds_write"] > 0 && published == 0 {
		warn("no publish has a source timestamp: messages between processes cannot be followed")
	}
	observed := r.Session == nil || !slices.Contains(r.Session.MissingEvents(), "rcl_publish")
	if observed && hits["rmw_take"] > 0 && hits["rcl_publish"]+hits["rclcpp_publish"]+hits["rclcpp_intra_publish"] == 0 {
		warn("messages were taken but none was published: record the processes that publish, too")
	}
	var unknown, executions uint64
	for _, c := range s.callbacks {
		if c.callback == nil {
			unknown++
			executions += c.count
		}
	}
	if unknown > 0 {
		warn("%d callbacks are known by their addresses only; %d executions are theirs", unknown, executions)
	}
	nodes := make(map[string]int)
	for _, n := range s.system.Nodes {
		if n.Name != "" && !n.Life.End.Valid {
			nodes[n.Name]++
		}
	}
	for _, name := range sortedKeys(nodes) {
		if count := nodes[name]; count > 1 {
			warn("%d nodes are named %s: by name they cannot be told apart", count, name)
		}
	}
}
