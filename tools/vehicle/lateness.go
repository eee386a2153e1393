package main

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lateness is how late a thread of a crowd was at most: a file of one word, which all of its programs map.
type lateness struct {
	path string
	word *int64
}

func openLateness(path string) (*lateness, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	const size = int(unsafe.Sizeof(int64(0)))
	if err := file.Truncate(int64(size)); err != nil {
		return nil, err
	}
	mapped, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return &lateness{path, (*int64)(unsafe.Pointer(&mapped[0]))}, nil
}

// reset returns how late a thread was at most since the last reset.
func (l *lateness) reset() time.Duration { return time.Duration(atomic.SwapInt64(l.word, 0)) }
