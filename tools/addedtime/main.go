package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/caret-bpf/caret-bpf/launch"
	"github.com/caret-bpf/caret-bpf/tools/busy"
	"github.com/caret-bpf/caret-bpf/tools/tracers"
)

func main() {
	// A recording of all processes starts this program anew, to wait in the environment of those to come.
	if len(os.Args) > 1 && os.Args[1] == launch.Argument {
		if err := launch.Become(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "addedtime:", err)
		}
		os.Exit(127)
	}
	rounds := flag.Int("rounds", 5, "how often everything is measured")
	window := flag.Duration("window", 800*time.Millisecond, "how long each measurement takes")
	only := flag.String("only", "", "measure the systems whose names match this regular expression")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, *rounds, *window, *only); err != nil {
		fmt.Fprintln(os.Stderr, "addedtime:", err)
		os.Exit(1)
	}
}

// run measures every system and prints its table.
func run(ctx context.Context, rounds int, window time.Duration, only string) error {
	systems, err := busy.Chosen(only, os.Stdout)
	if err != nil {
		return err
	}
	daemon, err := tracers.StartDaemon(ctx)
	if err != nil {
		fmt.Println("not measured:", err)
	}
	defer daemon.Stop()
	for _, s := range systems {
		results, err := measureSystem(ctx, s, ways(s, daemon != nil), rounds, window)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		results.print(os.Stdout)
	}
	return nil
}

// workloads are those that are measured.
var workloads = []busy.Workload{busy.Callback, busy.CallbackWithPublish, busy.Subscription}

// domain is one that others do not use.
const domain = 101

// measureSystem measures all ways on all workloads, round by round. A way that fails is left out from then on, and said
// to be.
func measureSystem(ctx context.Context, s busy.System, ways []way, rounds int, window time.Duration) (*results, error) {
	r := newResults(s, ways)
	for round := range rounds {
		for _, load := range workloads {
			if err := measureRound(ctx, r, load, round == 0, window); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// measureRound measures all ways on one process.
func measureRound(ctx context.Context, r *results, load busy.Workload, first bool, window time.Duration) error {
	p, err := r.system.Start(ctx, load, domain)
	if err != nil {
		return err
	}
	defer p.Stop()
	time.Sleep(settling)
	plans, err := planSites(p.PID())
	if err != nil {
		return err
	}
	if first {
		if err := countHits(r, load, p, plans); err != nil {
			return err
		}
	}
	for _, w := range r.ways {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if r.failed[w.name] != nil {
			continue
		}
		untraced, err := p.Meter.TimePerCallback(window)
		if err != nil {
			return err
		}
		traced, lost, err := measureWay(ctx, w, p, plans, window)
		if err != nil {
			r.failed[w.name] = err
			continue
		}
		r.add(w.name, load, traced-untraced, lost)
		r.untraced[load] = append(r.untraced[load], untraced)
	}
	return nil
}

// settling is how long a process runs on after a way has begun or ended before it is measured.
const settling = 200 * time.Millisecond

func measureWay(ctx context.Context, w way, p *busy.Program, plans *plans, window time.Duration) (traced float64, lost uint64, err error) {
	end, err := w.begin(ctx, p, plans)
	if err != nil {
		return 0, 0, err
	}
	time.Sleep(settling)
	traced, err = p.Meter.TimePerCallback(window)
	lost, endError := end()
	time.Sleep(settling)
	return traced, lost, errors.Join(err, endError)
}
