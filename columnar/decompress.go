package columnar

import (
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// decompress returns what was compressed, in the buffer if it had to be decompressed. It allocates no more than limit
// bytes, whatever the compressed bytes claim, and fails where they hold more.
func decompress(buffer []byte, codec format.CompressionCodec, compressed []byte, limit int) ([]byte, error) {
	if codec == format.Uncompressed || len(compressed) == 0 {
		return compressed, nil
	}
	buffer = slices.Grow(buffer[:0], limit+decoderSlack)[: 0 : limit+decoderSlack]
	plain, err := decompressInto(buffer, codec, compressed)
	if err != nil {
		return nil, fmt.Errorf("%w: pages compressed by %v: %w", ErrCorrupt, codec, err)
	}
	if len(plain) > limit {
		return nil, fmt.Errorf("%w: %d bytes in a page of %d", ErrCorrupt, len(plain), limit)
	}
	return plain, nil
}

// decoderSlack is room behind the output without which the decoder is slower.
const decoderSlack = 16

// decompressInto uses no more than the buffer's capacity.
func decompressInto(buffer []byte, codec format.CompressionCodec, compressed []byte) ([]byte, error) {
	switch codec {
	case format.Zstd:
		decoder := zstdDecoders.Get().(*zstd.Decoder)
		defer zstdDecoders.Put(decoder)
		return decoder.DecodeAll(compressed, buffer)
	case format.Snappy:
		size, err := snappy.DecodedLen(compressed)
		if err != nil || size > cap(buffer) {
			return nil, fmt.Errorf("a claim of %d bytes: %w", size, snappy.ErrCorrupt)
		}
		return snappy.Decode(buffer[:cap(buffer)], compressed)
	}
	return nil, errUnreadable
}

// zstdDecoders are *zstd.Decoder that write to the capacity of what they are given, no further.
var zstdDecoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxWindow(pageLimit))
	if err != nil {
		panic("trace: " + err.Error()) // an option's value is wrong
	}
	return d
}}
