package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/analyze/rank"
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

// recordedLive records a stand-in, and returns the dataset and what was shown live of two seconds.
func recordedLive(t *testing.T, arguments string, paths ...string) (s live.Snapshot, dir string) {
	t.Helper()
	requireRecording(t)
	node := standin.Start(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: strings.Fields(arguments)})
	node.WaitReady()
	r := newRecordedBy(t, 0, "-p", strconv.Itoa(node.PID()))
	r.start()
	r.waitFor("recording to")
	request := control.LiveRequest{SpanNs: int64(2 * time.Second), Paths: paths}
	for deadline := time.Now().Add(time.Minute); s.EndNs-s.BeginNs < request.SpanNs; time.Sleep(100 * time.Millisecond) {
		var err error
		if s, err = r.client.Live(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("it is still about %d ns", s.EndNs-s.BeginNs)
		}
	}
	if _, err := r.client.Live(t.Context(), control.LiveRequest{Paths: []string{"nonsense"}}); !errors.Is(err, control.ErrRefused) {
		t.Errorf("a path that is none: %v", err)
	}
	if _, err := r.client.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code := r.exitCode(); code != exitSuccess {
		t.Fatalf("exit code %d", code)
	}
	return s, r.output
}

// shownCount is how many there were of what came at a rate.
func shownCount(s live.Snapshot, rate float64) uint64 {
	return uint64(math.Round(rate * float64(s.EndNs-s.BeginNs) / 1e9))
}

// shownLine is what is compared of a row.
func shownLine(of, name string, count uint64, d live.Durations) string {
	return fmt.Sprintf("%s %s %d %v %v %v", of, name, count, d.P50, d.P99, d.Max)
}

// What is shown live of a time is what the dataset answers about it.
func TestLiveIsWhatTheDatasetSays(t *testing.T) {
	s, dir := recordedLive(t, "--nodes 2 --topics 2 --rate 50 --threads 2")
	var shown, want []string
	for _, row := range s.Callbacks {
		shown = append(shown, shownLine(row.Node, row.Callback, shownCount(s, row.Rate), row.Durations))
	}
	for _, row := range askSpan(t, s, "latency", "callback", dir) {
		want = append(want, shownLine(row.Node, cmp.Or(row.Topic, row.Symbol), row.Count, live.Durations{P50: row.P50, P99: row.P99, Max: row.Max}))
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
			shown = append(shown, shownLine(row.Node, row.Topic, row.Lost.Value, row.Durations))
		}
	}
	for _, row := range askSpan(t, s, "latency", "communication", dir) {
		if row.Count > 0 {
			want = append(want, shownLine(row.Subscription, row.Topic, row.Lost, live.Durations{P50: row.P50, P99: row.P99, Max: row.Max}))
		}
	}
	requireSame(t, "topics", shown, want)
}

// What is shown live of a path is what the dataset tells of the messages that got to its end meanwhile.
func TestLivePathIsWhatTheDatasetSays(t *testing.T) {
	s, dir := recordedLive(t, "--nodes 3 --rate 50 --chain", "from=/n0/t0$ to=/n0/t0/relayed$")
	if len(s.Paths) != 1 || s.Paths[0].Rate == 0 {
		t.Fatalf("%+v", s.Paths)
	}
	row := s.Paths[0]
	count, latencies := arrivedInSpan(t, s, dir)
	requireSame(t, "paths", []string{shownLine(row.From, row.To, shownCount(s, row.Rate), row.Durations)}, []string{shownLine(row.From, row.To, count, latencies)})
}

// arrivedInSpan tells of the messages on the path that got to its end in the span of what was shown live.
func arrivedInSpan(t *testing.T, s live.Snapshot, dir string) (count uint64, d live.Durations) {
	t.Helper()
	topic := func(end string) string {
		for _, row := range s.Topics {
			if strings.HasSuffix(row.Topic, end) {
				return row.Topic
			}
		}
		t.Fatalf("no topic ends with %s: %+v", end, s.Topics)
		return ""
	}
	code, out, problems := runCommand("latency", "path", dir, "--series", "--json", "--quiet", "--from", topic("/n0/t0"), "--to", topic("/n0/t0/relayed"))
	if code != exitSuccess {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	var hops []struct {
		Hop     int   `json:"hop"`
		End     int64 `json:"end_timestamp"`
		Latency int64 `json:"latency"`
	}
	if err := json.Unmarshal([]byte(out), &hops); err != nil {
		t.Fatal(err)
	}
	var values []int64
	for _, h := range hops {
		if h.Hop == 0 && s.BeginNs <= h.End && h.End < s.EndNs {
			values = append(values, h.Latency)
		}
	}
	if len(values) == 0 {
		return 0, d
	}
	slices.Sort(values)
	at := func(share float64) trace.Optional[int64] {
		return trace.Some(values[rank.Nearest(share, uint64(len(values)))-1])
	}
	return uint64(len(values)), live.Durations{P50: at(0.5), P99: at(0.99), Max: at(1)}
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

// topOnTerminal is top while it shows a process.
type topOnTerminal struct {
	t                *testing.T
	program          *exec.Cmd
	terminal, screen *os.File
	stderr           bytes.Buffer
}

// startTop starts top, and returns when the process is on the screen. What is shown later is read and forgotten.
func startTop(t *testing.T, node *standin.Process) *topOnTerminal {
	t.Helper()
	terminal, screen := openTerminal(t, 100)
	program := programCommand("top", "-p", strconv.Itoa(node.PID()), "--span", "1s")
	program.Dir, program.Stdin, program.Stdout = t.TempDir(), terminal, terminal
	program.Env = append(program.Env, "TERM=xterm")
	program.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	top := &topOnTerminal{t: t, program: program, terminal: terminal, screen: screen}
	program.Stderr = &top.stderr
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
			t.Fatalf("the screen shows %d bytes; %s", len(all), top.stderr.String())
		}
	}
	go func() {
		for range shown {
		}
	}()
	return top
}

