package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// TestUnstampedTypesAreShown: that types of messages have no stamps is no warning, and is said wherever somebody may
// ask for stamps.
func TestUnstampedTypesAreShown(t *testing.T) {
	dir := relayDataset(t)
	s := trace.NewSession()
	s.Ending = trace.EndingDuration
	for i := range 25 {
		s.Unstamped = append(s.Unstamped, trace.UnstampedType{MessageType: fmt.Sprintf("a_msgs/msg/A%d", i), Reason: "no definition\nDROP VIEW callback;", PIDs: []int{77, 78}})
	}
	s.Unstamped = append(s.Unstamped, trace.UnstampedType{MessageType: "a_msgs/msg/A0", Reason: "another reason", PIDs: []int{79}})
	tracetest.AddSession(t, dir, s)
	for name, test := range map[string]struct {
		command []string
		says    []string
	}{
		"the summary": {[]string{"info", dir}, []string{"no message_timestamp of 25 message types: `info --part unstamped` says why\n"}},
		"all of them": {[]string{"info", dir, "--part", "unstamped", "--csv"}, []string{`a_msgs/msg/A24,"77,78",`, "a_msgs/msg/A0,79,another reason"}},
		"in JSON":     {[]string{"info", dir, "--json"}, []string{`"unstamped_types": [`, `"a_msgs/msg/A24"`}},
		"the views": {[]string{"sql", dir}, []string{
			`--   "a_msgs/msg/A0" in 2 processes: "no definition\nDROP VIEW callback;"` + "\n", "--   and 6 more: caret-bpf info --part unstamped\n\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, problems := runCommand(test.command...)
			if code != exitSuccess || problems != "" {
				t.Fatalf("exit code %d: %s", code, problems)
			}
			for _, want := range test.says {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			for _, line := range strings.Split(out, "\n") {
				if strings.HasPrefix(line, "warning:") && strings.Contains(line, "a_msgs") || strings.HasPrefix(line, "DROP") {
					t.Errorf("says %q", line)
				}
			}
		})
	}
	s.Unstamped = nil
	tracetest.AddSession(t, dir, s)
	for _, command := range [][]string{{"info", dir}, {"sql", dir}} {
		if _, out, _ := runCommand(command...); strings.Contains(out, "message types") || strings.Contains(out, "unstamped") || strings.Contains(out, "these types") {
			t.Errorf("%v: something is said of stamps:\n%s", command, out)
		}
	}
}
