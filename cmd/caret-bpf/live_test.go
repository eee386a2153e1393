package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/live"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// answered is a row of an answer, as far as it is compared with what was shown live.
type answered struct {
	Node         string                `json:"node_name"`
	Subscription string                `json:"subscription_node_name"`
	Topic        string                `json:"topic_name"`
	Symbol       string                `json:"symbol"`
	Measure      string                `json:"measure"`
	Count        uint64                `json:"count"`
	P50          trace.Optional[int64] `json:"p50"`
	P99          trace.Optional[int64] `json:"p99"`
	Max          trace.Optional[int64] `json:"max"`
	Lost         uint64                `json:"lost"`
}

// askSpan asks a dataset about the span of what was shown live.
func askSpan(t *testing.T, s live.Snapshot, question ...string) (rows []answered) {
	t.Helper()
	text := func(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
	code, out, problems := runCommand(append(question, "--json", "--quiet", "--from-time", text(s.BeginNs), "--to-time", text(s.EndNs-1))...)
	if code != exitSuccess {
		t.Fatalf("%v: exit code %d: %s", question, code, problems)
	}
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// What is shown live of a time is what the dataset answers about it.
func TestLiveIsWhatTheDatasetSays(t *testing.T) {
	requireRecording(t)
	node := standin.Start(t, standin.Config{
		Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: strings.Fields("--nodes 2 --topics 2 --rate 50 --threads 2"),
	})
	node.WaitReady()
	r := newRecordedBy(t, 0, "-p", strconv.Itoa(node.PID()))
	r.start()
	r.waitFor("recording to")
	dir, client := r.output, r.client
	request := control.LiveRequest{SpanNs: int64(2 * time.Second)}
	var s live.Snapshot
	for deadline := time.Now().Add(time.Minute); s.EndNs-s.BeginNs < request.SpanNs; time.Sleep(100 * time.Millisecond) {
		var err error
		if s, err = client.Live(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("it is still about %d ns", s.EndNs-s.BeginNs)
		}
	}
	if _, err := client.Live(t.Context(), control.LiveRequest{Paths: []string{"nonsense"}}); !errors.Is(err, control.ErrRefused) {
		t.Errorf("a path that is none: %v", err)
	}
	if _, err := client.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code := r.exitCode(); code != exitSuccess {
		t.Fatalf("exit code %d", code)
	}
	seconds := float64(s.EndNs-s.BeginNs) / 1e9
	executions := func(rate float64) uint64 { return uint64(math.Round(rate * seconds)) }
	line := func(node, name string, count uint64, d live.Durations) string {
		return fmt.Sprintf("%s %s %d %v %v %v", node, name, count, d.P50, d.P99, d.Max)
	}

	var shown, want []string
	for _, row := range s.Callbacks {
		shown = append(shown, line(row.Node, row.Callback, executions(row.Rate), row.Durations))
	}
	for _, row := range askSpan(t, s, "latency", "callback", dir) {
		want = append(want, line(row.Node, cmp.Or(row.Topic, row.Symbol), row.Count, live.Durations{P50: row.P50, P99: row.P99, Max: row.Max}))
	}
	requireSame(t, "callbacks", shown, want)

	shown, want = nil, nil
	for _, row := range s.Callbacks {
		if row.Kind == trace.KindTimer {
			shown = append(shown, fmt.Sprintf("%s %v", row.Node, row.LateP99))
		}
	}
	for _, row := range askSpan(t, s, "period", dir) {
		if row.Measure == "lateness" {
			want = append(want, fmt.Sprintf("%s %v", row.Node, row.P99))
		}
	}
	requireSame(t, "timers", shown, want)

	shown, want = nil, nil
	for _, row := range s.Topics {
		if row.Max.Valid {
			shown = append(shown, line(row.Node, row.Topic, row.Lost.Value, row.Durations))
		}
	}
	for _, row := range askSpan(t, s, "latency", "communication", dir) {
		if row.Count > 0 {
			want = append(want, line(row.Subscription, row.Topic, row.Lost, live.Durations{P50: row.P50, P99: row.P99, Max: row.Max}))
		}
	}
	requireSame(t, "topics", shown, want)
}

func requireSame(t *testing.T, what string, shown, want []string) {
	t.Helper()
	slices.Sort(shown)
	slices.Sort(want)
	if len(want) == 0 || !slices.Equal(shown, want) {
		t.Errorf("%s were shown:\n%s\nthe dataset says:\n%s", what, strings.Join(shown, "\n"), strings.Join(want, "\n"))
	}
}

func TestLiveWindows(t *testing.T) {
	w := new(liveWindows)
	first, err := w.window(control.LiveRequest{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := w.window(control.LiveRequest{SpanNs: int64(defaultLiveSpan)}, 5); err != nil || again != first {
		t.Errorf("the same request has another window, %v", err)
	}
	for _, wrong := range []control.LiveRequest{{SpanNs: 1}, {SpanNs: int64(time.Hour)}, {SpanNs: -1}, {Paths: []string{"from=a"}}} {
		if _, err := w.window(wrong, 0); !errors.Is(err, control.ErrRequest) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	for seconds := range time.Duration(maxWindows) {
		_, err = w.window(control.LiveRequest{SpanNs: int64((20 + seconds) * time.Second)}, 0)
	}
	if !errors.Is(err, control.ErrRequest) {
		t.Errorf("one window too many: %v", err)
	}
	w.all[0].last = time.Now().Add(-livePatience - time.Second)
	w.look(new(trace.Batch))
	if len(w.all) != maxWindows-1 {
		t.Errorf("%d windows are left when nobody asked for one", len(w.all))
	}
}

func TestTopNeedsATerminal(t *testing.T) {
	for _, arguments := range [][]string{{"top", "--all"}, {"top", "--control", "auto"}} {
		if code, _, problems := runCommand(arguments...); code != exitUsage || !strings.Contains(problems, "needs a terminal") {
			t.Errorf("%v: exit code %d: %s", arguments, code, problems)
		}
	}
	for _, arguments := range [][]string{{"top", "--all", "--span", "1ms"}, {"top", "--all", "--path", "from=a"}, {"top", "stray"}} {
		if code, _, problems := runCommand(arguments...); code != exitUsage {
			t.Errorf("%v: exit code %d: %s", arguments, code, problems)
		}
	}
}

// top shows a process on a terminal until somebody quits, and leaves nothing.
func TestTop(t *testing.T) {
	requireRecording(t)
	node := standin.Start(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "50"}})
	node.WaitReady()
	terminal, screen := openTerminal(t, 100)
	program := programCommand("top", "-p", strconv.Itoa(node.PID()), "--span", "1s")
	program.Dir, program.Stdin, program.Stdout = t.TempDir(), terminal, terminal
	program.Env = append(program.Env, "TERM=xterm")
	program.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	var stderr bytes.Buffer
	program.Stderr = &stderr
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Process.Kill() })
	shown := make(chan string)
	go func() {
		defer close(shown)
		for buffer := make([]byte, 4096); ; {
			n, err := screen.Read(buffer)
			if err != nil {
				return
			}
			shown <- string(buffer[:n])
		}
	}()
	all := ""
	for timeout := time.After(time.Minute); !strings.Contains(all, "SampleNode"); {
		select {
		case text := <-shown:
			all += text
		case <-timeout:
			t.Fatalf("the screen shows %d bytes; %s", len(all), stderr.String())
		}
	}
	if _, err := screen.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	go func() {
		for range shown { // it clears the screen
		}
	}()
	if err := program.Wait(); err != nil {
		t.Errorf("%v: %s", err, stderr.String())
	}
	if left, err := os.ReadDir(program.Dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
