package main

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/tools/busy"
)

// lateness is how late a thread of a crowd was at most: a file of one word, which all of its programs map.
type lateness struct {
	path string
	word *int64
}

func openLateness(path string) (*lateness, error) {
	word, err := busy.MapWords[int64](path, unix.PROT_READ|unix.PROT_WRITE)
	if err != nil {
		return nil, err
	}
	return &lateness{path, word}, nil
}

// reset returns how late a thread was at most since the last reset.
func (l *lateness) reset() time.Duration { return time.Duration(atomic.SwapInt64(l.word, 0)) }
