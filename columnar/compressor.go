package columnar

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Compressors are what pages are compressed with, one page at a time. Files that one goroutine writes share them.
type Compressors struct {
	// times is for delta-encoded times. Those of periodic timers come in bursts, of which it finds the pattern: a seventh
	// less than fast.
	times *zstd.Encoder
	// fast is for all else. Numbers without a pattern, as those of times from other times, it makes a tenth smaller than
	// slower ones do: it looks for no matches where there are few.
	fast *zstd.Encoder
}

// NewCompressors returns Compressors for one goroutine.
func NewCompressors() *Compressors { return released.Get().(*Compressors) }

// Release gives the compressors, which the caller does not use any more, to who needs some next. They have megabytes of
// memory, which is much beside a small file.
func (c *Compressors) Release() { released.Put(c) }

var released = sync.Pool{New: func() any {
	return &Compressors{times: newCompressor(zstd.SpeedBetterCompression), fast: newCompressor(zstd.SpeedFastest)}
}}

func newCompressor(level zstd.EncoderLevel) *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithZeroFrames(true), zstd.WithWindowSize(windowBytes), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("columnar: " + err.Error()) // an option's value is wrong
	}
	return e
}

// windowBytes is as much as a page has.
const windowBytes = 256 << 10

func (c *Compressors) of(column *Column) *zstd.Encoder {
	if column.Encoding == EncodingDelta {
		return c.times
	}
	return c.fast
}
