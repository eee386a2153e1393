package main

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	// progressDelay is how long a query takes before it shows its progress.
	progressDelay = time.Second
	// progressInterval is the pace of its updates.
	progressInterval = 100 * time.Millisecond
	progressWidth    = 30
)

// newReadProgress returns a function that shows on a terminal how much has been read; nil where it would be seen by
// nobody. It is safe for concurrent use.
func newReadProgress(out *output, quiet bool) func(read, total int64) {
	if !showsProgress(out, quiet) {
		return nil
	}
	return showReadProgress(out, time.Now)
}

func showReadProgress(out *output, now func() time.Time) func(read, total int64) {
	var mu sync.Mutex
	due := now().Add(progressDelay)
	return func(read, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if now := now(); now.After(due) && total > 0 {
			due = now.Add(progressInterval)
			out.steer(returnToStart)
			fmt.Fprintf(out, "[%-*s] %d %% of %d rows", progressWidth, strings.Repeat("=", int(progressWidth*read/total)), 100*read/total, total)
		}
	}
}

// endProgress clears the line.
func endProgress(out *output, quiet bool) {
	if showsProgress(out, quiet) {
		out.steer(clearLine)
	}
}

func showsProgress(out *output, quiet bool) bool { return !quiet && out.terminal() != nil }
