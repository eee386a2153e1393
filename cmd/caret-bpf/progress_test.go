package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
)

func TestProgressPrintsEverything(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, false)
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
	p := newProgress(&out, true)
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
	p := newProgress(writer, false)
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
	p := newProgress(brokenWriter{}, false)
	p.message("first")
	p.end()
}
