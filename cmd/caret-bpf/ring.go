package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/session"
)

// ringBounds are the value of --ring: a time, a size, or both with a comma between them.
type ringBounds session.Configuration

const (
	minRingAge   = time.Second
	minRingBytes = 1 << 20
)

// Set implements pflag.Value.
func (r *ringBounds) Set(text string) error {
	var age time.Duration
	var size diskSize
	for part := range strings.SplitSeq(text, ",") {
		if d, err := time.ParseDuration(part); err == nil && age == 0 {
			if age = d; age < minRingAge {
				return fmt.Errorf("less than %v cannot be kept", minRingAge)
			}
			continue
		}
		if size != 0 {
			return errors.New("give one time, one size, or both, such as 30s,256M")
		}
		if err := size.Set(part); err != nil {
			return fmt.Errorf("%q is neither a time nor a size: %w", part, err)
		}
		if size < minRingBytes {
			return errors.New("less than 1M cannot be kept")
		}
	}
	r.RingAge, r.RingBytes = age, int64(size)
	return nil
}

// String implements pflag.Value.
func (r *ringBounds) String() string {
	var parts []string
	if r.RingAge > 0 {
		parts = append(parts, r.RingAge.String())
	}
	if r.RingBytes > 0 {
		size := diskSize(r.RingBytes)
		parts = append(parts, size.String())
	}
	return strings.Join(parts, ",")
}

// Type implements pflag.Value.
func (r *ringBounds) Type() string { return "bounds" }

// signalPatience bounds a snapshot for which a signal asks.
const signalPatience = 10 * time.Minute

// snapshotAtSignals makes a snapshot of all there is at each SIGUSR1, until the function that it returns is called.
func snapshotAtSignals(ctx context.Context, recording *controlled, tell func(string)) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGUSR1)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
				patient, cancel := context.WithTimeout(ctx, signalPatience)
				made, err := recording.Snapshot(patient, control.SnapshotRequest{Reason: "SIGUSR1"})
				cancel()
				if err != nil {
					tell(fmt.Sprintf("SIGUSR1: no snapshot: %v", err))
					continue
				}
				tell(fmt.Sprintf("SIGUSR1: snapshot in %s", made.Output))
			}
		}
	}()
	return func() {
		cancel() // signals stay caught: without, one would end the program that is about to end well
		<-ended
	}
}
