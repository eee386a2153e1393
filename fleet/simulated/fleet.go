// Package simulated makes up fleets: lakes of recordings whose latencies, and what differs between releases, are known.
package simulated

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/caret-bpf/caret-bpf/export/lake"
)

// Fleet says what to make up. The same Fleet always makes the same lake. Shares are standard deviations unless said
// otherwise.
type Fleet struct {
	// Recordings are shared out to Vehicles in turns, and those of a vehicle to Releases in order of time.
	Recordings, Vehicles, Releases int
	// Callbacks is the number of executions of a recording, about.
	Callbacks int
	// Chains is the number of paths. Each goes through four nodes, of which the first one has a timer of 10 Hz.
	Chains int
	Seed   uint64
	// Apart gives each vehicle one release, the next one to the next vehicle.
	Apart bool

	// Regression is the share by which the path of the first chain is longer in the last release: by its third callback.
	Regression float64
	// Drift is the share by which the second callback of the last chain becomes longer from week to week.
	Drift float64

	// VehicleNoise is what vehicles differ by, and ReleaseNoise what a vehicle differs by from release to release.
	VehicleNoise, ReleaseNoise float64
	// RecordingNoise is what recordings of a vehicle differ by, beside the time of day.
	RecordingNoise float64
	// Swing is the share by which durations are longer in the afternoon than at the mean of a day, and shorter at night.
	Swing float64
	// Spread is that of the executions of a callback in a recording.
	Spread float64
}

// Default is a fleet with the noise of which docs/fleet.md tells, without recordings.
func Default() Fleet {
	return Fleet{
		Vehicles: 50, Releases: 6, Chains: 16, Regression: 0.05,
		VehicleNoise: 0.1, ReleaseNoise: 0.003, RecordingNoise: 0.01, Swing: 0.02, Spread: 0.05,
	}
}

// ErrFleet is wrapped by errors of fleets that cannot be.
var ErrFleet = errors.New("there is no such fleet")

// Check tells what is wrong with the numbers.
func (f *Fleet) Check() error {
	if f.Recordings < 1 || f.Vehicles < 1 || f.Releases < 1 || f.Callbacks < 1 || f.Chains < 1 {
		return fmt.Errorf("%w: it has at least one of everything", ErrFleet)
	}
	return nil
}

// Regressed names what is longer in the last release: a path, and a node with a single callback.
func (f *Fleet) Regressed() (path, node string) { return pathName(0), nodeName(0, longerStop) }

// Release is the value of attribute release of one of the releases, which count from 0.
func (f *Fleet) Release(index int) string { return fmt.Sprintf("1.%d", max(10-f.Releases, 0)+index) }

// Write puts the recordings into a lake, as many at once as there are processors.
func (f *Fleet) Write(ctx context.Context, l *lake.Lake) error {
	if err := f.Check(); err != nil {
		return err
	}
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for i := range f.Recordings {
		workers.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			r := f.recording(i)
			return l.PublishMade(ctx, r.id, r.keys(), r.fill)
		})
	}
	return workers.Wait()
}

// firstDay is when the first recordings are made, week the time between those of a vehicle.
var firstDay = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

const week = 7 * 24 * time.Hour

// recording makes up what is drawn once for a recording.
func (f *Fleet) recording(index int) *recording {
	vehicle, turn := index%f.Vehicles, index/f.Vehicles
	release := turn * f.Releases / ((f.Recordings + f.Vehicles - 1) / f.Vehicles)
	if f.Apart {
		release = vehicle % f.Releases
	}
	random := f.random(1, uint64(index), 0)
	begin := firstDay.Add(time.Duration(turn)*week + time.Duration(random.Int64N(int64(24*time.Hour))))
	r := &recording{
		fleet: f, vehicle: vehicle, release: release, week: turn, begin: begin.UnixNano(), random: random,
		id: fmt.Sprintf("%s-%016x", begin.Format("20060102T150405Z"), f.random(2, uint64(index), 0).Uint64()),
	}
	common := math.Exp(f.VehicleNoise*f.random(3, uint64(vehicle), 0).NormFloat64() + f.RecordingNoise*random.NormFloat64())
	r.chains = make([]chain, f.Chains)
	for c := range r.chains {
		r.chains[c] = r.chain(c, common)
	}
	return r
}

// random is a source of numbers for one purpose, and one thing of it.
func (f *Fleet) random(purpose, of, part uint64) *rand.Rand {
	return rand.New(rand.NewPCG(f.Seed, purpose<<56^of<<28^part))
}

// load is that of the time of day: from −1 at 3 o'clock to 1 at 15 o'clock.
func load(at int64) float64 {
	day := float64(at%int64(24*time.Hour)) / float64(24*time.Hour)
	return -math.Cos(2 * math.Pi * (day - 3.0/24))
}
