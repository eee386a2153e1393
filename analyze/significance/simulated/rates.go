package simulated

import (
	"math/rand/v2"

	"github.com/caret-bpf/caret-bpf/analyze/significance"
)

// Latencies is the number of latencies of a simulated system.
const Latencies = 3

// Recordings are the numbers of recordings a side that are tried.
var Recordings = []int{1, 3, 5}

// Changes are the true changes of which power is told, as shares. The first one is none: it tells of false alarms.
var Changes = []float64{0, 0.05, 0.1, 0.2}

// Count says how often something was so.
type Count struct {
	Times, Of int
}

// Rates tell how comparisons of a system's recordings turned out.
type Rates struct {
	// Alarms counts the comparisons in which anything was called changed, by the number of recordings a side, and by the
	// true change. Where there is one, only the latencies that changed count, each for itself.
	Alarms [][]Count
	// Within counts false alarms of one recording a side if runs do not differ, no run noise is assumed, and every change
	// counts: those of the error within recordings alone.
	Within Count
	// TooShort counts the latencies of one recording a side of which nothing could be said.
	TooShort Count
}

// Measure compares the recordings of a system with each other. With one recording a side it makes as many comparisons
// for each trial as there are independent pairs.
func Measure(s System, seed uint64, trials int, options significance.Options) Rates {
	random := rand.New(rand.NewPCG(seed, 0))
	most := Recordings[len(Recordings)-1]
	r := Rates{Alarms: make([][]Count, len(Recordings))}
	for i := range r.Alarms {
		r.Alarms[i] = make([]Count, len(Changes))
	}
	for range trials {
		var before, after [][]significance.Median
		for range most {
			before = append(before, s.Run(random, Latencies))
			after = append(after, s.Run(random, Latencies))
		}
		for i, recordings := range Recordings {
			for first := 0; first+recordings <= most; first += recordings {
				r.add(i, before[first:first+recordings], after[first:first+recordings], options)
			}
		}
	}
	return r
}

// add compares some recordings of both sides, once for each true change.
func (r *Rates) add(i int, before, after [][]significance.Median, options significance.Options) {
	for j, change := range Changes {
		findings := significance.JudgeFamily(pairsOf(before, after, change), options)
		changed := 0
		for _, f := range findings {
			if f.Verdict == significance.Changed {
				changed++
			}
		}
		if change != 0 {
			r.Alarms[i][j] = r.Alarms[i][j].plus(changed, len(findings))
			continue
		}
		r.Alarms[i][j] = r.Alarms[i][j].plus(min(changed, 1), 1)
		if len(before) == 1 {
			r.addWithin(before, after, options.Alpha)
		}
	}
}

func (r *Rates) addWithin(before, after [][]significance.Median, alpha float64) {
	wrong := 0
	for _, f := range significance.JudgeFamily(pairsOf(before, after, 0), significance.Options{Alpha: alpha}) {
		short := 0
		switch f.Verdict {
		case significance.Changed:
			wrong = 1
		case significance.TooShort:
			short = 1
		}
		r.TooShort = r.TooShort.plus(short, 1)
	}
	r.Within = r.Within.plus(wrong, 1)
}

func (c Count) plus(times, of int) Count { return Count{c.Times + times, c.Of + of} }

// pairsOf pairs the latencies of both sides. All of the latter are longer by a change.
func pairsOf(before, after [][]significance.Median, change float64) []significance.Pair {
	pairs := make([]significance.Pair, Latencies)
	for i := range pairs {
		for _, run := range before {
			pairs[i].Before = append(pairs[i].Before, run[i])
		}
		for _, run := range after {
			m := run[i]
			m.Value = int64(float64(m.Value) * (1 + change))
			m.Error *= 1 + change
			pairs[i].After = append(pairs[i].After, m)
		}
	}
	return pairs
}

// Options are those with which rates are told: the defaults of `caret-bpf diff`, which a test of it compares.
func Options() significance.Options {
	return significance.Options{Alpha: 0.01, MinChange: 0.03, RunNoise: 0.03}
}
