package main

import (
	"errors"
	"io"
	"sync"
	"syscall"
)

// output is a stream that remembers the first error of writing to it, so that printing need not be checked line by line. It may be
// used by several goroutines at once.
type output struct {
	stream io.Writer
	mu     sync.Mutex
	err    error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.stream.Write(p)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// failure is what kept text from being written. That nobody reads on, as in `caret-bpf list | head -1`, is not a failure.
func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if errors.Is(o.err, syscall.EPIPE) {
		return nil
	}
	return o.err
}
