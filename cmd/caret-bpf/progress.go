package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
)

// plainInterval is the pace of status lines where no terminal can update one.
const plainInterval = 10 * time.Second

// maxUnprinted bounds the messages that wait for a terminal that does not go on.
const maxUnprinted = 1000

// progress shows a session: on a terminal one line that updates itself, elsewhere a line now and then. A goroutine of
// its own prints, so that a terminal that blocks does not delay the recording. Its methods may be called from several
// goroutines.
type progress struct {
	out      *output
	quiet    bool
	terminal *os.File      // nil where out is none
	wake     chan struct{} // has room for one
	printed  chan struct{} // closed when everything is printed that will be

	mu       sync.Mutex // guards what follows
	messages []string
	dropped  int             // messages that were too many
	news     *session.Status // the latest that was not printed
	over     bool            // nothing is recorded any more: there is no status
	ended    bool
}

// newProgress begins to print to out until end is called.
func newProgress(out *output, quiet bool) *progress {
	p := &progress{out: out, quiet: quiet, terminal: out.terminal(), wake: make(chan struct{}, 1), printed: make(chan struct{})}
	go p.print()
	return p
}

func (p *progress) message(text string) {
	p.tell(func() {
		if len(p.messages) < maxUnprinted {
			p.messages = append(p.messages, report.Printable(text))
		} else {
			p.dropped++
		}
	})
}

func (p *progress) status(s session.Status) {
	p.tell(func() {
		switch s.State {
		case trace.StateArmed: // it waits for its start
		case trace.StateRecording:
			p.news = &s
		default:
			p.over = true
		}
	})
}

// end returns when everything is printed.
func (p *progress) end() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.wakePrinter()
	<-p.printed
}

// tell notes something for the printer.
func (p *progress) tell(note func()) {
	if p.quiet {
		return
	}
	p.mu.Lock()
	note()
	p.mu.Unlock()
	p.wakePrinter()
}

func (p *progress) wakePrinter() {
	select {
	case p.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// print prints what there is until the end.
func (p *progress) print() {
	defer close(p.printed)
	var last session.Status
	var plain time.Duration // when a status was printed last, where no line can be updated
	line := ""              // the status line that belongs on the terminal
	shown := false          // it stands there
	for ended := false; !ended; {
		<-p.wake
		p.mu.Lock()
		messages, dropped, news, over := p.messages, p.dropped, p.news, p.over
		p.messages, p.dropped, p.news = nil, 0, nil
		ended = p.ended
		p.mu.Unlock()
		if dropped > 0 {
			messages = append(messages, fmt.Sprintf("%d more messages are not shown", dropped))
		}
		over = over || ended
		if shown && (over || news != nil || len(messages) > 0) {
			p.out.steer(clearLine)
			shown = false
		}
		for _, text := range messages {
			fmt.Fprintln(p.out, text)
		}
		if over {
			line = ""
		} else if news != nil {
			line = statusLine(last, *news)
			last = *news
			if p.terminal == nil && news.Elapsed-plain >= plainInterval {
				plain = news.Elapsed
				fmt.Fprintln(p.out, line)
			}
		}
		if p.terminal != nil && line != "" && !shown {
			fmt.Fprint(p.out, p.fit(line)) // anew below messages, so that it is always the last line
			shown = true
		}
	}
}

// fit cuts a line to the terminal's width as it is now: of a line that wraps, only the last part could be updated.
func (p *progress) fit(line string) string {
	width, _, err := term.GetSize(int(p.terminal.Fd()))
	if characters := []rune(line); err == nil && width > 0 && len(characters) >= width {
		return string(characters[:width-1]) // the last column makes some terminals begin the next line
	}
	return line
}

// statusLine shows rates over the time since the last status.
func statusLine(last, now session.Status) string {
	seconds := (now.Elapsed - last.Elapsed).Seconds()
	rate := func(table string) string {
		if seconds <= 0 {
			return "0/s"
		}
		return report.Count(uint64(float64(now.Taken[table]-last.Taken[table])/seconds)) + "/s"
	}
	fill := 0
	if now.RingBytes > 0 {
		fill = 100 * now.RingPending / now.RingBytes
	}
	lost := report.Count(now.Lost)
	if now.Unarmed > 0 {
		lost += fmt.Sprintf(" and %d files for a time", now.Unarmed)
	}
	line := fmt.Sprintf("%s  %d processes  callbacks %s  publishes %s  lost %s  buffer %d%%  overhead %.1f%%",
		now.Elapsed.Round(time.Second), now.Processes, rate("callback"), rate("publish"), lost, fill, 100*now.Overhead)
	if u := now.Uploads; u != nil {
		line += fmt.Sprintf("  uploads %d wait", u.Waiting)
		if u.OfflineSince != 0 {
			line += ", offline"
		}
	}
	if now.Warnings > 0 {
		line += fmt.Sprintf("  %d more warnings", now.Warnings)
	}
	return line
}
