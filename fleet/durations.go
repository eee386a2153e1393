package fleet

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/rank"
)

// keptDurations bounds the durations of a recording that are kept: 8 bytes each.
const keptDurations = 16 << 20

// durations are those of all subjects of a recording. When there are too many, half of those of the largest subjects
// are dropped, by chance that is the same in each run.
type durations struct {
	of     []*sample
	kept   int
	limit  int
	random *rand.Rand
}

// sample is what is kept of the durations of a subject.
type sample struct {
	count  uint64
	halved uint // how often: of 2^halved durations one is kept
	kept   rank.Chunks[int64]
}

func newDurations() *durations {
	return &durations{limit: keptDurations, random: rand.New(rand.NewPCG(1, 2))}
}

func (d *durations) begin() *sample {
	s := new(sample)
	d.of = append(d.of, s)
	return s
}

func (d *durations) add(s *sample, duration int64) {
	s.count++
	if s.halved > 0 && d.random.Uint64()>>(64-s.halved) != 0 {
		return
	}
	s.kept.Add(duration)
	if d.kept++; d.kept > d.limit {
		d.halve()
	}
}

// halve halves the subjects that have half as many durations as the largest, or more.
func (d *durations) halve() {
	largest := 0
	for _, s := range d.of {
		largest = max(largest, s.kept.Len())
	}
	for _, s := range d.of {
		if s.kept.Len() < 2 || 2*s.kept.Len() < largest {
			continue
		}
		all := s.kept.All()
		d.kept -= s.kept.Len()
		s.halved, s.kept = s.halved+1, rank.Chunks[int64]{}
		for i, chunk := range all {
			for _, duration := range chunk {
				if d.random.Uint64()&1 == 0 {
					s.kept.Add(duration)
				}
			}
			all[i] = nil
		}
		d.kept += s.kept.Len()
	}
}

// statistic is that of a subject in a recording.
type statistic struct {
	count uint64
	exact bool
	value int64
}

// percentile is the least duration that this share of them does not exceed (the nearest rank); ok is false without any.
func (s *sample) percentile(percent float64) (_ statistic, ok bool) {
	n := s.kept.Len()
	if n == 0 {
		return statistic{}, false
	}
	least, greatest := int64(math.MaxInt64), int64(math.MinInt64)
	for _, chunk := range s.kept.All() {
		least, greatest = min(least, slices.Min(chunk)), max(greatest, slices.Max(chunk))
	}
	index := int(rank.NearestPercent(percent, uint64(n))) - 1
	return statistic{count: s.count, exact: s.halved == 0, value: rank.Value(s.kept.All(), index, least, greatest)}, true
}
