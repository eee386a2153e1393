package significance

import (
	"math/bits"

	"github.com/caret-bpf/caret-bpf/analyze/rank"
)

const (
	// timeSlices is the number of slices of time that a recording is cut into. The finest blocks are slices.
	timeSlices = 1 << sliceBits
	sliceBits  = 12
	// keptDurations bounds the memory of a Series: 10 bytes a duration.
	keptDurations = 4 << 20
	// lastRank is the highest rank that fits beside a slice in 16 bits.
	lastRank = 1<<(16-sliceBits) - 1
)

// Series gathers the durations of one latency in one recording. They may be added in any order: what is kept of them
// depends on nothing else than the durations and their times.
//
// Beyond 4 million durations, half of them are dropped, as often as needed, by a hash of time and duration. The error
// of the median is that of the durations that are kept.
type Series struct {
	first, length int64
	count         uint64
	limit         int
	// durations are those that are kept. places has the slice of time of each, in the low bits, and its rank.
	durations rank.Chunks[int64]
	places    rank.Chunks[uint16]
	// least is the rank that a duration must have to be kept. Half of the durations of a rank are of higher ones.
	least uint16
}

// NewSeries returns an empty series of a recording from first to last, in nanoseconds.
func NewSeries(first, last int64) *Series {
	return &Series{first: first, length: max(last-first, 0), limit: keptDurations}
}

// Add adds a duration, in nanoseconds, that began at that time. Times outside the recording belong to its first or last
// slice.
func (s *Series) Add(at, duration int64) {
	s.count++
	if r := rankOf(at, duration); r >= s.least {
		s.put(duration, s.slice(at)|r<<sliceBits)
		s.thin()
	}
}

func (s *Series) put(duration int64, place uint16) {
	s.durations.Add(duration)
	s.places.Add(place)
}

// Merge adds what another series of the same recording gathered, which is not used any more.
func (s *Series) Merge(other *Series) {
	s.count += other.count
	s.durations.Take(&other.durations)
	s.places.Take(&other.places)
	if s.least != other.least {
		s.keep(max(s.least, other.least))
	}
	s.thin()
}

// thin drops durations until there are no more than the limit.
func (s *Series) thin() {
	for s.durations.Len() > s.limit && s.least < lastRank {
		s.keep(s.least + 1)
	}
}

// keep drops the durations of lower ranks. What is left is put into new chunks, which are full, so that chunks in which
// little is left do not take the memory of full ones.
func (s *Series) keep(least uint16) {
	durations, places := s.durations.All(), s.places.All()
	s.least, s.durations, s.places = least, rank.Chunks[int64]{}, rank.Chunks[uint16]{}
	for i, chunk := range places {
		for j, place := range chunk {
			if place>>sliceBits >= least {
				s.put(durations[i][j], place)
			}
		}
		durations[i], places[i] = nil, nil
	}
}

func (s *Series) slice(at int64) uint16 {
	since := uint64(min(max(at-s.first, 0), s.length))
	high, low := bits.Mul64(since, timeSlices)
	slice, _ := bits.Div64(high, low, uint64(s.length)+1)
	return uint16(slice)
}

// rankOf is the number of zeros at the end of a hash of time and duration, the finalizer of SplitMix64 (Steele, Lea,
// Flood: Fast splittable pseudorandom number generators, 2014).
func rankOf(at, duration int64) uint16 {
	hash := uint64(at) + uint64(duration)*0x9e3779b97f4a7c15
	hash = (hash ^ hash>>30) * 0xbf58476d1ce4e5b9
	hash = (hash ^ hash>>27) * 0x94d049bb133111eb
	return uint16(min(bits.TrailingZeros64(hash^hash>>31), lastRank))
}
