package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// TestChangesAreShown: who reads a recording is told that it was not made with the same settings all the time.
func TestChangesAreShown(t *testing.T) {
	dir := relayDataset(t)
	s := trace.NewSession()
	s.Ending = trace.EndingDuration
	for range maxShownChanges + 2 {
		s.Changes = append(s.Changes, trace.Change{Timestamp: 1e9, What: "ignore-node", Value: json.RawMessage("[ \"^/a\\u001b\" ]")})
	}
	tracetest.AddSession(t, dir, s)
	code, out, problems := runCommand("info", dir)
	if code != exitSuccess || problems != "" {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	if shown := strings.Count(out, `: ignore-node ["^/a\u001b"]`+"\n"); shown != maxShownChanges {
		t.Errorf("%d changes are shown in\n%s", shown, out)
	}
	if !strings.Contains(out, "changed 2 times more, see changes in session.json\n") {
		t.Errorf("it does not say how many more there were:\n%s", out)
	}
}
