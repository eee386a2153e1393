package top_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/vt"

	"github.com/caret-bpf/caret-bpf/live"
	"github.com/caret-bpf/caret-bpf/top"
	"github.com/caret-bpf/caret-bpf/trace"
)

// patience is how long something may take to be on the screen.
const patience = time.Minute

// shown is a terminal with top on it.
type shown struct {
	t      *testing.T
	screen tcell.Screen
	ended  chan error
}

func show(t *testing.T, width, height int, source top.Source) *shown {
	t.Helper()
	screen, err := tcell.NewTerminfoScreenFromTty(vt.NewMockTerm(vt.MockOptSize{X: vt.Col(width), Y: vt.Row(height)}))
	if err == nil {
		err = screen.Init()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(screen.Fini)
	ctx, cancel := context.WithCancel(t.Context())
	s := &shown{t: t, screen: screen, ended: make(chan error, 1)}
	go func() { s.ended <- top.Run(ctx, screen, source) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-s.ended:
		case <-time.After(patience):
			t.Error("it does not end")
		}
	})
	return s
}

// lines are those of the screen.
func (s *shown) lines() []string {
	width, height := s.screen.Size()
	lines := make([]string, height)
	for y := range lines {
		var line strings.Builder
		for x := 0; x < width; x++ {
			text, _, cells := s.screen.Get(x, y)
			line.WriteString(text)
			x += max(0, cells-1)
		}
		lines[y] = strings.TrimRight(line.String(), " ")
	}
	return lines
}

// waitFor waits until the screen is as wanted.
func (s *shown) waitFor(what string, reached func(lines []string) bool) []string {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		lines := s.lines()
		if reached(lines) {
			return lines
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s is not on the screen:\n%s", what, strings.Join(lines, "\n"))
		}
	}
}

