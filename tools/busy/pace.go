package busy

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Pace measures how fast processors are at the moment. On a virtual machine that changes, say by half, and its kernel
// does not count it.
type Pace struct {
	numbers, sorted []uint32
	// Fastest is the least that the work has taken.
	Fastest time.Duration
}

// NewPace prepares the work: numbers to be sorted, which takes a part of a millisecond and little memory.
func NewPace() *Pace {
	const count = 2000
	p := &Pace{numbers: make([]uint32, count), sorted: make([]uint32, count)}
	random := rand.New(rand.NewPCG(1, 1))
	for i := range p.numbers {
		p.numbers[i] = random.Uint32()
	}
	return p
}

// Where returns the processor time that the work takes on the processor where a process's first thread is. The process
// waits meanwhile.
func (p *Pace) Where(pid int32) (time.Duration, error) {
	processor, err := processorOf(pid)
	if err != nil {
		return 0, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return 0, err
	}
	only.Set(processor)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return 0, err
	}
	defer func() { _ = unix.SchedSetaffinity(0, &before) }()
	p.work() // its numbers come into the cache
	taken := p.work()
	if p.Fastest == 0 || taken < p.Fastest {
		p.Fastest = taken
	}
	return taken, nil
}

// work returns the processor time that it has taken.
func (p *Pace) work() time.Duration {
	begin := threadTime()
	copy(p.sorted, p.numbers)
	slices.Sort(p.sorted)
	return threadTime() - begin
}

func threadTime() time.Duration {
	var now unix.Timespec
	// It cannot fail: the clock exists on every Linux and the address is valid.
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now)
	return time.Duration(now.Nano())
}

// processorOf returns where a process's first thread runs, or has run last.
func processorOf(pid int32) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	const processor = 39 - 3 // proc(5) counts from 1; the first behind the name is the third
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= processor {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	return strconv.Atoi(string(fields[processor]))
}
