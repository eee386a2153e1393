package columnar

import (
	"encoding/binary"
	"fmt"
)

// runPadding is the number of values by which the last run may be longer than what it is for: they are packed in
// groups, which writers fill up.
const runPadding = 512

// runs returns the part of data that holds count values as runs (the Parquet encoding RLE). A few bytes can claim
// billions of values, and the library makes all of them.
func runs(data []byte, bitWidth, count int) ([]byte, error) {
	at := 0
	for left := count; left > 0; {
		header, n := binary.Uvarint(data[at:])
		if n <= 0 {
			return nil, fmt.Errorf("%w: runs of %d values, not of %d", ErrCorrupt, count-left, count)
		}
		at += n
		values, size := header>>1, uint64(bitWidth+7)/8
		if packed := header&1 != 0; packed {
			values, size = 8*(header>>1), uint64(bitWidth)*(header>>1)
		}
		if header>>1 > valueLimit || values > uint64(left+runPadding) || size > uint64(len(data)-at) {
			return nil, fmt.Errorf("%w: a run of %d values where %d are left", ErrCorrupt, values, left)
		}
		at += int(size)
		left -= int(values)
	}
	return data[:at], nil
}

// checkDeltas checks that delta-encoded data claims no more than count values.
func checkDeltas(data []byte, count int) error {
	for range 2 { // sizes of blocks
		_, n := binary.Uvarint(data)
		if n <= 0 {
			return fmt.Errorf("%w: deltas without a header", ErrCorrupt)
		}
		data = data[n:]
	}
	if values, n := binary.Uvarint(data); n <= 0 || values > uint64(count) {
		return fmt.Errorf("%w: deltas of %d values in a page of %d", ErrCorrupt, values, count)
	}
	return nil
}