func (s *shown) waitForText(texts ...string) []string {
	s.t.Helper()
	return s.waitFor(strings.Join(texts, ", "), func(lines []string) bool {
		screen := strings.Join(lines, "\n")
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

func (s *shown) press(keys string) {
	for _, key := range keys {
		s.screen.EventQ() <- tcell.NewEventKey(tcell.KeyRune, string(key), tcell.ModNone)
	}
}

func (s *shown) strike(key tcell.Key) { s.screen.EventQ() <- tcell.NewEventKey(key, "", tcell.ModNone) }

// system is what is shown of a made-up system.
func system() *top.Frame {
	f := &top.Frame{Status: "5s  2 processes", Snapshot: live.Snapshot{BeginNs: 1e18, EndNs: 1e18 + 10e9}}
	for i := range 60 {
		f.Callbacks = append(f.Callbacks, live.Callback{
			Node: fmt.Sprintf("/perception/node_%02d", i), Callback: "/points", Kind: trace.KindSubscription, PID: 42, Rate: 10,
			Durations: live.Durations{P50: trace.Some(int64(1e6)), P99: trace.Some(int64(i+1) * 1e6), Max: trace.Some(int64(1e8))}, Load: float64(60 - i),
		})
	}
	f.Topics = []live.Topic{{Topic: "/points", Node: "/listener", Received: trace.Some(9.5), Lost: trace.Some(uint64(3))}}
	f.Nodes = []live.Node{{Node: "/listener", Callbacks: 12}}
	return f
}

func always(f *top.Frame) top.Source {
	return top.Source{Next: func(context.Context) (*top.Frame, error) { return f, nil }}
}

func TestTables(t *testing.T) {
	s := show(t, 120, 24, always(system()))
	s.waitForText("5s  2 processes", "(10.0 s)", "[1 callbacks]", "sorted by load", "NODE", "P99")
	s.waitFor("the rows by load", func(lines []string) bool {
		return strings.HasPrefix(lines[4], "/perception/node_00") && strings.HasPrefix(lines[5], "/perception/node_01")
	})
	for key, want := range map[string]string{"2": "[2 topics]", "3": "[3 nodes]", "4": "--path"} {
		s.press(key)
		s.waitForText(want)
	}
	s.press("2")
	s.waitForText("/points", "/listener", "9.5", "LOST")
	s.strike(tcell.KeyTab)
	s.waitForText("[3 nodes]", "/listener")
	s.press("q")
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	s.ended <- nil
}

func TestSorting(t *testing.T) {
	s := show(t, 120, 24, always(system()))
	begins := func(node string) func([]string) bool {
		return func(lines []string) bool { return strings.HasPrefix(lines[4], node) }
	}
	s.waitFor("the highest load", begins("/perception/node_00"))
	s.press("r")
	s.waitFor("the lowest load", begins("/perception/node_59"))
	s.press("r<<")
	s.waitForText("sorted by p99")
	s.waitFor("the longest", begins("/perception/node_59"))
	s.press(strings.Repeat("<", 6))
	s.waitForText("sorted by node_name")
	s.waitFor("the first name", begins("/perception/node_00"))
}

func TestFilter(t *testing.T) {
	s := show(t, 120, 24, always(system()))
	s.waitForText("/perception/node_00")
	s.press("/NODE_4")
	s.waitForText("filter: NODE_4_")
	s.waitFor("ten rows", func(lines []string) bool {
		return strings.HasPrefix(lines[4], "/perception/node_40") && strings.HasPrefix(lines[13], "/perception/node_49") && lines[14] == ""
	})
	s.strike(tcell.KeyBackspace)
	s.press("x")
	s.strike(tcell.KeyEnter)
	s.waitForText("filter NODE_x", "nothing matches the filter", "q quit")
	s.press("/")
	s.strike(tcell.KeyEscape)
	s.waitForText("/perception/node_00")
}

func TestScrolling(t *testing.T) {
	s := show(t, 120, 24, always(system()))
	s.waitForText("/perception/node_00")
	s.strike(tcell.KeyEnd)
	s.waitFor("the last row", func(lines []string) bool { return strings.HasPrefix(lines[22], "/perception/node_59") })
	s.strike(tcell.KeyPgUp)
	s.strike(tcell.KeyUp)
	s.strike(tcell.KeyDown)
	s.waitFor("what is above", func(lines []string) bool { return strings.HasPrefix(lines[22], "/perception/node_40") })
	s.strike(tcell.KeyHome)
	s.waitFor("the first row", func(lines []string) bool { return strings.HasPrefix(lines[4], "/perception/node_00") })
}

// On 80 columns, columns are left out, which is said, and no line is cut. The screen is read while it is painted anew,
// so that a line may be there by half at any one look: what is wanted has to come, and what is not must not.
func TestNarrowTerminals(t *testing.T) {
	for width, want := range map[int]struct{ areLeftOut, hasKind bool }{80: {areLeftOut: true}, 160: {hasKind: true}} {
		s := show(t, width, 24, always(system()))
		s.waitFor(fmt.Sprintf("the table of %d columns", width), func(lines []string) bool {
			return strings.Contains(lines[3], "P99") && strings.Contains(lines[4], "/perception/node_00") &&
				strings.Contains(lines[23], "q quit") && strings.Contains(lines[23], "left out") == want.areLeftOut &&
				strings.Contains(lines[3], "KIND") == want.hasKind
		})
	}
}

// What is wrong stands where the numbers are.
func TestWarnings(t *testing.T) {
	f := system()
	f.Lost, f.Unarmed, f.Beyond = 1234, 2, 5
	problem := make(chan error, 1)
	messages := make(chan string, 1)
	s := show(t, 160, 24, top.Source{Messages: messages, Next: func(context.Context) (*top.Frame, error) {
		select {
		case err := <-problem:
			return nil, err
		default:
			return f, nil
		}
	}})
	s.waitForText("1,234 records were lost", "2 files were not probed", "5 are left out")
	s.press(" ")
	s.waitForText("paused")
	messages <- "PID 7 has ended\x1b[2J"
	s.waitForText(`PID 7 has ended\x1b[2J`)
	problem <- errors.New("no answer")
	s.waitForText("no answer", "/perception/node_00")
	problem <- fmt.Errorf("%w: gone", top.ErrOver)
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	s.ended <- nil
}
