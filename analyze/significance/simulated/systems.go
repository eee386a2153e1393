// Package simulated has systems whose latencies are made up, to find how often significance is wrong.
package simulated

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze/significance"
)

// System is a made-up system. Its durations are shares of middle.
type System struct {
	// Name says in what it is special.
	Name string
	// Length is that of a recording, Period the time between executions.
	Length, Period time.Duration
	// RunNoise is the standard deviation by which all latencies of a run differ from those of others, as a share.
	RunNoise float64
	// Resolution is the step of the clock; 0 is a nanosecond.
	Resolution time.Duration
	// begin begins a run of one latency, and returns what yields its durations, one after the other.
	begin func(random *rand.Rand) func() float64
}

// middle is the median of durations, about.
const middle = 100 * time.Microsecond

// Systems returns the systems of which docs/diff.md tells.
func Systems() []System {
	const camera = 20 * time.Millisecond // 50 Hz
	var systems []System
	add := func(name string, length, period time.Duration, begin func(*rand.Rand) func() float64) *System {
		systems = append(systems, System{Name: name, Length: length, Period: period, begin: begin})
		return &systems[len(systems)-1]
	}
	add("independent, normal", 30*time.Second, camera, independent(normal))
	for _, length := range []time.Duration{30 * time.Second, 2 * time.Minute} {
		add("correlated, 0.9", length, camera, autoregressive(0.9))
	}
	for _, length := range []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute} {
		add("correlated, 0.99", length, camera, autoregressive(0.99))
	}
	for _, length := range []time.Duration{time.Minute, 10 * time.Minute} {
		add("drift of 5 %, 30 s", length, camera, drifting(0.05, 30*time.Second, camera))
	}
	add("drift of 3 %, 10 min", 2*time.Minute, camera, drifting(0.03, 10*time.Minute, camera))
	add("log-normal, σ = 1", 2*time.Minute, camera, independent(func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) }))
	add("Pareto, α = 1.5", 2*time.Minute, camera, independent(pareto))
	add("two modes, 1 and 2", 2*time.Minute, camera, independent(twoModes))
	add("runs differ by 3 %", 2*time.Minute, camera, independent(normal)).RunNoise = 0.03
	add("runs differ by 3 %, correlated, 0.9", 2*time.Minute, camera, autoregressive(0.9)).RunNoise = 0.03
	add("clock of 10 % steps", 2*time.Minute, camera, independent(normal)).Resolution = middle / 10
	add("12 executions", 12*time.Second, time.Second, independent(normal))
	add("timer of 1 Hz", 30*time.Second, time.Second, independent(normal))
	add("timer of 1 Hz", 2*time.Minute, time.Second, independent(normal))
	add("each run in one of two modes, 10 % apart", 2*time.Minute, camera, modeOfRun)
	return systems
}

// Run simulates a run and returns the medians of some latencies of its recording.
func (s *System) Run(random *rand.Rand, latencies int) []significance.Median {
	factor := float64(middle) * (1 + s.RunNoise*random.NormFloat64())
	medians := make([]significance.Median, latencies)
	for i := range medians {
		next := s.begin(random)
		series := significance.NewSeries(0, int64(s.Length))
		for at := time.Duration(0); at < s.Length; at += s.Period {
			duration := time.Duration(factor * next())
			series.Add(int64(at), int64(duration.Round(max(s.Resolution, 1))))
		}
		medians[i] = series.Median()
	}
	return medians
}

func independent(draw func(*rand.Rand) float64) func(*rand.Rand) func() float64 {
	return func(random *rand.Rand) func() float64 { return func() float64 { return draw(random) } }
}

func normal(random *rand.Rand) float64 { return 1 + 0.1*random.NormFloat64() }

func pareto(random *rand.Rand) float64 { return math.Pow(2*(1-random.Float64()), -1/1.5) }

func twoModes(random *rand.Rand) float64 {
	return float64(1+random.IntN(2)) * (1 + 0.05*random.NormFloat64())
}

// autoregressive is of first order: each duration differs from the middle by that share of what the last one did, and
// chance.
func autoregressive(correlation float64) func(*rand.Rand) func() float64 {
	return func(random *rand.Rand) func() float64 {
		state := random.NormFloat64()
		return func() float64 {
			state = correlation*state + math.Sqrt(1-correlation*correlation)*random.NormFloat64()
			return 1 + 0.1*state
		}
	}
}

// drifting is a load that changes slowly, beside independent noise.
func drifting(deviation float64, correlated, period time.Duration) func(*rand.Rand) func() float64 {
	drift := autoregressive(math.Exp(-float64(period) / float64(correlated)))
	return func(random *rand.Rand) func() float64 {
		load := drift(random)
		return func() float64 { return normal(random) + deviation/0.1*(load()-1) }
	}
}

func modeOfRun(random *rand.Rand) func() float64 {
	mode := 1 + 0.1*float64(random.IntN(2))
	return func() float64 { return mode * normal(random) }
}
