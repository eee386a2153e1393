package main

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// meter reads what a program of testdata/busy shows of itself (its meter.hpp).
type meter struct{ words *[3]uint64 }

// reading is how many callbacks a thread had executed at an instant, and the processor time that it had taken.
type reading struct{ callbacks, nanoseconds uint64 }

const (
	// leastCallbacks is how many callbacks a measurement must have.
	leastCallbacks = 1000
	// measuringPatience is how long it waits for them: on a busy machine the thread may not get a core for a while.
	measuringPatience = 20 * time.Second
)

var errTooFew = errors.New("the program executes too few callbacks")

// openMeter maps the file of a meter, which it creates.
func openMeter(path string) (*meter, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	const size = int(unsafe.Sizeof([3]uint64{}))
	if err := file.Truncate(int64(size)); err != nil {
		return nil, err
	}
	mapped, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return &meter{(*[3]uint64)(unsafe.Pointer(&mapped[0]))}, nil
}

func (m *meter) close() error {
	return unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(m.words)), unsafe.Sizeof(*m.words)))
}

// read returns the latest reading. The program writes the count before the time and once more behind it.
func (m *meter) read() reading {
	for {
		ended := atomic.LoadUint64(&m.words[2])
		time := atomic.LoadUint64(&m.words[1])
		if atomic.LoadUint64(&m.words[0]) == ended {
			return reading{ended, time}
		}
	}
}

// timePerCallback returns the processor time in nanoseconds that the thread takes for a callback and everything around
// it.
func (m *meter) timePerCallback(window time.Duration) (float64, error) {
	before := m.read()
	deadline := time.Now().Add(measuringPatience)
	for {
		time.Sleep(window)
		after := m.read()
		callbacks := after.callbacks - before.callbacks
		if callbacks >= leastCallbacks {
			return float64(after.nanoseconds-before.nanoseconds) / float64(callbacks), nil
		}
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("%w: %d in %v", errTooFew, callbacks, measuringPatience)
		}
	}
}
