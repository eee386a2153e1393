package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// A bar appears when a second has passed, and moves ten times a second at most.
func TestReadProgress(t *testing.T) {
	var out bytes.Buffer
	at := time.Unix(0, 0)
	show := showReadProgress(&output{stream: &out}, func() time.Time { return at })
	for _, step := range []struct {
		after       time.Duration
		read, total int64
		want        string
	}{
		{900 * time.Millisecond, 10, 100, ""},
		{200 * time.Millisecond, 0, 0, ""}, // nothing to read
		{time.Millisecond, 50, 100, "\r[" + strings.Repeat("=", 15) + strings.Repeat(" ", 15) + "] 50 % of 100 rows"},
		{50 * time.Millisecond, 60, 100, ""},
		{100 * time.Millisecond, 100, 100, "\r[" + strings.Repeat("=", 30) + "] 100 % of 100 rows"},
	} {
		at = at.Add(step.after)
		out.Reset()
		if show(step.read, step.total); out.String() != step.want {
			t.Errorf("after %v: %q, want %q", at.Sub(time.Unix(0, 0)), out.String(), step.want)
		}
	}
}

// Only a terminal shows the bar, and its line is cleared.
func TestReadProgressIsForTerminals(t *testing.T) {
	terminal, screen := openTerminal(t, 80)
	shownOn := &output{stream: terminal}
	if newReadProgress(shownOn, false) == nil {
		t.Error("a terminal shows no progress")
	}
	if newReadProgress(shownOn, true) != nil || newReadProgress(&output{stream: new(bytes.Buffer)}, false) != nil {
		t.Error("progress is shown where it was not wanted, or where nobody sees it")
	}
	var file bytes.Buffer
	endProgress(&output{stream: &file}, false)
	endProgress(shownOn, true)
	endProgress(shownOn, false)
	shown := make([]byte, 80)
	n, err := screen.Read(shown)
	if err != nil || string(shown[:n]) != "\r\x1b[K" || file.Len() > 0 {
		t.Errorf("the terminal was sent %q (%v), the file %q", shown[:n], err, file.String())
	}
}
