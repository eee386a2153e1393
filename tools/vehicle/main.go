package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
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
		fmt.Println("| recorded by | processes | until it records; alone | to the end; alone | added in the dearest steady 200 ms, after, of how many; untraced | added later, in how many steady ones of all rounds | memory | idle |")
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
	pace := busy.NewPace()
	f, err := startFleet(ctx, s, size)
	if err != nil {
		return err
	}
	measured, err := measureRunning(ctx, f, rounds, pace)
	f.stop()
	if err != nil {
		return err
	}
	var untraced []float64
	for i, w := range ways {
		printFigures(w.name, size, measured[i], pace)
		for _, found := range measured[i] {
			if taken, ok := found.before.median(pace); ok {
				untraced = append(untraced, taken)
			}
		}
	}
	var launched []figures
	for range rounds {
		found, err := measureLaunched(ctx, s, size, pace)
		if err != nil {
			return fmt.Errorf("a command: %w", err)
		}
		launched = append(launched, found)
	}
	printLaunched(size, launched, untraced, pace)
	return nil
}

// measureRunning measures all ways to record processes that run, in turn.
func measureRunning(ctx context.Context, f *fleet, rounds int, pace *busy.Pace) ([][]figures, error) {
	measured := make([][]figures, len(ways))
	for range rounds {
		for i, w := range ways {
			found, err := measureWay(ctx, f, w, pace)
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

const noFigure = "–"

// printFigures prints a line of the table.
func printFigures(way string, size int, measured []figures, pace *busy.Pace) {
	of := func(value func(figures) float64) float64 { return median(measured, value) }
	attaching := fmt.Sprintf("%.2f; %.2f s", of(func(f figures) float64 { return f.attaching.Seconds() }), of(func(f figures) float64 { return f.attachingAlone.Seconds() }))
	detaching := fmt.Sprintf("%.2f; %.2f s", of(func(f figures) float64 { return f.detaching.Seconds() }), of(func(f figures) float64 { return f.detachingAlone.Seconds() }))
	var untraced []float64
	var later addedLater
	for _, found := range measured {
		if before, ok := found.before.median(pace); ok {
			untraced = append(untraced, before)
			later.add(found.later, before, pace)
		}
	}
	first := noFigure
	dearest, at, steady := dearestWindow(measured, func(f figures) windows { return f.first }, pace)
	if len(untraced) > 0 && steady > 0 {
		middle := measure.Median(untraced)
		noise, _, steadyBefore := dearestWindow(measured, func(f figures) windows { return f.before }, pace)
		first = fmt.Sprintf("%.2f µs, %.1f s, %d windows; %.2f µs, %d windows",
			(dearest-middle)/1e3, (time.Duration(at) * window).Seconds(), steady, (noise-middle)/1e3, steadyBefore)
	}
	printLine(way, size, attaching, detaching, first, later, measured)
}

// printLaunched prints the line of a command. What is attached before its processes begin has neither begin nor first
// moments to measure, and a command takes its time to end.
func printLaunched(size int, launched []figures, untraced []float64, pace *busy.Pace) {
	var later addedLater
	if len(untraced) > 0 {
		for _, found := range launched {
			later.add(found.later, measure.Median(untraced), pace)
		}
	}
	printLine("-- COMMAND", size, noFigure, noFigure, noFigure, later, launched)
}

// addedLater is what later windows take more than untraced ones.
type addedLater struct {
	nanoseconds []float64 // of each round that had steady windows
	windows     int       // that were steady, of all rounds
}

func (a *addedLater) add(later windows, untraced float64, pace *busy.Pace) {
	if taken, ok := later.median(pace); ok {
		a.nanoseconds = append(a.nanoseconds, taken-untraced)
		a.windows += len(later.steady(pace))
	}
}

func (a *addedLater) String() string {
	if a.windows == 0 {
		return noFigure
	}
	return fmt.Sprintf("%.2f µs, %d windows", measure.Median(a.nanoseconds)/1e3, a.windows)
}

// printLine prints what all lines have.
func printLine(way string, size int, attaching, detaching, first string, later addedLater, measured []figures) {
	fmt.Printf("| `%s` | %d | %s | %s | %s | %s | %.0f MB | %.1f %% |\n", way, size, attaching, detaching, first, &later,
		median(measured, func(f figures) float64 { return float64(f.memory) / 1e6 }), median(measured, func(f figures) float64 { return f.idle * 100 }))
}

// dearestWindow returns which window is the dearest by the medians of all rounds in which it was steady, that median,
// and how many windows had one.
func dearestWindow(measured []figures, of func(figures) windows, pace *busy.Pace) (dearest float64, at, steady int) {
	byNumber := map[int][]float64{}
	for _, found := range measured {
		for i, taken := range of(found).steady(pace) {
			byNumber[i] = append(byNumber[i], taken)
		}
	}
	for i, taken := range byNumber {
		if middle := measure.Median(taken); middle > dearest {
			dearest, at = middle, i
		}
	}
	return dearest, at, len(byNumber)
}

// figures are what one recording has cost.
type figures struct {
	attaching, detaching time.Duration
	// The same while no other program does anything.
	attachingAlone, detachingAlone time.Duration
	// A callback with its publish before the recording, from its begin on, and later.
	before, first, later windows
	memory               int64   // bytes
	idle                 float64 // processor time of the recorder for each second in which nothing happens, seconds
}

const (
	// A recorder has detached all that it does without after so many windows.
	windowCount  = 50
	laterWindows = 25
	// writing is when what was recorded is written.
	writing    = 5 * time.Second
	idleWindow = 5 * time.Second
)

func measureWay(ctx context.Context, f *fleet, w way, pace *busy.Pace) (figures, error) {
	alone, err := measureAlone(ctx, f, w)
	if err != nil {
		return figures{}, err
	}
	measured := watched{f.measured.Meter, f.measured.PID(), pace}
	before, err := measured.measure(windowCount)
	if err != nil {
		return figures{}, err
	}
	r, err := start(ctx, w.arguments(f)...)
	if err != nil {
		return figures{}, err
	}
	found, err := measureRecording(r, measured, windowCount, f.measured.Signal)
	end, stopError := r.stop()
	found.attaching, found.detaching = r.began, end.detaching
	found.attachingAlone, found.detachingAlone = alone.attaching, alone.detaching
	found.before = before
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

// measureRecording measures a recording that has just begun of a program, which can be sent signals: so many windows,
// and later ones. Both times include what the program takes untraced.
func measureRecording(r *recorder, w watched, first int, send func(os.Signal) error) (found figures, err error) {
	if found.first, err = w.measure(first); err != nil {
		return found, err
	}
	if found.later, err = w.measure(laterWindows); err != nil {
		return found, err
	}
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