// top shows a process on a terminal until somebody quits, and leaves nothing.
func TestTop(t *testing.T) {
	requireRecording(t)
	node := standin.StartReady(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "50"}})
	top := startTop(t, node)
	if _, err := top.screen.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	if err := top.program.Wait(); err != nil {
		t.Errorf("%v: %s", err, top.stderr.String())
	}
	if left, err := os.ReadDir(top.program.Dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// top gives the terminal back as it was, also where it is asked to end a second time because the terminal, whose output
// somebody has stopped, keeps it from ending.
func TestTopGivesTheTerminalBack(t *testing.T) {
	requireRecording(t)
	node := standin.StartReady(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "50"}})
	for name, test := range map[string]struct {
		stopped bool
		code    int
	}{
		"asked once":  {false, exitSuccess},
		"asked twice": {true, exitInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			top := startTop(t, node)
			if during := top.mode(); during&(unix.ICANON|unix.ECHO) != 0 {
				t.Errorf("while top shows something the terminal's mode is %#x", during)
			}
			if test.stopped {
				const suspendOutput = 0 // TCOOFF, as Ctrl-S does
				if err := unix.IoctlSetInt(int(top.terminal.Fd()), unix.TCXONC, suspendOutput); err != nil {
					t.Fatal(err)
				}
				top.waitUntilItWrites()
			}
			ended := make(chan error, 1)
			go func() { ended <- top.program.Wait() }()
			var again <-chan time.Time // until it counts as a second request
			if test.stopped {
				ticker := time.NewTicker(secondRequest)
				defer ticker.Stop()
				again = ticker.C
			}
			for isOver := false; !isOver; {
				if err := top.program.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Fatal(err)
				}
				select {
				case <-ended:
					isOver = true
				case <-again:
				}
			}
			if code := top.program.ProcessState.ExitCode(); code != test.code {
				t.Errorf("exit code %d: %s", code, top.stderr.String())
			}
			if after := top.mode(); after&unix.ICANON == 0 || after&unix.ECHO == 0 {
				t.Errorf("afterwards the terminal's mode is %#x", after)
			}
			if !top.isAwaited() {
				t.Error("afterwards who reads from the terminal does not wait")
			}
		})
	}
	node.Stop()
}

// mode is how the terminal treats what is typed.
func (t *topOnTerminal) mode() (mode uint32) {
	t.ask(func(fd int) error {
		state, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			mode = state.Lflag
		}
		return err
	})
	return mode
}

// isAwaited reports whether who reads from the terminal waits for it.
func (t *topOnTerminal) isAwaited() (isAwaited bool) {
	t.ask(func(fd int) error {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		isAwaited = flags&unix.O_NONBLOCK == 0
		return err
	})
	return isAwaited
}

// ask does something with the terminal as it is. (File.Fd would have who reads from it wait.)
func (t *topOnTerminal) ask(do func(fd int) error) {
	t.t.Helper()
	raw, err := t.terminal.SyscallConn()
	if err != nil {
		t.t.Fatal(err)
	}
	if failed := raw.Control(func(fd uintptr) { err = do(int(fd)) }); failed != nil || err != nil {
		t.t.Fatal(failed, err)
	}
}

// waitUntilItWrites waits until the terminal keeps top waiting.
func (t *topOnTerminal) waitUntilItWrites() {
	t.t.Helper()
	writes := fmt.Sprintf("%d 0x1 ", unix.SYS_WRITE) // to standard output
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		calls, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", t.program.Process.Pid))
		for _, path := range calls {
			if call, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(call), writes) {
				return
			}
		}
	}
	t.t.Fatal("top does not wait for the terminal")
}
