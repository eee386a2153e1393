package significance

import "math/bits"

const (
	// timeSlices is the number of slices of time that a recording is cut into. The finest blocks are slices.
	timeSlices = 1 << sliceBits
	sliceBits  = 12
	// keptDurations bounds the memory of a Series: 10 bytes a duration.
	keptDurations = 4 << 20
	// chunkDurations is the number of durations in a chunk.
	chunkDurations = 1 << 14
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
	limit, kept   int
	// chunks have the durations that are kept. Adding one never moves those of other chunks.
	chunks []chunk
	// least is the rank that a duration must have to be kept. Half of the durations of a rank are of higher ones.
	least uint16
}

// chunk is a part of the durations.
type chunk struct {
	durations []int64
	// places has the slice of time of each duration, in the low bits, and its rank.
	places []uint16
}

// NewSeries returns an empty series of a recording from first to last, in nanoseconds.
func NewSeries(first, last int64) *Series {
	return &Series{first: first, length: max(last-first, 0), limit: keptDurations}
}

// Add adds a duration, in nanoseconds, that began at that time. Times outside the recording belong to its first or last
// slice.
func (s *Series) Add(at, duration int64) {
	s.count++
	if rank := rankOf(at, duration); rank >= s.least {
		s.put(duration, s.slice(at)|rank<<sliceBits)
		s.thin()
	}
}

func (s *Series) put(duration int64, place uint16) {
	last := len(s.chunks) - 1
	if last < 0 || len(s.chunks[last].durations) >= chunkDurations {
		var c chunk // most series are short: the first chunk grows
		if last >= 0 {
			c = chunk{make([]int64, 0, chunkDurations), make([]uint16, 0, chunkDurations)}
		}
		s.chunks = append(s.chunks, c)
		last++
	}
	c := &s.chunks[last]
	c.durations, c.places = append(c.durations, duration), append(c.places, place)
	s.kept++
}

// Merge adds what another series of the same recording gathered, which is not used any more.
func (s *Series) Merge(other *Series) {
	s.count += other.count
	s.kept += other.kept
	s.chunks = append(s.chunks, other.chunks...)
	if s.least != other.least {
		s.keep(max(s.least, other.least))
	}
	s.thin()
}

// thin drops durations until there are no more than the limit.
func (s *Series) thin() {
	for s.kept > s.limit && s.least < lastRank {
		s.keep(s.least + 1)
	}
}

// keep drops the durations of lower ranks. What is left is put into new chunks, which are full, so that chunks in which
// little is left do not take the memory of full ones.
func (s *Series) keep(least uint16) {
	former := s.chunks
	s.least, s.chunks, s.kept = least, nil, 0
	for i, c := range former {
		for j, place := range c.places {
			if place>>sliceBits >= least {
				s.put(c.durations[j], place)
			}
		}
		former[i] = chunk{}
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
