package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

// printSnapshot says of which part of a recording a dataset is, and what was not kept.
func printSnapshot(w io.Writer, session *trace.Session) {
	if session == nil {
		return
	}
	if of := session.Snapshot; of != nil {
		if of.First == 0 {
			fmt.Fprintf(w, "asked for: all until %s (%s); everything is here since %s\n", instant(of.Last), report.Printable(of.Reason), instant(of.HeldFrom))
		} else {
			fmt.Fprintf(w, "asked for: %s (%s)\n", spanText(of.Span), report.Printable(of.Reason))
		}
		if of.First != 0 && of.HeldFrom > of.First {
			fmt.Fprintf(w, "the recording had everything since %s; of what happened before, a part is here\n", instant(of.HeldFrom))
		}
		if t := of.Trigger; t != nil {
			fmt.Fprintf(w, "trigger %s came at %s: %s\n", report.Printable(t.Name), instant(t.Timestamp), report.Printable(t.Definition))
			if len(t.Row) > 0 {
				var row bytes.Buffer
				_ = json.Compact(&row, t.Row) // it was read as JSON
				fmt.Fprintf(w, "  in %s: %s\n", report.Printable(t.Table), report.Printable(row.String()))
			}
		}
	}
	if removed := session.Removed; removed != nil {
		rows := uint64(0)
		for _, count := range removed.Rows {
			rows += count
		}
		fmt.Fprintf(w, "%s rows were removed while recording; everything is here since %s\n", report.Count(rows), instant(removed.Until))
	}
	for _, t := range session.Triggers {
		fmt.Fprintf(w, "trigger %s: acted upon %s times, %s times not: %s\n",
			report.Printable(t.Name), report.Count(t.Fired), report.Count(t.Suppressed), report.Printable(t.Definition))
		printOutcome(w, t.Output, t.Failed)
	}
}

// printOutcome says what came of a trigger: the dataset that was made last, and how many actions have failed.
func printOutcome(w io.Writer, made string, failed uint64) {
	if made != "" {
		fmt.Fprintf(w, "  made last: %s\n", report.Printable(made))
	}
	if failed > 0 {
		fmt.Fprintf(w, "  %s failed: the recording's warnings say why\n", counted(int(failed), "action"))
	}
}

func instant(at int64) string { return time.Unix(0, at).Format("2006-01-02 15:04:05.000 MST") }
