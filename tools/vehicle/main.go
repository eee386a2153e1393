package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/caret-bpf/caret-bpf/test/measure"
	"github.com/caret-bpf/caret-bpf/tools/busy"
)

func main() {
	rounds := flag.Int("rounds", 3, "how often everything is measured")
	sizes := flag.String("processes", "1,20,100,300", "how many processes there are, separated by commas")
	crowd := flag.Bool("crowd", false, "measure a large system: 300 processes with 600 libraries, 40,000 sites and 10,000 threads")
	only := flag.String("only", "", "measure the systems whose names match this regular expression")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, *rounds, *sizes, *only, *crowd); err != nil {
		fmt.Fprintln(os.Stderr, "vehicle:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, sizes, only string, crowd bool) error {
	systems, err := busy.Chosen(only, os.Stdout)
	if err != nil {
		return err
	}
	for _, s := range systems {
		if crowd {
			if err := measureCrowd(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
			continue
		}
		fmt.Printf("%s, %s, medians of %d rounds\n\n", s.Name, s.RMW, rounds)
		fmt.Println("| recorded by | processes | until it records; alone | to the end; alone | added in the dearest 200 ms, after; untraced | added later | memory | idle |")
		fmt.Println("|---|---|---|---|---|---|---|---|")
		for size := range strings.SplitSeq(sizes, ",") {
			count, err := strconv.Atoi(size)
			if err != nil {
				return err
			}
			if err := measureFleet(ctx, s, count, rounds); err != nil {
				return fmt.Errorf("%s, %d processes: %w", s.Name, count, err)
			}
		}
		fmt.Println()
	}
	return nil
}

// way is one way to name the processes that are recorded.
type way struct {
	name      string
	arguments func(*fleet) []string
}

var ways = []way{
	{"-p", func(f *fleet) []string { return []string{"-p", strings.Trim(fmt.Sprint(f.pids()), "[]")} }},
	{"--name", func(*fleet) []string { return []string{"--name", "busy"} }},
	{"--all", func(*fleet) []string { return []string{"--all"} }},
}

// measureFleet prints a line for each way.
func measureFleet(ctx context.Context, s busy.System, size, rounds int) error {
	f, err := startFleet(ctx, s, size)
	if err != nil {
		return err
	}
	measured, err := measureRunning(ctx, f, rounds)
	f.stop()
	if err != nil {
		return err
	}
	for i, w := range ways {
		printFigures(w.name, size, measured[i], true)
	}
	untraced := median(slices.Concat(measured...), func(f figures) float64 { return f.untraced })
	var launched []figures
	for range rounds {
		found, err := measureLaunched(ctx, s, size, untraced)
		if err != nil {
			return fmt.Errorf("a command: %w", err)
		}
		launched = append(launched, found)
	}
	printFigures("-- COMMAND", size, launched, false)
	return nil
}

// measureRunning measures all ways to record processes that run, in turn.
func measureRunning(ctx context.Context, f *fleet, rounds int) ([][]figures, error) {
	measured := make([][]figures, len(ways))
	for range rounds {
		for i, w := range ways {
			found, err := measureWay(ctx, f, w)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			measured[i] = append(measured[i], found)
		}
	}
	return measured, nil
}

func median(of []figures, value func(figures) float64) float64 {
	var values []float64
	for _, found := range of {
		values = append(values, value(found))
	}
	return measure.Median(values)
}

// printFigures prints a line of the table. What is attached before its processes begin has neither begin nor first
// moments to measure, and a command takes its time to end.
func printFigures(way string, size int, measured []figures, running bool) {
	of := func(value func(figures) float64) float64 { return median(measured, value) }
	attaching, detaching, first := "–", "–", "–"
	if running {
		attaching = fmt.Sprintf("%.2f; %.2f s", of(func(f figures) float64 { return f.attaching.Seconds() }), of(func(f figures) float64 { return f.attachingAlone.Seconds() }))
		detaching = fmt.Sprintf("%.2f; %.2f s", of(func(f figures) float64 { return f.detaching.Seconds() }), of(func(f figures) float64 { return f.detachingAlone.Seconds() }))
		untraced := of(func(f figures) float64 { return f.untraced })
		dearest, at := dearestWindow(measured, func(f figures) []float64 { return f.first })
		noise, _ := dearestWindow(measured, func(f figures) []float64 { return f.before })
		first = fmt.Sprintf("%.2f µs, %.1f s; %.2f µs", (dearest-untraced)/1e3, (time.Duration(at) * window).Seconds(), (noise-untraced)/1e3)
	}
	fmt.Printf("| `%s` | %d | %s | %s | %s | %.2f µs | %.0f MB | %.1f %% |\n", way, size, attaching, detaching, first, of(func(f figures) float64 { return (f.later - f.untraced) / 1e3 }),
		of(func(f figures) float64 { return float64(f.memory) / 1e6 }), of(func(f figures) float64 { return f.idle * 100 }))
}

// dearestWindow returns which window is the dearest by the medians of all rounds, and that median.
func dearestWindow(measured []figures, windows func(figures) []float64) (dearest float64, at int) {
	for i := range windows(measured[0]) {
		if middle := median(measured, func(f figures) float64 { return windows(f)[i] }); middle > dearest {
			dearest, at = middle, i
		}
	}
	return dearest, at
}

// figures are what one recording has cost.
type figures struct {
	attaching, detaching time.Duration
	// The same while no other program does anything.
	attachingAlone, detachingAlone time.Duration
	// Nanoseconds that a callback with its publish takes: before the recording, in each of the windows there and their
	// median; in each of as many from the begin of the recording on; and later.
	before, first   []float64
	untraced, later float64
	memory          int64   // bytes
	idle            float64 // processor time of the recorder for each second in which nothing happens, seconds
}

const (
	// A recorder has detached all that it does without after so many windows.
	windowCount  = 50
	window       = 200 * time.Millisecond
	laterWindows = 10
	// writing is when what was recorded is written.
	writing    = 5 * time.Second
	idleWindow = 5 * time.Second
)

func measureWay(ctx context.Context, f *fleet, w way) (figures, error) {
	alone, err := measureAlone(ctx, f, w)
	if err != nil {
		return figures{}, err
	}
	before, err := measureWindows(f.measured.Meter, windowCount)
	if err != nil {
		return figures{}, err
	}
	r, err := start(ctx, w.arguments(f)...)
	if err != nil {
		return figures{}, err
	}
	found, err := measureRecording(r, f.measured.Meter, f.measured.Signal)
	end, stopError := r.stop()
	found.attaching, found.detaching = r.began, end.detaching
	found.attachingAlone, found.detachingAlone = alone.attaching, alone.detaching
	found.before, found.untraced = before, measure.Median(before)
	return found, errors.Join(err, stopError)
}

// measureAlone measures how a recording begins and ends while no program does anything.
func measureAlone(ctx context.Context, f *fleet, w way) (found figures, err error) {
	if err := f.measured.Signal(syscall.SIGSTOP); err != nil {
		return figures{}, err
	}
	defer func() { err = errors.Join(err, f.measured.Signal(syscall.SIGCONT)) }()
	r, err := start(ctx, w.arguments(f)...)
	if err != nil {
		return figures{}, err
	}
	time.Sleep(windowCount * window)
	end, err := r.stop()
	return figures{attaching: r.began, detaching: end.detaching}, err
}

// measureRecording measures a recording that has just begun of a program that is told by that meter, and can be sent
// signals. Both times include what the program takes untraced.
func measureRecording(r *recorder, meter *busy.Meter, send func(os.Signal) error) (found figures, err error) {
	if found.first, err = measureWindows(meter, windowCount); err != nil {
		return found, err
	}
	later, err := measureWindows(meter, laterWindows)
	if err != nil {
		return found, err
	}
	found.later = measure.Median(later)
	if err := send(syscall.SIGSTOP); err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, send(syscall.SIGCONT)) }()
	time.Sleep(writing)
	if found.idle, err = r.processorTime(func() { time.Sleep(idleWindow) }); err != nil {
		return found, err
	}
	found.memory, err = r.memory()
	return found, err
}

// measureWindows measures what a callback takes in each of several windows, one behind the other.
func measureWindows(meter *busy.Meter, count int) (nanoseconds []float64, err error) {
	for range count {
		taken, err := meter.TimePerCallback(window)
		if err != nil {
			return nil, err
		}
		nanoseconds = append(nanoseconds, taken)
	}
	return nanoseconds, nil
}
