package columnar

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	// chunkLimit, pagesLimit, pageLimit and valueLimit bound what a segment can make a reader allocate and decompress:
	// bytes of a column in a row group, in the file and uncompressed, pages of it, bytes of a page when uncompressed, and
	// values of a page. The writer stays far below, and so do other tools that rewrite a segment.
	chunkLimit = 256 << 20
	pagesLimit = 64 << 10
	pageLimit  = 32 << 20
	valueLimit = 1 << 20
	// compressedLimit is what Snappy makes at most of a page that cannot be compressed; zstd makes less.
	compressedLimit = 32 + pageLimit + pageLimit/6
)

// LoadLimit bounds the columns of a row group that are read at once, in bytes of the file.
const LoadLimit = 512 << 20

// load reads the pages of a column in a row group of that many rows into the buffer, and checks them. It returns the
// number of values of the dictionary.
func (c *Chunk) load(f io.ReaderAt, rows int64, buffer *[]byte) (dictionary int64, err error) {
	if c.Length > chunkLimit {
		return 0, fmt.Errorf("%w: pages of %d bytes at %d", ErrCorrupt, c.Length, c.Offset)
	}
	*buffer = slices.Grow((*buffer)[:0], int(c.Length))[:c.Length]
	if _, err := f.ReadAt(*buffer, c.Offset); err != nil && !errors.Is(err, io.EOF) {
		return 0, Corrupt(err)
	}
	return checkPages(*buffer, rows, int64(c.plain))
}

// checkPages follows the page headers and compares what they claim with the limits and with each other; no page may
// have more uncompressed bytes than plain. It returns the number of values of the dictionary, which comes first if
// there is one. The headers are not kept: they take many times the bytes of pages that are small.
func checkPages(chunk []byte, rows, plain int64) (dictionary int64, err error) {
	var values, sum int64
	for pages := 0; len(chunk) > 0; pages++ {
		if pages == pagesLimit {
			return 0, fmt.Errorf("%w: more than %d pages", ErrCorrupt, pagesLimit)
		}
		header, size, err := decodePageHeader(chunk)
		if err != nil {
			return 0, err
		}
		chunk = chunk[size:]
		held, data := pageValues(&header)
		switch {
		case data:
			values += held
		case header.Type != format.DictionaryPage || pages > 0:
			return 0, fmt.Errorf("%w: page %d is of type %v", ErrCorrupt, pages, header.Type)
		default:
			dictionary += held
		}
		compressed, uncompressed := int64(header.CompressedPageSize), int64(header.UncompressedPageSize)
		sum += uncompressed
		if compressed < 0 || compressed > min(int64(len(chunk)), compressedLimit) || uncompressed < 0 || uncompressed > plain || sum > chunkLimit ||
			held < 0 || held > valueLimit {
			return 0, fmt.Errorf("%w: page of %d values, %d bytes, %d uncompressed", ErrCorrupt, held, compressed, uncompressed)
		}
		chunk = chunk[compressed:]
	}
	if values != rows {
		return 0, fmt.Errorf("%w: %d values in a row group of %d rows", ErrCorrupt, values, rows)
	}
	return dictionary, nil
}

// chunkPage is a page of a column chunk as it is in the file.
type chunkPage struct {
	header  format.PageHeader
	content []byte
}

// cutPage returns the page that checked pages begin with, and those behind it.
func cutPage(chunk []byte) (page chunkPage, rest []byte, err error) {
	header, size, err := decodePageHeader(chunk)
	if err != nil {
		return page, nil, err
	}
	chunk = chunk[size:]
	return chunkPage{header: header, content: chunk[:header.CompressedPageSize]}, chunk[header.CompressedPageSize:], nil
}

// decodePageHeader decodes the page header that a chunk begins with, and returns its size.
func decodePageHeader(chunk []byte) (header format.PageHeader, size int, err error) {
	if size, err = checkThrift(chunk, nil); err == nil {
		var protocol thrift.CompactProtocol
		err = thrift.NewDecoder(protocol.NewReaderFromBytes(chunk[:size])).Decode(&header)
	}
	if err != nil {
		return header, 0, Corrupt(fmt.Errorf("page header: %w", err))
	}
	return header, size, nil
}

// pageValues returns the number of values of a page, nulls included, and whether they are rows' values (not a
// dictionary's).
func pageValues(header *format.PageHeader) (values int64, data bool) {
	switch header.Type {
	case format.DataPage:
		return int64(header.DataPageHeader.V.NumValues), true
	case format.DataPageV2:
		return int64(header.DataPageHeaderV2.V.NumValues), true
	}
	return int64(header.DictionaryPageHeader.V.NumValues), false
}
