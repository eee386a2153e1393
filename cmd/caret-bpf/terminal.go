package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// terminalState is how a terminal was before a command has taken it over.
type terminalState struct {
	number int
	mode   *term.State
	flags  int // those of all who have it open, as the shell does: whether they wait for it
}

func saveTerminal(terminal *os.File) (s terminalState, err error) {
	s.number = int(terminal.Fd())
	if s.mode, err = term.GetState(s.number); err == nil {
		s.flags, err = unix.FcntlInt(uintptr(s.number), unix.F_GETFL, 0)
	}
	return s, err
}

// restore makes the terminal so again. It does not wait for what is still to be shown.
func (s terminalState) restore() error {
	_, err := unix.FcntlInt(uintptr(s.number), unix.F_SETFL, s.flags)
	return errors.Join(term.Restore(s.number, s.mode), err)
}
