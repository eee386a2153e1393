package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// secondRequest is the least time between two requests to stop. What comes sooner belongs to the first: `timeout`
// signals its child and then its own process group, and scripts pass on what the terminal has sent to everyone already.
const secondRequest = time.Second

// withInterrupts returns a context that ends at the first request to stop: SIGINT, SIGTERM or SIGHUP. A second one
// calls abort.
func withInterrupts(abort func()) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	requests := make(chan os.Signal, 1)
	signal.Notify(requests, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-requests
		first := time.Now()
		cancel()
		for range requests {
			if time.Since(first) >= secondRequest {
				abort()
			}
		}
	}()
	return ctx
}

// abort ends the program and the command that it launched at once, and gives the terminal back. The kernel detaches the
// probes of a process that ends.
func (c console) abort() {
	if group := c.launched.Load(); group > 0 {
		_ = syscall.Kill(-int(group), syscall.SIGKILL)
	}
	if giveBack := c.giveBack.Load(); giveBack != nil {
		(*giveBack)()
	}
	os.Exit(exitInterrupted)
}
