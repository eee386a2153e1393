package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/caret-bpf/caret-bpf/test/measure"
	"github.com/caret-bpf/caret-bpf/tools/busy"
)

// A crowd is a large system: programs of which each has libraries of its own, with many calls of tracepoints and many
// threads (testdata/crowd).
const (
	crowdSize        = 300
	crowdLibraries   = 2  // of each program
	crowdThreads     = 15 // of each library
	crowdPeriod      = 5 * time.Second
	beginsPerSecond  = 100
	beginningSeconds = 5
)

// crowdFigures are what one recording of a crowd has cost.
type crowdFigures struct {
	attaching, detaching time.Duration
	memory               int64 // bytes
	sites                int
	// Processor time of the recorder for each second: while all threads execute callbacks, while programs begin as well,
	// and while nothing happens; seconds.
	running, beginning, idle float64
	// How late a thread was at most: before the recording, until it had begun, later, while programs began, and while it
	// ended.
	untraced, lateAttaching, lateRunning, lateBeginning, lateDetaching time.Duration
}

// measureCrowd prints a line for each way to record a crowd.
func measureCrowd(ctx context.Context, s busy.System) error {
	scratch, err := os.MkdirTemp("", "crowd")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	late, err := openLateness(filepath.Join(scratch, "late"))
	if err != nil {
		return err
	}
	libraries, err := measure.CopyLibraries(filepath.Join("build/testdata", s.Distro, "libcrowd.so"), scratch, crowdSize*crowdLibraries)
	if err != nil {
		return err
	}
	f, err := startCrowd(ctx, s, libraries, late)
	if err != nil {
		return err
	}
	defer f.stop()
	fmt.Printf("%s, %s: %d processes, %d libraries, %d threads\n\n", s.Name, s.RMW, crowdSize, len(libraries), f.threads())
	fmt.Println("| recorded by | sites that session.json lists | until it records | to the end | memory | processor time: running, beside begins, idle |" +
		" longest wait of a thread: untraced, attaching, recording, beside begins, detaching |")
	fmt.Println("|---|---|---|---|---|---|---|")
	for _, w := range ways {
		found, err := f.measure(ctx, w, late)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		fmt.Printf("| `%s` | %d | %.2f s | %.2f s | %.0f MB | %.1f, %.1f, %.1f %% | %.1f, %.1f, %.1f, %.1f, %.1f ms |\n", w.name, found.sites,
			found.attaching.Seconds(), found.detaching.Seconds(), float64(found.memory)/1e6, found.running*100, found.beginning*100, found.idle*100,
			milliseconds(found.untraced), milliseconds(found.lateAttaching), milliseconds(found.lateRunning), milliseconds(found.lateBeginning),
			milliseconds(found.lateDetaching))
	}
	fmt.Println()
	return nil
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

// startCrowd starts programs that wait, with the libraries.
func startCrowd(ctx context.Context, s busy.System, libraries []string, late *lateness) (*fleet, error) {
	f := &fleet{}
	start := func(number int) (*busy.Program, error) {
		own := s
		first := number * crowdLibraries
		own.Environment = []string{
			"LD_PRELOAD=" + strings.Join(libraries[first:first+crowdLibraries], ":"),
			fmt.Sprint("CROWD_THREADS=", crowdThreads), "CROWD_LATENESS=" + late.path,
		}
		return own.Start(ctx, busy.Idle, number%domains)
	}
	var err error
	if f.measured, err = start(0); err != nil {
		return nil, err
	}
	if f.idle, err = startSideBySide(crowdSize-1, func(i int) (*busy.Program, error) { return start(i + 1) }); err != nil {
		f.stop()
		return nil, err
	}
	return f, nil
}

// threads counts those of all programs.
func (f *fleet) threads() (count int) {
	for _, pid := range f.pids() {
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err == nil {
			count += len(threads)
		}
	}
	return count
}

// measure measures one recording, in each part of which every thread executes callbacks.
func (f *fleet) measure(ctx context.Context, w way, late *lateness) (crowdFigures, error) {
	var found crowdFigures
	late.reset()
	time.Sleep(2 * crowdPeriod)
	found.untraced = late.reset()
	r, err := start(ctx, w.arguments(f)...)
	if err != nil {
		return found, err
	}
	found.attaching, found.lateAttaching = r.began, late.reset()
	err = f.measureParts(ctx, r, late, &found)
	late.reset()
	end, stopError := r.stop()
	time.Sleep(crowdPeriod) // until each thread has said how late it was
	found.lateDetaching = late.reset()
	found.detaching, found.sites = end.detaching, end.sites
	return found, errors.Join(err, stopError)
}

// measureParts measures what a running recording costs in each part.
func (f *fleet) measureParts(ctx context.Context, r *recorder, late *lateness, found *crowdFigures) (err error) {
	time.Sleep(windowCount * window) // it detaches what it does without
	late.reset()
	if found.running, err = r.processorTime(func() { time.Sleep(2 * crowdPeriod) }); err != nil {
		return err
	}
	found.lateRunning = late.reset()
	var beginError error
	if found.beginning, err = r.processorTime(func() { beginError = beginMany(ctx) }); err != nil || beginError != nil {
		return errors.Join(err, beginError)
	}
	found.lateBeginning = late.reset()
	if err := f.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	time.Sleep(writing)
	found.idle, err = r.processorTime(func() { time.Sleep(2 * idleWindow) })
	if err = errors.Join(err, f.signal(syscall.SIGCONT)); err != nil {
		return err
	}
	time.Sleep(2 * crowdPeriod) // until each thread has made up for it
	found.memory, err = r.memory()
	return err
}

// beginMany begins programs, all of which end at once.
func beginMany(ctx context.Context) error {
	ticks := time.NewTicker(time.Second / beginsPerSecond)
	defer ticks.Stop()
	var running sync.WaitGroup
	defer running.Wait()
	for range beginsPerSecond * beginningSeconds {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
		program := exec.CommandContext(ctx, "true")
		if err := program.Start(); err != nil {
			return err
		}
		running.Go(func() { _ = program.Wait() })
	}
	return nil
}
