package busy

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Meter reads what a program of testdata/busy shows of itself (its meter.hpp).
type Meter struct{ words *[3]uint64 }

// Reading is how many callbacks a thread had executed at an instant, and the processor time that it had taken.
type Reading struct{ Callbacks, Nanoseconds uint64 }

const (
	// LeastCallbacks is how many callbacks a measurement must have.
	LeastCallbacks = 1000
	// Patience is how long it waits for them: on a busy machine the thread may not get a core for a while.
	Patience = 20 * time.Second
)

// ErrTooFew: the program executes too few callbacks to be measured.
var ErrTooFew = errors.New("the program executes too few callbacks")

// OpenMeter maps the file of a meter, which it creates.
func OpenMeter(path string) (*Meter, error) {
	words, err := MapWords[[3]uint64](path, unix.PROT_READ)
	if err != nil {
		return nil, err
	}
	return &Meter{words}, nil
}

// MapWords maps a file of some words, which it creates, with a protection of mmap(2). Other processes see what is
// written.
func MapWords[W any](path string, protection int) (*W, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	size := int(unsafe.Sizeof(*new(W)))
	if err := file.Truncate(int64(size)); err != nil {
		return nil, err
	}
	mapped, err := unix.Mmap(int(file.Fd()), 0, size, protection, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return (*W)(unsafe.Pointer(&mapped[0])), nil
}

// Close unmaps the file.
func (m *Meter) Close() error {
	return unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(m.words)), unsafe.Sizeof(*m.words)))
}

// Read returns the latest reading. The program writes the count before the time and once more behind it.
func (m *Meter) Read() Reading {
	for {
		ended := atomic.LoadUint64(&m.words[2])
		time := atomic.LoadUint64(&m.words[1])
		if atomic.LoadUint64(&m.words[0]) == ended {
			return Reading{ended, time}
		}
	}
}

// TimePerCallback returns the processor time in nanoseconds that the thread takes for a callback and everything around
// it.
func (m *Meter) TimePerCallback(window time.Duration) (float64, error) {
	return m.TimePerCallbackWhile(func() error {
		time.Sleep(window)
		return nil
	})
}

// TimePerCallbackWhile does so for as long as a function takes, which is called again while there are too few.
func (m *Meter) TimePerCallbackWhile(wait func() error) (float64, error) {
	before := m.Read()
	deadline := time.Now().Add(Patience)
	for {
		if err := wait(); err != nil {
			return 0, err
		}
		after := m.Read()
		callbacks := after.Callbacks - before.Callbacks
		if callbacks >= LeastCallbacks {
			return float64(after.Nanoseconds-before.Nanoseconds) / float64(callbacks), nil
		}
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("%w: %d in %v", ErrTooFew, callbacks, Patience)
		}
	}
}
