package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// What a dataset is a part of, and what was not kept, is said where somebody asks what it has.
func TestSnapshotsAndRetentionAreShown(t *testing.T) {
	const second = int64(1_000_000_000)
	for name, test := range map[string]struct {
		change func(*trace.Session)
		says   []string
		silent string
	}{
		"a snapshot at a request": {
			func(s *trace.Session) {
				s.Snapshot = &trace.Snapshot{Span: trace.Span{First: 5 * second, Last: 8 * second}, Reason: "the driver\nbraked", HeldFrom: 2 * second}
			},
			[]string{": a snapshot of a recording\n", `asked for: 3s from 1970-01-01 00:00:05.000 UTC (the driver\nbraked)`, "nothing was lost in this time, as far as it was known"},
			"the recording had everything since",
		},
		"one of a ring that held less": {
			func(s *trace.Session) {
				s.Snapshot = &trace.Snapshot{Span: trace.Span{First: 5 * second, Last: 8 * second}, HeldFrom: 6 * second}
			},
			[]string{"the recording had everything since 1970-01-01 00:00:06.000 UTC; of what happened before, a part is here\n"}, "",
		},
		"one of all": {
			func(s *trace.Session) {
				s.Snapshot = &trace.Snapshot{Span: trace.Span{Last: 8 * second}, Reason: "request", HeldFrom: 2 * second}
			},
			[]string{"asked for: all until 1970-01-01 00:00:08.000 UTC (request); everything is here since 1970-01-01 00:00:02.000 UTC\n"}, "",
		},
		"one by a trigger": {
			func(s *trace.Session) {
				s.Snapshot = &trace.Snapshot{Span: trace.Span{First: 5 * second, Last: 8 * second}, Reason: "trigger slow: it was slow", Trigger: &trace.Trigger{
					Name: "slow", Definition: "callback over=1s", Timestamp: 7 * second, Reason: "it was slow", Table: trace.TableCallback, Row: json.RawMessage("{\n \"tid\": 7}"),
				}}
			},
			[]string{"trigger slow came at 1970-01-01 00:00:07.000 UTC: callback over=1s\n", "  in callback: {\"tid\":7}\n"}, "",
		},
		"what was not kept": {
			func(s *trace.Session) {
				s.Removed = &trace.Removed{Rows: map[string]uint64{trace.TableCallback: 1500, trace.TablePublish: 2}, Until: 3 * second}
			},
			[]string{"1,502 rows were removed while recording; everything is here since 1970-01-01 00:00:03.000 UTC\n", "nothing was lost but what was removed\n"}, "nothing was lost\n",
		},
		"what came of triggers": {
			func(s *trace.Session) {
				s.Triggers = []trace.TriggerCount{{Name: "late", Output: "/rec/late\n", Failed: 1}, {Name: "lost", Failed: 2}}
			},
			[]string{"  made last: /rec/late\\n\n  1 action failed: ", "\n  2 actions failed: "}, "",
		},
		"triggers": {
			func(s *trace.Session) {
				s.Triggers = []trace.TriggerCount{{Name: "late", Definition: "message over=1s", Fired: 2, Suppressed: 1000}}
			},
			[]string{"trigger late: acted upon 2 times, 1,000 times not: message over=1s\n"}, "made last",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TZ", "UTC")
			dir := relayDataset(t)
			s := trace.NewSession()
			s.Ending = trace.EndingSnapshot
			test.change(s)
			tracetest.AddSession(t, dir, s)
			code, out, problems := runCommand("info", dir)
			if code != exitSuccess || problems != "" {
				t.Fatalf("exit code %d: %s", code, problems)
			}
			for _, want := range test.says {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			if test.silent != "" && strings.Contains(out, test.silent) {
				t.Errorf("%q in\n%s", test.silent, out)
			}
		})
	}
}
