package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
)

func TestProgressPrintsEverything(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&output{stream: &out}, false)
	p.message("first")
	p.message("second \x1b[2J")
	p.end()
	if want := "first\nsecond \\x1b[2J\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	p.message("too late") // which must not hurt
}

func TestQuietProgress(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&output{stream: &out}, true)
	p.message("first")
	p.status(session.Status{State: trace.StateRecording, Elapsed: time.Hour})
	p.end()
	if out.Len() > 0 {
		t.Errorf("printed %q", out.String())
	}
}

// A terminal that takes nothing must not delay who tells something, and later gets what there is room for.
func TestProgressDoesNotWaitForTheTerminal(t *testing.T) {
	reader, writer := io.Pipe()
	p := newProgress(&output{stream: writer}, false)
	for i := range 3 * maxUnprinted {
		p.message(fmt.Sprint("message ", i))
		p.status(session.Status{State: trace.StateRecording, Elapsed: time.Duration(i) * time.Minute})
	}
	lines := make(chan []string)
	go func() {
		var got []string
		for scanner := bufio.NewScanner(reader); scanner.Scan(); {
			got = append(got, scanner.Text())
		}
		lines <- got
	}()
	p.end()
	_ = writer.Close()
	got := <-lines
	messages := 0
	for _, line := range got {
		if line == fmt.Sprint("message ", messages) {
			messages++
		}
	}
	if messages < maxUnprinted || !strings.Contains(strings.Join(got, "\n"), "more messages are not shown") {
		t.Errorf("%d messages in order, %d lines", messages, len(got))
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestProgressSurvivesAClosedTerminal(t *testing.T) {
	p := newProgress(&output{stream: brokenWriter{}}, false)
	p.message("first")
	p.end()
}

// A status line that wraps cannot be updated, so it is cut; messages are not.
func TestStatusFitsTheTerminal(t *testing.T) {
	const width = 30
	terminal, screen := openTerminal(t, width)
	p := newProgress(&output{stream: terminal}, false)
	message := strings.Repeat("long ", width)
	p.message(message)
	p.status(session.Status{State: trace.StateRecording, Elapsed: time.Hour, Processes: 12})
	shown := ""
	for buffer := make([]byte, 4096); !strings.Contains(shown, "1h0m0s"); {
		n, err := screen.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		shown += string(buffer[:n])
	}
	p.end()
	before, status, _ := strings.Cut(shown, "1h0m0s")
	if status = "1h0m0s" + status; len(status) != width-1 {
		t.Errorf("the status is %q on a terminal of %d columns", status, width)
	}
	if !strings.Contains(before, message) {
		t.Errorf("the message is %q", before)
	}
}

// Rates are of what has come, also where rows are removed meanwhile.
func TestStatusCountsWhatHasCome(t *testing.T) {
	table := func(rows uint64) map[string]uint64 { return map[string]uint64{trace.TableCallback: rows} }
	last := session.Status{Elapsed: time.Second, Rows: table(500), Taken: table(500)}
	now := session.Status{Elapsed: 2 * time.Second, Rows: table(100), Taken: table(700)}
	if line := statusLine(last, now); !strings.Contains(line, "callbacks 200/s") {
		t.Errorf("the status is %q", line)
	}
}

func TestStatusCountsWarnings(t *testing.T) {
	for warnings, want := range map[uint64]string{0: "overhead 0.0%", 29: "overhead 0.0%  29 more warnings"} {
		if line := statusLine(session.Status{}, session.Status{Warnings: warnings}); !strings.HasSuffix(line, want) {
			t.Errorf("%q, want %q at its end", line, want)
		}
	}
}

// The status line is the last line of the terminal for as long as something is recorded, whatever is printed meanwhile.
func TestStatusStaysTheLastLine(t *testing.T) {
	status := func(hours int) func(*progress) {
		return func(p *progress) {
			p.status(session.Status{State: trace.StateRecording, Elapsed: time.Duration(hours) * time.Hour})
		}
	}
	message := func(text string) func(*progress) { return func(p *progress) { p.message(text) } }
	over := func(p *progress) { p.status(session.Status{State: trace.StateFlushing}) }
	type step struct {
		tell   func(*progress)
		screen []string // what its lines begin with afterwards
	}
	for name, steps := range map[string][]step{
		"a message": {
			{status(1), []string{"1h0m0s"}},
			{message("first"), []string{"first", "1h0m0s"}},
			{message("second"), []string{"first", "second", "1h0m0s"}},
			{status(2), []string{"first", "second", "2h0m0s"}},
		},
		"a message before there is a status": {
			{message("first"), []string{"first", ""}},
			{status(1), []string{"first", "1h0m0s"}},
		},
		"a message that would steer the terminal": {
			{status(1), []string{"1h0m0s"}},
			{message("\x1b[2J\r\nfirst"), []string{`\x1b[2J\r\nfirst`, "1h0m0s"}},
		},
		"a message when the recording is over": {
			{status(1), []string{"1h0m0s"}},
			{over, []string{""}},
			{message("first"), []string{"first", ""}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			terminal, screen := openTerminal(t, 100)
			p := newProgress(&output{stream: terminal}, false)
			shown := make(chan []byte)
			go func() {
				for {
					buffer := make([]byte, 4096)
					n, err := screen.Read(buffer)
					if err != nil {
						return
					}
					shown <- buffer[:n]
				}
			}()
			all := ""
			for _, step := range steps {
				step.tell(p)
				for !linesBegin(screenLines(all), step.screen) {
					select {
					case text := <-shown:
						all += string(text)
					case <-time.After(time.Minute):
						t.Fatalf("the screen shows %q, want %q", screenLines(all), step.screen)
					}
				}
			}
			p.end()
		})
	}
}

// screenLines are the lines that a wide terminal shows of an output.
func screenLines(output string) []string {
	var lines []string
	for _, line := range strings.Split(output, "\n") {
		var cells []rune
		at := 0
		for len(line) > 0 {
			if rest, ok := strings.CutPrefix(line, "\x1b[K"); ok {
				cells, line = cells[:at], rest
				continue
			}
			character, size := utf8.DecodeRuneInString(line)
			line = line[size:]
			if character == '\r' {
				at = 0
				continue
			}
			cells = append(cells[:at], append([]rune{character}, cells[min(at+1, len(cells)):]...)...)
			at++
		}
		lines = append(lines, string(cells))
	}
	return lines
}

// linesBegin tells whether lines begin with texts; an empty one stands for an empty line.
func linesBegin(lines, texts []string) bool {
	return slices.EqualFunc(lines, texts, func(line, text string) bool {
		return strings.HasPrefix(line, text) && (line == "") == (text == "")
	})
}

// openTerminal returns a terminal of so many columns, and the screen on which it shows what is written to it.
func openTerminal(t *testing.T, width uint16) (terminal, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width}); err != nil {
		t.Fatal(err)
	}
	return terminal, screen
}
