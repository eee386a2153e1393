package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// attributedDataset has so many executions of one callback, and attributes.
func attributedDataset(t *testing.T, executions int, attributes ...trace.Attribute) string {
	t.Helper()
	dir, session := t.TempDir(), trace.NewSession()
	session.SetAttributes(attributes)
	tracetest.AddSession(t, dir, session)
	var rows []trace.Callback
	for i := range executions {
		begin := int64(1_000_000 * (i + 1))
		rows = append(rows, trace.Callback{
			ProcessKey: trace.ProcessKey{BootID: "b", PID: 7, ProcessStart: 1}, TID: 7, Callback: 0x10, Status: trace.CallbackComplete,
			CallbackStartTimestamp: trace.Some(begin), CallbackEndTimestamp: trace.Some(begin + 1000),
		})
	}
	tracetest.AddSegment(t, dir, 0, rows)
	return dir
}

// TestSystemsByAttributes: what draws a system takes only the datasets that were chosen.
func TestSystemsByAttributes(t *testing.T) {
	datasets := []string{attributedDataset(t, 2, trace.Attribute{Key: "route", Value: "b"}), attributedDataset(t, 2)}
	for _, command := range []string{"graph", "paths"} {
		for value, want := range map[string]int{"b": exitSuccess, "a": exitNoTarget} {
			if code, out, problems := runCommand(append([]string{command, "--attribute", "route=" + value}, datasets...)...); code != want {
				t.Errorf("%s of route %s: exit code %d: %s%s", command, value, code, out, problems)
			}
		}
	}
}

// TestAnswersByAttributes: several datasets are chosen, and told apart, by what was noted when they were recorded.
func TestAnswersByAttributes(t *testing.T) {
	route := func(value string) trace.Attribute { return trace.Attribute{Key: "route", Value: value} }
	bus := trace.Attribute{Key: "vehicle", Value: "bus 7"}
	datasets := []string{
		attributedDataset(t, 2, route("b"), bus), attributedDataset(t, 3, route("a"), bus), attributedDataset(t, 4, route("a")), attributedDataset(t, 5),
	}
	// Of one only the table has them.
	tracetest.AddSegment(t, datasets[2], 0, []trace.Attribute{route("a")})
	if err := os.WriteFile(filepath.Join(datasets[2], trace.SessionFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		flags []string
		want  map[string]int // executions by group
	}{
		"all are one system":         {nil, map[string]int{"": 14}},
		"those of an attribute":      {[]string{"--attribute", "route=a"}, map[string]int{"": 7}},
		"those of two attributes":    {[]string{"--attribute", "route=a", "--attribute", "vehicle=bus 7"}, map[string]int{"": 3}},
		"groups":                     {[]string{"--by", "route"}, map[string]int{"a": 7, "b": 2, "": 5}},
		"groups of an attribute":     {[]string{"--by", "route", "--attribute", "vehicle=bus 7"}, map[string]int{"a": 3, "b": 2}},
		"instances of groups":        {[]string{"--by", "route", "--series"}, map[string]int{"a": 7, "b": 2, "": 5}},
		"a limit is for each group":  {[]string{"--by", "route", "--series", "--limit", "2"}, map[string]int{"a": 2, "b": 2, "": 2}},
		"groups that nobody belongs": {[]string{"--by", "driver"}, map[string]int{"": 14}},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, problems := runCommand(slices.Concat([]string{"latency", "callback", "--json", "--quiet"}, test.flags, datasets)...)
			if code != exitSuccess {
				t.Fatalf("exit code %d: %s", code, problems)
			}
			var rows []struct {
				Group *string
				Count *int
			}
			if err := json.Unmarshal([]byte(out), &rows); err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for _, row := range rows {
				group, count := "", 1
				if row.Group != nil {
					group = *row.Group
				}
				if row.Count != nil {
					count = *row.Count
				}
				got[group] += count
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
	tracetest.AddSegment(t, datasets[0], 0, []trace.Loss{{Kind: trace.LostCallback, Reason: trace.LossRingFull, Count: 3}})
	for name, test := range map[string]struct {
		flags []string
		code  int
		says  string
	}{
		"nobody has it":      {[]string{"--attribute", "route=c"}, exitNoTarget, "route=c"},
		"no attribute":       {[]string{"--attribute", "route"}, exitUsage, "KEY=VALUE"},
		"no key":             {[]string{"--by", "the route"}, exitUsage, "--by"},
		"warnings have them": {[]string{"--by", "route", "--attribute", "route=b"}, exitSuccess, "route=b: "},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, problems := runCommand(slices.Concat([]string{"latency", "callback"}, test.flags, datasets)...)
			if code != test.code || !strings.Contains(problems, test.says) {
				t.Errorf("exit code %d: %s", code, problems)
			}
		})
	}
	if code, out, problems := runCommand("info", datasets[0]); code != exitSuccess || !strings.Contains(out, "vehicle: bus 7") {
		t.Errorf("exit code %d: %s%s", code, out, problems)
	}
}
