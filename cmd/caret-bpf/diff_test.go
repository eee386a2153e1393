package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

func TestDiffCommand(t *testing.T) {
	before, after := relayDataset(t), relayDataset(t)
	key := trace.ProcessKey{BootID: "boot", PID: 77, ProcessStart: 1}
	for dir, duration := range map[string]int64{before: 1000, after: 2000} {
		var rows []trace.Callback
		random := rand.New(rand.NewPCG(1, 2))
		for i := range int64(300) {
			rows = append(rows, trace.Callback{
				ProcessKey: key, Callback: 0x24, Status: trace.CallbackComplete,
				CallbackStartTimestamp: trace.Some(1_000_000 * i), CallbackEndTimestamp: trace.Some(1_000_000*i + duration + random.Int64N(7)),
			})
		}
		tracetest.AddSegment(t, dir, 0, rows)
	}
	code, out, problems := runCommand("diff", before, after)
	if code != exitDiffers || !strings.Contains(out, "0 entities came or went; 1 of 1 latencies changed by more than noise") {
		t.Errorf("exit code %d, %s\n%s", code, problems, out)
	}
	code, out, _ = runCommand("diff", before, after, "--json")
	var d struct {
		Latencies []struct{ Change int64 }
	}
	if err := json.Unmarshal([]byte(out), &d); code != exitDiffers || err != nil || len(d.Latencies) != 1 || d.Latencies[0].Change < 990 || d.Latencies[0].Change > 1010 {
		t.Errorf("exit code %d, %v in\n%s", code, err, out)
	}
	if code, out, problems := runCommand("diff", before, before); code != exitSuccess {
		t.Errorf("exit code %d of the same, %s\n%s", code, problems, out)
	}
	for _, arguments := range [][]string{
		{"diff", before}, {"diff", before, after, "--alpha", "2"}, {"diff", before, after, "--min-change", "0"}, {"diff", before, after, "--min-change", "Inf"},
		{"diff", before, after, "--run-noise", "-1"}, {"diff", "--before", before}, {"diff", before, "--after", after},
		{"diff", before, "--before", before, "--after", after}, {"diff", "--before", before, before, "--after", after, "--run-noise", "1"},
	} {
		if code, _, _ := runCommand(arguments...); code != exitUsage {
			t.Errorf("%v: exit code %d", arguments, code)
		}
	}
}

func TestSidesOfDiff(t *testing.T) {
	for _, test := range []struct {
		arguments     []string
		before, after string
	}{
		{[]string{"a", "b"}, "a", "b"},
		{[]string{"--before", "a", "b", "--after", "c", "d", "e"}, "a b", "c d e"},
		{[]string{"--after=c", "d", "--before=a"}, "a", "c d"},
		{[]string{"--before", "a", "--all", "b", "--before", "c", "--after", "d"}, "a b c", "d"},
	} {
		flags := pflag.NewFlagSet("diff", pflag.ContinueOnError)
		flags.Bool("all", false, "")
		s := defineSides(flags)
		if err := flags.Parse(test.arguments); err != nil {
			t.Fatal(err)
		}
		before, after, err := s.of(flags.Args())
		if got := [2]string{strings.Join(before, " "), strings.Join(after, " ")}; err != nil || got != [2]string{test.before, test.after} {
			t.Errorf("%v: %q, %v", test.arguments, got, err)
		}
	}
}

// What the verdicts rest on is said, and that a recording is too short.
func TestDiffSaysWhatItDoesNotKnow(t *testing.T) {
	dir := relayDataset(t)
	key := trace.ProcessKey{BootID: "boot", PID: 77, ProcessStart: 1}
	tracetest.AddSegment(t, dir, 0, []trace.Callback{{
		ProcessKey: key, Callback: 0x24, Status: trace.CallbackComplete, CallbackStartTimestamp: trace.Some(int64(1)), CallbackEndTimestamp: trace.Some(int64(2)),
	}})
	_, out, _ := runCommand("diff", dir, dir)
	for _, want := range []string{"1 latencies: a recording is too short", "not known from one recording a side; a standard deviation of 3 % was assumed"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	_, out, _ = runCommand("diff", "--before", dir, dir, "--after", dir, dir)
	if !strings.Contains(out, "estimated from 2 and 2 recordings, taken to be normally distributed; from 5 a side on") {
		t.Errorf("it is not said how noise was estimated:\n%s", out)
	}
	_, out, _ = runCommand("diff", dir, dir, "--csv", "--all")
	if !strings.Contains(out, "too_short") || !strings.Contains(out, "assumed") {
		t.Errorf("CSV:\n%s", out)
	}
}

func TestSQLCommand(t *testing.T) {
	dir := relayDataset(t)
	code, out, problems := runCommand("sql", dir)
	if code != exitSuccess || !strings.Contains(out, `CREATE OR REPLACE VIEW "callback" AS`) || !strings.Contains(out, dir) {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	if code, _, problems := runCommand("sql", dir, "--write"); code != exitSuccess {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "views.sql")); err != nil || string(text) != out {
		t.Errorf("%v: what was written is not what is printed", err)
	}
}
