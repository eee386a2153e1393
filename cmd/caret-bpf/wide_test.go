package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/report"
)

// runOnTerminal runs the program on a terminal of so many columns. columns is the variable COLUMNS.
func runOnTerminal(t *testing.T, width uint16, columns string, arguments ...string) (code int, out string) {
	t.Helper()
	terminal, screen := openTerminal(t, width)
	shown := make(chan string)
	go func() {
		text, _ := io.ReadAll(screen) // it ends with an error when the terminal is closed
		shown <- string(text)
	}()
	var problems bytes.Buffer
	getenv := func(name string) string { return map[string]string{"COLUMNS": columns}[name] }
	code = execute(context.Background(), newConsole(terminal, &problems, getenv), arguments)
	_ = terminal.Close()
	if problems.Len() > 0 {
		t.Errorf("%v says %s", arguments, problems.String())
	}
	return code, strings.ReplaceAll(<-shown, "\r\n", "\n")
}

// lineWidth is the width of the widest line of a table, without the sentence below it, or in place of it.
func lineWidth(out string) (widest int) {
	for line := range strings.Lines(out) {
		if !strings.Contains(line, "--wide") && !strings.HasPrefix(line, "no ") {
			widest = max(widest, report.Width(strings.TrimSuffix(line, "\n")))
		}
	}
	return widest
}

// Each table fits the terminal, and says below what there was no room for. --wide shows it, and so do pipes.
func TestTablesFitTheTerminal(t *testing.T) {
	dir, _ := syntheticDataset(t)
	relay, whyDir := relayDataset(t), workers(t, 0, 10*time.Millisecond)
	for _, question := range append(questions(relay, "/chatter", "/relayed"), [][]string{
		{"latency", "callback", dir}, {"latency", "callback", dir, "--series"}, {"latency", "communication", dir}, {"latency", "communication", dir, "--series"},
		{"latency", "callback", whyDir, "--why"}, {"latency", "callback", whyDir, "--why", "--series"}, {"latency", "callback", whyDir, "--before"},
		{"period", dir}, {"frequency", dir}, {"load", dir}, {"info", dir, "--part", "callbacks"}, {"graph", relay},
	}...) {
		if question[0] == "diff" {
			continue // nothing but sentences, which the terminal breaks into lines
		}
		t.Run(strings.Join(question[:2], " "), func(t *testing.T) {
			question = append(question, "--quiet")
			_, piped, _ := runCommand(question...)
			for _, width := range []uint16{40, 80, 120, 200} {
				_, out := runOnTerminal(t, width, "", question...)
				if got := lineWidth(out); got > int(width) {
					t.Errorf("on %d columns a line has %d cells:\n%s", width, got, out)
				}
				if isWhole := lineWidth(piped) <= int(width); isWhole == strings.Contains(out, "--wide shows") {
					t.Errorf("on %d columns, of %d cells:\n%s", width, lineWidth(piped), out)
				}
			}
			if _, out := runOnTerminal(t, 40, "", append(question, "--wide")...); out != piped {
				t.Errorf("with --wide:\n%s\ninto a pipe:\n%s", out, piped)
			}
		})
	}
}

// Where the time went is what is asked for: on 80 columns all parts are there, and who preempted.
func TestPartsStayOnNarrowTerminals(t *testing.T) {
	dir := workers(t, 0, 10*time.Millisecond)
	path := "[" + workersCamera + "]-[" + workersTopic + "]-[" + workersDetector + "]"
	for _, test := range []struct {
		question []string
		parts    []string
		says     []string
	}{
		{[]string{"latency", "callback", dir, "--why"}, []string{"MEAN", "ON CPU", "PREEMPT", "BLOCKED", "WAKEUP"}, []string{"hog"}},
		{[]string{"latency", "callback", dir, "--before"}, []string{"MEAN", "OTHERS", "EXEC", "PREEMPT", "BLOCKED", "WAKEUP"}, nil},
		{[]string{"latency", "path", dir, "--path", path, "--include-last-callback", "--why"}, []string{"HOP", "NAME", "MEAN", "ON CPU", "OTHERS", "EXEC", "PREEMPT", "BLOCKED", "WAKEUP"}, []string{"hog"}},
	} {
		for _, width := range []uint16{80, 160} {
			_, out := runOnTerminal(t, width, "", append(test.question, "--quiet")...)
			header, _, _ := strings.Cut(out, "\n")
			for _, part := range test.parts {
				if !strings.Contains(header, part) {
					t.Errorf("%v on %d columns has no %s:\n%s", test.question[1:], width, part, out)
				}
			}
			for _, text := range test.says {
				if !strings.Contains(out, text) {
					t.Errorf("%v on %d columns does not say %s:\n%s", test.question[1:], width, text, out)
				}
			}
			if got := lineWidth(out); got > int(width) {
				t.Errorf("%v on %d columns has a line of %d cells:\n%s", test.question[1:], width, got, out)
			}
		}
	}
}

// Flags fit a terminal of 80 columns.
func TestHelpFitsTheTerminal(t *testing.T) {
	for _, command := range commands() {
		for _, one := range append(command.subcommands, command) {
			if len(one.subcommands) > 0 {
				continue
			}
			arguments := []string{command.name}
			if one.name != command.name {
				arguments = append(arguments, one.name)
			}
			for width, longest := range map[uint16]int{80: 80, 200: helpWidth} {
				_, out := runOnTerminal(t, width, "", append(arguments, "--help")...)
				for line := range strings.Lines(out) {
					if isOfFlags := strings.HasPrefix(line, "      ") || strings.HasPrefix(line, "  -"); isOfFlags && report.Width(strings.TrimSuffix(line, "\n")) > longest {
						t.Errorf("%v on %d columns: %s", arguments, width, line)
					}
				}
			}
		}
	}
}

func TestColumnsOverrideTheTerminal(t *testing.T) {
	dir, _ := syntheticDataset(t)
	_, narrow := runOnTerminal(t, 200, "60", "latency", "callback", dir)
	if got := lineWidth(narrow); got > 60 {
		t.Errorf("a line has %d cells:\n%s", got, narrow)
	}
	for _, nonsense := range []string{"", "0", "-1", "many"} {
		if _, out := runOnTerminal(t, 60, nonsense, "latency", "callback", dir); out != narrow {
			t.Errorf("COLUMNS=%q:\n%s\nwant\n%s", nonsense, out, narrow)
		}
	}
}

// The forms for programs have no width.
func TestFormsForProgramsAreWhole(t *testing.T) {
	dir, _ := syntheticDataset(t)
	for _, form := range []string{"--json", "--csv"} {
		_, piped, _ := runCommand("latency", "callback", dir, form)
		if _, out := runOnTerminal(t, 40, "", "latency", "callback", dir, form); out != piped {
			t.Errorf("%s on a terminal:\n%s\ninto a pipe:\n%s", form, out, piped)
		}
	}
}
