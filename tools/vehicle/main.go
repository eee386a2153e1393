package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
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
	only := flag.String("only", "stand-in", "measure the systems whose names match this regular expression")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, *rounds, *sizes, *only); err != nil {
		fmt.Fprintln(os.Stderr, "vehicle:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, sizes, only string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	for _, s := range busy.Systems() {
		if !pattern.MatchString(s.Name) {
			continue
		}
		if missing := s.Missing(); missing != "" {
			fmt.Printf("%s is not measured: there is no %s\n", s.Name, missing)
			continue
		}
		fmt.Printf("%s, %s, medians of %d rounds\n\n", s.Name, s.RMW, rounds)
		fmt.Println("| recorded by | processes | until it records | to the end | added at once | added later | memory | idle |")
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

func measureFleet(ctx context.Context, s busy.System, size, rounds int) error {
	f, err := startFleet(ctx, s, size)
	if err != nil {
		return err
	}
	defer f.stop()
	measured := make([][]figures, len(ways))
	for range rounds {
		for i, w := range ways {
			found, err := measureWay(ctx, f, w)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			measured[i] = append(measured[i], found)
		}
	}
	for i, w := range ways {
		of := func(value func(figures) float64) float64 {
			var values []float64
			for _, found := range measured[i] {
				values = append(values, value(found))
			}
			return measure.Median(values)
		}
		fmt.Printf("| `%s` | %d | %.2f s | %.2f s | %.2f µs | %.2f µs | %.0f MB | %.1f %% |\n", w.name, size,
			of(func(f figures) float64 { return f.attaching.Seconds() }), of(func(f figures) float64 { return f.detaching.Seconds() }),
			of(func(f figures) float64 { return f.atOnce / 1e3 }), of(func(f figures) float64 { return f.later / 1e3 }),
			of(func(f figures) float64 { return float64(f.memory) / 1e6 }), of(func(f figures) float64 { return f.idle * 100 }))
	}
	return nil
}

// figures are what one recording has cost.
type figures struct {
	attaching, detaching time.Duration
	atOnce, later        float64 // nanoseconds that were added to a callback with its publish
	memory               int64   // bytes
	idle                 float64 // processor time of the recorder for each second in which nothing happens, seconds
}

const (
	windowsAtOnce = 5
	window        = 200 * time.Millisecond
	// settling is when a recorder has detached all that it does without.
	settling    = 10 * time.Second
	laterWindow = 2 * time.Second
	idleWindow  = 5 * time.Second
)

func measureWay(ctx context.Context, f *fleet, w way) (figures, error) {
	untraced, err := f.measured.Meter.TimePerCallback(laterWindow)
	if err != nil {
		return figures{}, err
	}
	r, err := start(ctx, w.arguments(f)...)
	if err != nil {
		return figures{}, err
	}
	found, err := measureRecording(f, r)
	end, stopError := r.stop()
	found.attaching, found.detaching, found.memory = r.began, end.detaching, end.memory
	found.atOnce -= untraced
	found.later -= untraced
	return found, errors.Join(err, stopError)
}

// measureRecording measures a recording that has just begun. Both times include what the program takes untraced.
func measureRecording(f *fleet, r *recorder) (found figures, err error) {
	for range windowsAtOnce {
		traced, err := f.measured.Meter.TimePerCallback(window)
		if err != nil {
			return found, err
		}
		found.atOnce = max(found.atOnce, traced)
	}
	time.Sleep(settling)
	if found.later, err = f.measured.Meter.TimePerCallback(laterWindow); err != nil {
		return found, err
	}
	if err := f.measured.Signal(syscall.SIGSTOP); err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, f.measured.Signal(syscall.SIGCONT)) }()
	time.Sleep(time.Second) // what was recorded is written
	before, err := measure.ProcessorTime(r.command.Process.Pid)
	if err != nil {
		return found, err
	}
	time.Sleep(idleWindow)
	after, err := measure.ProcessorTime(r.command.Process.Pid)
	found.idle = (after - before).Seconds() / idleWindow.Seconds()
	return found, err
}
