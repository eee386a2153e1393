package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// syntheticDataset writes a dataset of a few thousand rows without entities.
func syntheticDataset(t *testing.T) (dir string, rows *trace.Batch) {
	t.Helper()
	dir, rows = t.TempDir(), tracetest.Synthetic(3000)
	tracetest.AddSession(t, dir, trace.NewSession())
	tracetest.AddSegment(t, dir, 0, rows.Callbacks)
	tracetest.AddSegment(t, dir, 0, rows.Publishes)
	tracetest.AddSegment(t, dir, 0, rows.Takes)
	tracetest.AddSegment(t, dir, 0, rows.Enqueues)
	return dir, rows
}

// countOf sums the column count of the rows that a command prints as JSON.
func countOf(t *testing.T, arguments ...string) (total int) {
	t.Helper()
	code, out, problems := runCommand(append(arguments, "--json")...)
	if code != exitSuccess {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	var rows []struct{ Count int }
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	for _, row := range rows {
		total += row.Count
	}
	return total
}

func TestLatencyCallback(t *testing.T) {
	dir, rows := syntheticDataset(t)
	if got := countOf(t, "latency", "callback", dir); got != len(rows.Callbacks) {
		t.Errorf("%d executions, want %d", got, len(rows.Callbacks))
	}
	last := countOf(t, "latency", "callback", dir, "--last", "1s")
	if last == 0 || last >= len(rows.Callbacks) {
		t.Errorf("in the last second there were %d executions of %d", last, len(rows.Callbacks))
	}
	if before := countOf(t, "latency", "callback", dir, "--to-time", "1s"); before == 0 || before >= len(rows.Callbacks) {
		t.Errorf("in the first second there were %d executions of %d", before, len(rows.Callbacks))
	}
	half := countOf(t, "latency", "callback", dir, "--last", "500ms")
	if stripped := countOf(t, "latency", "callback", dir, "--strip", "500ms"); stripped == 0 || stripped >= len(rows.Callbacks)-half {
		t.Errorf("without half a second at both ends there were %d executions of %d, %d of them in the last", stripped, len(rows.Callbacks), half)
	}
	for _, refused := range [][]string{{"--strip", "-1s"}, {"--last", "-1s"}} {
		if code, _, problems := runCommand(append([]string{"latency", "callback", dir}, refused...)...); code != exitUsage || !strings.Contains(problems, refused[0]) {
			t.Errorf("%v: exit code %d: %s", refused, code, problems)
		}
	}
	if code, _, problems := runCommand("latency", "callback", dir, "--from-time", "yesterday"); code != exitUsage || !strings.Contains(problems, "yesterday") {
		t.Errorf("exit code %d: %s", code, problems)
	}
	if code, out, _ := runCommand("latency", "callback", dir); code != exitSuccess || !strings.HasPrefix(out, "NODE NAME") {
		t.Errorf("exit code %d, the table is\n%s", code, out)
	}
}

// TestLatencyCallbackWhy: parts are shown where there are some; where there are none, the answer names the remedy.
func TestLatencyCallbackWhy(t *testing.T) {
	dir, _ := syntheticDataset(t)
	if code, _, problems := runCommand("latency", "callback", dir, "--why"); code != exitNoTarget || !strings.Contains(problems, "record --sched") {
		t.Errorf("exit code %d: %s", code, problems)
	}
	if code, _, problems := runCommand("latency", "callback", dir, "--why", "--histogram"); code != exitUsage || !strings.Contains(problems, "--why") {
		t.Errorf("exit code %d: %s", code, problems)
	}
	dir, rows := t.TempDir(), tracetest.Synthetic(3000)
	for i := range rows.Callbacks {
		row := &rows.Callbacks[i]
		tracetest.SetParts(row, row.CallbackEndTimestamp.Value-row.CallbackStartTimestamp.Value, 0, 0, 0, 0, 0)
	}
	tracetest.AddSession(t, dir, trace.NewSession())
	tracetest.AddSegment(t, dir, 0, rows.Callbacks)
	if got := countOf(t, "latency", "callback", dir, "--why"); got != len(rows.Callbacks) {
		t.Errorf("%d executions, want %d", got, len(rows.Callbacks))
	}
	for _, flags := range [][]string{{"--csv"}, {"--csv", "--series"}} {
		_, out, _ := runCommand(append([]string{"latency", "callback", dir, "--why"}, flags...)...)
		header, _, _ := strings.Cut(out, "\n")
		for _, column := range []string{"cpu_time", "preempted_time", "blocked_time", "wakeup_latency", "preemptions", "migrations"} {
			if !slices.Contains(strings.Split(header, ","), column) {
				t.Errorf("%v: no column %s: %s", flags, column, header)
			}
		}
	}
	code, out, problems := runCommand("latency", "callback", dir, "--why", "--series", "--csv")
	if lines := strings.Count(out, "\n"); code != exitSuccess || lines != len(rows.Callbacks)+1 {
		t.Errorf("exit code %d, %d lines, want a header and %d: %s", code, lines, len(rows.Callbacks), problems)
	}
}

// TestLatencyCallbackOffCPU: each cause is a row; where none was recorded the answer names the remedy.
func TestLatencyCallbackOffCPU(t *testing.T) {
	dir, _ := syntheticDataset(t)
	if code, _, problems := runCommand("latency", "callback", dir, "--off-cpu"); code != exitNoTarget || !strings.Contains(problems, "record --sched=full") {
		t.Errorf("exit code %d: %s", code, problems)
	}
	for _, other := range []string{"--histogram", "--why"} {
		if code, _, problems := runCommand("latency", "callback", dir, "--off-cpu", other); code != exitUsage || !strings.Contains(problems, "--off-cpu") {
			t.Errorf("%s: exit code %d: %s", other, code, problems)
		}
	}
	code, out, problems := runCommand("latency", "callback", relayDataset(t), "--off-cpu", "--csv")
	if code != exitSuccess || strings.Count(out, "\n") != 2 || !strings.Contains(out, ",preempted,hog,1,1,") {
		t.Errorf("exit code %d, %q: %s", code, out, problems)
	}
}

// TestLatencyCallbackBefore: where no time off the CPU was recorded the answer names the remedy.
func TestLatencyCallbackBefore(t *testing.T) {
	dir, _ := syntheticDataset(t)
	if code, _, problems := runCommand("latency", "callback", dir, "--before"); code != exitNoTarget || !strings.Contains(problems, "record --sched=full") {
		t.Errorf("exit code %d: %s", code, problems)
	}
	for _, other := range []string{"--histogram", "--why", "--off-cpu"} {
		if code, _, problems := runCommand("latency", "callback", dir, "--before", other); code != exitUsage || !strings.Contains(problems, "--before") {
			t.Errorf("%s: exit code %d: %s", other, code, problems)
		}
	}
}

// TestLatencyPathWhy: each hop says where its time went, or how often that is not known.
func TestLatencyPathWhy(t *testing.T) {
	dir, chatter, relayed := relayDataset(t), "/chatter", "/relayed"
	code, out, problems := runCommand("latency", "path", dir, "--from", chatter, "--to", relayed, "--why", "--csv")
	if code != exitSuccess || !strings.Contains(out, ",other_callbacks,") || strings.Count(out, "\n") < 3 {
		t.Errorf("exit code %d, %q: %s", code, out, problems)
	}
	for _, other := range []string{"--histogram", "--stacked-bar", "--lost"} {
		if code, _, problems := runCommand("latency", "path", dir, "--from", chatter, "--to", relayed, "--why", other); code != exitUsage || !strings.Contains(problems, "--why") {
			t.Errorf("%s: exit code %d: %s", other, code, problems)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, trace.TableSched)); err != nil {
		t.Fatal(err)
	}
	if code, _, problems := runCommand("latency", "path", dir, "--from", chatter, "--to", relayed, "--why"); code != exitNoTarget || !strings.Contains(problems, "record --sched=full") {
		t.Errorf("exit code %d: %s", code, problems)
	}
}

func TestLatencySeries(t *testing.T) {
	dir, rows := syntheticDataset(t)
	code, out, problems := runCommand("latency", "callback", dir, "--series", "--csv")
	if lines := strings.Count(out, "\n"); code != exitSuccess || lines != len(rows.Callbacks)+1 {
		t.Errorf("exit code %d, %d lines, want a header and %d: %s", code, lines, len(rows.Callbacks), problems)
	}
	file := filepath.Join(t.TempDir(), "communication.parquet")
	code, out, problems = runCommand("latency", "communication", dir, "--series", "--parquet", file)
	if info, err := os.Stat(file); code != exitSuccess || out != "" || err != nil || info.Size() == 0 {
		t.Errorf("exit code %d, %v, printed %q: %s", code, err, out, problems)
	}
}

// Publishers and subscriptions are known by their topics alone here.
func TestLatencyCommunicationOfUnknownEntities(t *testing.T) {
	dir, rows := syntheticDataset(t)
	want := 0
	for i := range rows.Callbacks {
		if rows.Callbacks[i].SourceTimestamp.Valid {
			want++
		}
	}
	if got := countOf(t, "latency", "communication", dir); got != want {
		t.Errorf("%d messages, want %d", got, want)
	}
}

// Flags that say something of instances are refused where there are none.
func TestFlagsOfInstances(t *testing.T) {
	dir, _ := syntheticDataset(t)
	for _, refused := range [][]string{
		{"latency", "path", dir, "--from", "/a", "--lost"},
		{"latency", "path", dir, "--from", "/a", "--histogram", "--lost"},
		{"latency", "path", dir, "--from", "/a", "--series", "--plot", "--lost"},
		{"latency", "response-time", dir, "--from", "/a", "--of", "input"},
		{"latency", "response-time", dir, "--from", "/a", "--of", "message"},
		{"period", dir, "--of", "path"},
	} {
		if code, _, problems := runCommand(refused...); code != exitUsage || !strings.Contains(problems, refused[len(refused)-1]) && !strings.Contains(problems, "--of") {
			t.Errorf("%v: exit code %d: %s", refused, code, problems)
		}
	}
}

// A path that is named twice, or lies between the topics that are named, is answered once.
func TestPathsAreAnsweredOnce(t *testing.T) {
	dir := relayDataset(t)
	path := "[/talker]-[/chatter]-[/relay]-[/relayed]"
	rows := func(arguments ...string) string {
		code, out, problems := runCommand(append([]string{"latency", "path", dir, "--csv", "-q"}, arguments...)...)
		if code != exitSuccess {
			t.Fatalf("%v: exit code %d: %s", arguments, code, problems)
		}
		return out
	}
	once := rows("--path", path)
	if strings.Count(once, "\n") < 3 {
		t.Fatalf("the path has the rows\n%s", once)
	}
	for _, arguments := range [][]string{{"--path", path, "--path", path}, {"--path", path, "--from", "/chatter", "--to", "/relayed"}} {
		if got := rows(arguments...); got != once {
			t.Errorf("%v gives\n%s\nwant\n%s", arguments, got, once)
		}
	}
}
