package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

// maxShownChanges bounds what `info` prints of changes. All are in session.json.
const maxShownChanges = 20

// printChanges says what was changed of a recording while it went on.
func printChanges(w io.Writer, session *trace.Session) {
	if session == nil {
		return
	}
	for i, change := range session.Changes {
		if i == maxShownChanges {
			fmt.Fprintf(w, "changed %s times more, see changes in session.json\n", report.Count(uint64(len(session.Changes)-i)))
			return
		}
		var value bytes.Buffer
		_ = json.Compact(&value, change.Value) // it was read as JSON
		fmt.Fprintf(w, "changed at %s: %s %s\n", instant(change.Timestamp), report.Printable(change.What), report.Printable(value.String()))
	}
}
