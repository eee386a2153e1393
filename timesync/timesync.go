// Package timesync reads what the kernel knows of how well real time is synchronized. It sets nothing.
package timesync

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/selfexec"
)

// Bits of State.Status, as adjtimex(2) has them.
const (
	statusUnsynchronized = 0x40   // STA_UNSYNC
	statusNanoseconds    = 0x2000 // STA_NANO
)

// State is what adjtimex(2) tells.
type State struct {
	// Status are the bits STA_….
	Status int32
	// Synchronized: whoever sets the clock has said so, and has renewed it in time.
	Synchronized bool
	// MaxError bounds how far real time is off, and EstimatedError is how far it seems to be, in nanoseconds: what
	// whoever sets the clock has told the kernel. The kernel adds 500 µs to MaxError each second.
	MaxError, EstimatedError int64
	// Remaining is how much real time is still to be slewed, in nanoseconds.
	Remaining int64
	// Frequency is by how much the clock is made faster, in 2⁻¹⁶ parts per million, and Tick how many microseconds a tick
	// of it has (10,000 if it is not made faster by that, too).
	Frequency, Tick int64
	// TAI is how many seconds TAI is ahead; 0 if nobody has told the kernel.
	TAI int32
}

// Reader reads the state.
type Reader struct {
	allowed bool
}

// NewReader finds out whether the state may be read.
func NewReader() *Reader {
	r := &Reader{allowed: true}
	if isFiltered() {
		r.allowed = mayRead()
	}
	return r
}

// Read returns the state; ok is false where it cannot be read.
func (r *Reader) Read() (state State, ok bool) {
	if !r.allowed {
		return State{}, false
	}
	state, err := read()
	return state, err == nil
}

func read() (State, error) {
	var of unix.Timex // no modes: nothing is set
	if _, err := unix.Adjtimex(&of); err != nil {
		return State{}, fmt.Errorf("adjtimex: %w", err)
	}
	return stateOf(&of), nil
}

func stateOf(of *unix.Timex) State {
	unit := time.Microsecond
	if of.Status&statusNanoseconds != 0 {
		unit = time.Nanosecond
	}
	return State{
		Status: of.Status, Synchronized: of.Status&statusUnsynchronized == 0,
		MaxError: int64(of.Maxerror) * int64(time.Microsecond), EstimatedError: int64(of.Esterror) * int64(time.Microsecond),
		Remaining: int64(of.Offset) * int64(unit), Frequency: int64(of.Freq), Tick: int64(of.Tick), TAI: of.Tai,
	}
}

// helperName is the name of the helper that asks in this program's place.
const helperName = "caret-bpf-clock"

func init() {
	if !selfexec.Is(helperName) {
		return
	}
	// Whoever collects core dumps has nothing to do with it.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	if _, err := read(); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// isFiltered tells whether a filter of system calls is on this program. It may end whoever does what it does not allow:
// systemd's do, unless told otherwise.
func isFiltered() bool {
	status, err := os.ReadFile("/proc/self/status")
	return err != nil || isFilteredBy(status)
}

func isFilteredBy(status []byte) bool { return !bytes.Contains(status, []byte("\nSeccomp:\t0\n")) }

// mayRead has a helper try, on which is the same filter.
func mayRead() bool {
	begun := selfexec.Begin()
	defer begun()
	helper, err := selfexec.Start(helperName)
	return err == nil && helper.Wait() == nil
}
