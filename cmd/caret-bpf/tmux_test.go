package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/live"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// pane is a terminal of tmux in which a program of this test runs.
type pane struct {
	t      *testing.T
	socket string
}

// startPane starts the program in a terminal of its own.
func startPane(t *testing.T, width int, arguments ...string) pane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip(err)
	}
	p := pane{t, filepath.Join(t.TempDir(), "tmux")}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	create := p.command(append([]string{"new-session", "-d", "-x", strconv.Itoa(width), "-y", "60", program}, arguments...)...)
	create.Env = programCommand().Env
	if said, err := create.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	t.Cleanup(func() { _ = p.command("kill-server").Run() })
	return p
}

func (p pane) command(arguments ...string) *exec.Cmd {
	return exec.Command("tmux", append([]string{"-S", p.socket, "-f", "/dev/null"}, arguments...)...)
}

func (p pane) press(key string) {
	p.t.Helper()
	if said, err := p.command("send-keys", key).CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %s", err, said)
	}
}

// lines are what is on the screen.
func (p pane) lines() []string {
	p.t.Helper()
	text, err := p.command("capture-pane", "-p").Output()
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

// column returns what stands in a column of numbers, sorted, without rows that have none; none if there is no such
// column.
func (p pane) column(name string) (cells []string, shown bool) {
	end := -1
	for _, line := range p.lines() {
		runes := []rune(line)
		if end < 0 {
			if before, _, found := strings.Cut(line+" ", " "+name+" "); found && strings.HasPrefix(line, "NODE") || found && strings.HasPrefix(line, "TOPIC") {
				end = len([]rune(before)) + 1 + len(name)
			}
			continue
		}
		if len(runes) < end || strings.TrimSpace(line) == "" {
			break
		}
		cell := string(runes[:end])
		if at := strings.LastIndex(cell, "  "); at >= 0 {
			cell = cell[at+2:]
		}
		if cell != "-" {
			cells = append(cells, cell)
		}
	}
	slices.Sort(cells)
	return cells, end >= 0
}

// requireColumn waits until a column is as wanted.
func (p pane) requireColumn(name string, want []string) (shown bool) {
	p.t.Helper()
	var cells []string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if cells, shown = p.column(name); slices.Equal(cells, want) {
			return shown
		}
	}
	if shown {
		p.t.Errorf("%s on the screen: %q, want %q\n%s", name, cells, want, strings.Join(p.lines(), "\n"))
	}
	return shown
}

// durationsOf are the columns of durations, as tables write them.
func durationsOf(rows []answered) map[string][]string {
	columns := map[string][]string{}
	for _, row := range rows {
		for name, value := range map[string]trace.Optional[int64]{"P50": row.P50, "P99": row.P99, "MAX": row.Max} {
			if value.Valid {
				columns[name] = append(columns[name], report.Duration(value.Value))
			}
		}
	}
	for _, cells := range columns {
		slices.Sort(cells)
	}
	return columns
}

// topShowsWhatIsRecorded shows a program that runs in terminals of 80 and of 160 columns, beside a recording of it, and
// requires that the numbers are those that the dataset has of the same time. Meanwhile the program is stopped: what is
// shown stays as it is.
func topShowsWhatIsRecorded(t *testing.T, pid int) {
	t.Helper()
	const span = 50 * time.Second
	r := newRecordedBy(t, 0, "-p", strconv.Itoa(pid))
	r.start()
	r.waitFor("recording to")
	panes := map[int]pane{}
	for _, width := range []int{80, 160} {
		panes[width] = startPane(t, width, "top", "--control", filepath.Join(filepath.Dir(r.output), "socket"), "--span", span.String())
	}
	request := control.LiveRequest{SpanNs: int64(span)}
	ask := func() live.Snapshot {
		s, err := r.client.Live(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for deadline := time.Now().Add(time.Minute); len(ask().Topics) == 0 || ask().EndNs-ask().BeginNs < int64(3*time.Second); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing is shown")
		}
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	stopped := time.Now().UnixNano()
	var s live.Snapshot
	for s = ask(); s.EndNs < stopped+int64(time.Second); s = ask() {
		time.Sleep(100 * time.Millisecond)
	}
	if err := func() error { _, err := r.client.Flush(t.Context()); return err }(); err != nil {
		t.Fatal(err)
	}
	for key, question := range map[string]string{"1": "callback", "2": "communication"} {
		want := durationsOf(askSpan(t, s, "latency", question, r.output))
		if len(want["P99"]) == 0 {
			t.Fatalf("latency %s answers nothing", question)
		}
		for width, p := range panes {
			p.press(key)
			for _, name := range []string{"P50", "P99", "MAX"} {
				if shown := p.requireColumn(name, want[name]); !shown && (width == 160 || name == "P99") {
					t.Errorf("latency %s: of %d columns none is %s:\n%s", question, width, name, strings.Join(p.lines(), "\n"))
				}
			}
		}
	}
	if _, err := r.client.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code := r.exitCode(); code != exitSuccess {
		t.Fatalf("exit code %d", code)
	}
}

// What top shows beside a recording is what that records.
func TestTopInTmux(t *testing.T) {
	requireRecording(t)
	node := standin.StartReady(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: strings.Fields("--nodes 2 --topics 2 --rate 50 --threads 2")})
	topShowsWhatIsRecorded(t, node.PID())
}
