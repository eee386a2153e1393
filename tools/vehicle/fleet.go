package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/caret-bpf/caret-bpf/tools/busy"
)

// domains are so many that no two programs out of three see each other: each would learn of all others.
const domains = 200

// startedAtOnce is how many programs begin side by side.
const startedAtOnce = 4

// fleet is one program that executes callbacks, and others that wait.
type fleet struct {
	measured *busy.Program
	idle     []*busy.Program
}

func startFleet(ctx context.Context, s busy.System, size int) (*fleet, error) {
	f := &fleet{}
	var err error
	if f.measured, err = s.Start(ctx, busy.CallbackWithPublish, 0); err != nil {
		return nil, err
	}
	// It would slow down the others.
	if err := f.measured.Signal(syscall.SIGSTOP); err != nil {
		f.stop()
		return nil, err
	}
	f.idle, err = startSideBySide(size-1, func(i int) (*busy.Program, error) { return s.Start(ctx, busy.Idle, 1+(i+1)%domains) })
	if err != nil {
		f.stop()
		return nil, fmt.Errorf("%d of %d programs run: %w", 1+len(f.idle), size, err)
	}
	return f, f.measured.Signal(syscall.SIGCONT)
}

// startSideBySide starts programs, which have numbers from 0 on.
func startSideBySide(count int, start func(number int) (*busy.Program, error)) (started []*busy.Program, err error) {
	var starting sync.WaitGroup
	var mutex sync.Mutex
	slots := make(chan struct{}, startedAtOnce)
	for i := range count {
		slots <- struct{}{}
		starting.Go(func() {
			defer func() { <-slots }()
			p, startError := start(i)
			mutex.Lock()
			defer mutex.Unlock()
			if startError != nil {
				err = startError
				return
			}
			started = append(started, p)
		})
	}
	starting.Wait()
	return started, err
}

// programs are all of them, the measured one first.
func (f *fleet) programs() []*busy.Program { return append([]*busy.Program{f.measured}, f.idle...) }

// signal sends all programs a signal.
func (f *fleet) signal(what os.Signal) (err error) {
	for _, p := range f.programs() {
		err = errors.Join(err, p.Signal(what))
	}
	return err
}

// pids are those of all programs.
func (f *fleet) pids() []int32 {
	var pids []int32
	for _, p := range f.programs() {
		pids = append(pids, p.PID())
	}
	return pids
}

func (f *fleet) stop() {
	var stopping sync.WaitGroup
	for _, p := range f.programs() {
		_ = p.Signal(os.Kill)
		stopping.Go(p.Stop)
	}
	stopping.Wait()
}
