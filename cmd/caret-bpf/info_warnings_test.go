package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// TestWarningsOfAKindAreOneLine: the same warning of 30 processes is one line of a summary, and none of them is lost.
func TestWarningsOfAKindAreOneLine(t *testing.T) {
	dir := relayDataset(t)
	s := trace.NewSession()
	s.Ending = trace.EndingDuration
	for pid := range 30 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("PID %d (node_%d) has other builds than the known releases", 100+pid, pid))
	}
	s.Warnings = append(s.Warnings, "another one")
	tracetest.AddSession(t, dir, s)
	for name, test := range map[string]struct {
		flags []string
		count int // how often other builds are mentioned
		says  []string
	}{
		"the summary": {nil, 1, []string{
			"warning: PID 100 (node_0) has other builds than the known releases (and 29 more of this kind)\n", "warning: another one\n", "`info --part warnings` shows all\n",
		}},
		"all of them":   {[]string{"--part", "warnings"}, 30, []string{"PID 129 (node_29) has other builds", "another one"}},
		"all, for jobs": {[]string{"--json"}, 60, []string{"PID 129 (node_29) has other builds"}}, // in the session, too
	} {
		t.Run(name, func(t *testing.T) {
			code, out, problems := runCommand(append([]string{"info", dir}, test.flags...)...)
			if count := strings.Count(out, "has other builds"); code != exitSuccess || count != test.count {
				t.Errorf("exit code %d %s, told %d times in\n%s", code, problems, count, out)
			}
			for _, want := range test.says {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}
