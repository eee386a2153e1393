package main

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

func TestInfo(t *testing.T) {
	dir := relayDataset(t)
	key := trace.ProcessKey{BootID: "boot", PID: 77, ProcessStart: 1}
	tracetest.AddSegment(t, dir, 0, []trace.Callback{
		{ProcessKey: key, Callback: 0x24, CallbackStartTimestamp: trace.Some(int64(1e9)), CallbackEndTimestamp: trace.Some(int64(1e9 + 5e6)), Status: trace.CallbackComplete},
		{ProcessKey: key, Callback: 0x24, CallbackStartTimestamp: trace.Some(int64(3e9)), CallbackEndTimestamp: trace.Some(int64(3e9 + 5e6)), Status: trace.CallbackComplete},
	})
	s := trace.NewSession()
	s.Ending = trace.EndingDuration
	tracetest.AddSession(t, dir, s)

	code, out, problems := runCommand("info", dir)
	if code != exitSuccess {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	for _, want := range []string{"complete (ended by duration)", "nothing was lost", "callback_start                  2", "/relay  subscription  /chatter             2  0.5/s  10.00 ms"} {
		if !strings.Contains(squeeze(out), squeeze(want)) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	_, out, _ = runCommand("info", dir, "--part", "callbacks", "--csv")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 2 || !strings.Contains(out, "Relay::on") {
		t.Errorf("%v in\n%s", err, out)
	}

	_, out, _ = runCommand("info", dir, "--from-time", "1s")
	for _, want := range []string{"of it 1.005s from", "callback_start 1", "callback 2", "/relay subscription /chatter 1"} {
		if !strings.Contains(squeeze(out), want) {
			t.Errorf("no %q of the last second in\n%s", want, out)
		}
	}
	for _, wrong := range [][]string{{"--from-time", "soon"}, {"--last", "-1s"}, {"--strip", "1h"}} {
		if code, _, problems := runCommand(append([]string{"info", dir}, wrong...)...); code != exitUsage || !strings.Contains(problems, wrong[0]) && !strings.Contains(problems, "nothing of the recording is left") {
			t.Errorf("%q: exit code %d: %s", wrong, code, problems)
		}
	}

	s.Ending, s.Error, s.Unstored = trace.EndingError, "disk full", map[string]uint64{trace.TableCallback: 17}
	tracetest.AddSession(t, dir, s)
	_, out, _ = runCommand("info", dir)
	for _, want := range []string{"ended by an error: disk full", "what was under way at the end is missing", "17 callback rows were recorded and could not be stored"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "nothing was lost\n") {
		t.Errorf("a full disk is said to have lost nothing:\n%s", out)
	}
	s.Unstored = nil
	tracetest.AddSession(t, dir, s)
	if _, out, _ = runCommand("info", dir); !strings.Contains(out, "may be missing") {
		t.Errorf("after an error everything is said to be there:\n%s", out)
	}
	s.Ending, s.Error, s.Undecided = trace.EndingSignal, "", 1
	tracetest.AddSession(t, dir, s)
	if _, out, _ = runCommand("info", dir); !strings.Contains(out, "it was known whether --name fits them") || strings.Contains(out, "nothing was lost\n") {
		t.Errorf("beside a process of which it is not known whether it was wanted:\n%s", out)
	}
	s.Undecided = 0
	s.History = []trace.StateChange{{State: trace.StateConfigured}, {State: trace.StateStopped}}
	tracetest.AddSession(t, dir, s)
	if _, out, _ = runCommand("info", dir); !strings.Contains(out, "had not begun") || strings.Contains(out, "complete (") {
		t.Errorf("a recording that never began:\n%s", out)
	}
	s.History = nil
	tracetest.AddSession(t, dir, s)

	damaged := tracetest.AddSegment(t, dir, 1, tracetest.Random[trace.Callback](100, 1))
	if err := os.Truncate(damaged, 100); err != nil {
		t.Fatal(err)
	}
	_, out, _ = runCommand("info", dir)
	if strings.Contains(out, "complete (") || strings.Contains(out, "nothing was lost\n") || !strings.Contains(out, damaged) {
		t.Errorf("a damaged segment is not told:\n%s", out)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, newConsole(io.Discard, io.Discard, os.Getenv), []string{"info", dir}); !errors.Is(err, context.Canceled) || exitCode(err) != exitInterrupted {
		t.Errorf("error %v after an interrupt", err)
	}
}

// squeeze makes one blank of several.
func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }
