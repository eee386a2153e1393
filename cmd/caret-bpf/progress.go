package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
)

// plainInterval is the pace of status lines where no terminal can update one.
const plainInterval = 10 * time.Second

// progress shows a session: on a terminal one line that updates itself, elsewhere a line now and then.
type progress struct {
	mu       sync.Mutex
	out      io.Writer
	quiet    bool
	terminal bool
	shown    bool // a status line stands on the terminal
	last     session.Status
	printed  time.Duration
}

func newProgress(out io.Writer, quiet bool) *progress {
	file, isFile := out.(*os.File)
	return &progress{out: out, quiet: quiet, terminal: isFile && term.IsTerminal(int(file.Fd()))}
}

func (p *progress) message(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quiet {
		return
	}
	p.clear()
	fmt.Fprintln(p.out, printable(text))
}

func (p *progress) status(s session.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.last
	p.last = s
	if p.quiet || s.State != trace.StateRecording {
		return
	}
	if p.terminal {
		p.clear()
		fmt.Fprint(p.out, statusLine(last, s))
		p.shown = true
	} else if s.Elapsed-p.printed >= plainInterval {
		p.printed = s.Elapsed
		fmt.Fprintln(p.out, statusLine(last, s))
	}
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// clear removes the status line.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}

// statusLine shows rates over the time since the last status.
func statusLine(last, now session.Status) string {
	seconds := (now.Elapsed - last.Elapsed).Seconds()
	rate := func(table string) string {
		if seconds <= 0 {
			return "0/s"
		}
		return formatCount(uint64(float64(now.Rows[table]-last.Rows[table])/seconds)) + "/s"
	}
	fill := 0
	if now.RingBytes > 0 {
		fill = 100 * now.RingPending / now.RingBytes
	}
	return fmt.Sprintf("%s  %d processes  callbacks %s  publishes %s  lost %s  buffer %d%%",
		now.Elapsed.Round(time.Second), now.Processes, rate("callback"), rate("publish"), formatCount(now.Lost), fill)
}
