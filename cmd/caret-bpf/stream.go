package main

import (
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/caret-bpf/caret-bpf/report"
)

// errNotPrinted ends a command whose output could not be written.
var errNotPrinted = errors.New("not everything could be printed")

// output is a stream that nothing can steer: whatever is printed passes Write, which escapes all but printable
// characters, tabs and ends of lines. It remembers the first error of writing, so that printing need not be checked
// line by line. It may be used by several goroutines at once.
type output struct {
	stream io.Writer
	// screen is what tables on the stream have to fit.
	screen report.Screen
	mu     sync.Mutex
	rest   []byte // the beginning of a character whose end has not come
	err    error
}

// kept are the characters that Write leaves as they are though they are not printable.
const kept = "\n\t"

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := append(o.rest, p...)
	whole := len(text) - partialCharacter(text)
	err := o.write(report.AppendPrintable(nil, text[:whole], kept))
	o.rest = append([]byte(nil), text[whole:]...)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// rawOutput writes to the stream what is no text, as it is.
type rawOutput struct{ *output }

func (b rawOutput) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.write(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// partialCharacter returns how many bytes at the end of a text may become a character.
func partialCharacter(text []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(text)); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

func (o *output) write(text []byte) error {
	_, err := o.stream.Write(text)
	if o.err == nil {
		o.err = err
	}
	return err
}

// The sequences that the program steers a terminal with.
const (
	returnToStart = "\r"
	clearLine     = "\r\x1b[K"
)

// steer moves the cursor of a terminal.
func (o *output) steer(sequence string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.write([]byte(sequence))
}

// terminal is where the stream is shown, nil if it is none.
func (o *output) terminal() *os.File {
	if file, isFile := o.stream.(*os.File); isFile && term.IsTerminal(int(file.Fd())) {
		return file
	}
	return nil
}

// width is how many cells a line of the terminal has, 0 if the stream is none. COLUMNS overrides what the terminal
// says.
func (o *output) width(getenv func(string) string) int {
	terminal := o.terminal()
	if terminal == nil {
		return 0
	}
	if columns, err := strconv.Atoi(getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	width, _, err := term.GetSize(int(terminal.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// isClosed reports whether nobody reads on, as in `caret-bpf list | head -1`.
func (o *output) isClosed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return errors.Is(o.err, syscall.EPIPE)
}

// end writes what waits, and returns what kept text from being written. That nobody reads on is not a failure.
func (o *output) end() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.rest) > 0 {
		_ = o.write(report.AppendPrintable(nil, o.rest, kept))
		o.rest = nil
	}
	if errors.Is(o.err, syscall.EPIPE) {
		return nil
	}
	return o.err
}
