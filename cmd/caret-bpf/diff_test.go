package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

func TestDiffCommand(t *testing.T) {
	before, after := relayDataset(t), relayDataset(t)
	key := trace.ProcessKey{BootID: "boot", PID: 77, ProcessStart: 1}
	for dir, duration := range map[string]int64{before: 1000, after: 2000} {
		var rows []trace.Callback
		for i := range int64(300) {
			rows = append(rows, trace.Callback{
				ProcessKey: key, Callback: 0x24, Status: trace.CallbackComplete,
				CallbackStartTimestamp: trace.Some(1_000_000 * i), CallbackEndTimestamp: trace.Some(1_000_000*i + duration + i%7),
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
	if err := json.Unmarshal([]byte(out), &d); code != exitDiffers || err != nil || len(d.Latencies) != 1 || d.Latencies[0].Change != 1000 {
		t.Errorf("exit code %d, %v in\n%s", code, err, out)
	}
	if code, out, problems := runCommand("diff", before, before); code != exitSuccess {
		t.Errorf("exit code %d of the same, %s\n%s", code, problems, out)
	}
	for _, arguments := range [][]string{{"diff", before}, {"diff", before, after, "--alpha", "2"}, {"diff", before, after, "--min-change", "0"}} {
		if code, _, _ := runCommand(arguments...); code != exitUsage {
			t.Errorf("%v: exit code %d", arguments, code)
		}
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
