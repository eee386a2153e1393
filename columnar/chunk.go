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
	// bytes of a column in a row group, in the file and uncompressed, pages of it, whose headers take many times their
	// size in memory, bytes of a page when uncompressed, and values of a page. The writer stays far below, and so do other
	// tools that rewrite a segment.
	chunkLimit = 256 << 20
	pagesLimit = 64 << 10
	pageLimit  = 32 << 20
	valueLimit = 1 << 20
)

// chunkPage is a page of a column chunk as it is in the file.
type chunkPage struct {
	header  format.PageHeader
	content []byte
}

// loadChunk reads the pages of a column in a row group of that many rows into the buffer, and returns them and the
// number of values of the dictionary.
func loadChunk(f io.ReaderAt, size int64, c *Chunk, rows int64, buffer *[]byte) (pages []chunkPage, dictionary int64, err error) {
	if c.Offset < 0 || c.Length < 0 || c.Length > min(chunkLimit, size) || c.Offset > size-c.Length {
		return nil, 0, fmt.Errorf("%w: pages of %d bytes at %d", ErrCorrupt, c.Length, c.Offset)
	}
	*buffer = slices.Grow((*buffer)[:0], int(c.Length))[:c.Length]
	if _, err := f.ReadAt(*buffer, c.Offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, Corrupt(err)
	}
	return splitPages(*buffer, rows)
}

// splitPages follows the page headers and compares what they claim with the limits and with each other. It returns the
// pages and the number of values of the dictionary, which comes first if there is one.
func splitPages(chunk []byte, rows int64) (pages []chunkPage, dictionary int64, err error) {
	var values, plain int64
	for len(chunk) > 0 {
		if len(pages) == pagesLimit {
			return nil, 0, fmt.Errorf("%w: more than %d pages", ErrCorrupt, pagesLimit)
		}
		header, size, err := decodePageHeader(chunk)
		if err != nil {
			return nil, 0, Corrupt(fmt.Errorf("page header: %w", err))
		}
		chunk = chunk[size:]
		held, data := pageValues(&header)
		switch {
		case data:
			values += held
		case header.Type != format.DictionaryPage || len(pages) > 0:
			return nil, 0, fmt.Errorf("%w: page %d is of type %v", ErrCorrupt, len(pages), header.Type)
		default:
			dictionary += held
		}
		compressed, uncompressed := int64(header.CompressedPageSize), int64(header.UncompressedPageSize)
		plain += uncompressed
		if compressed < 0 || compressed > int64(len(chunk)) || uncompressed < 0 || uncompressed > pageLimit || plain > chunkLimit ||
			held < 0 || held > valueLimit {
			return nil, 0, fmt.Errorf("%w: page of %d values, %d bytes, %d uncompressed", ErrCorrupt, held, compressed, uncompressed)
		}
		pages = append(pages, chunkPage{header: header, content: chunk[:compressed]})
		chunk = chunk[compressed:]
	}
	if values != rows {
		return nil, 0, fmt.Errorf("%w: %d values in a row group of %d rows", ErrCorrupt, values, rows)
	}
	return pages, dictionary, nil
}

// decodePageHeader decodes the page header that a chunk begins with, and returns its size.
func decodePageHeader(chunk []byte) (header format.PageHeader, size int, err error) {
	if size, err = checkThrift(chunk, nil); err != nil {
		return header, 0, err
	}
	var protocol thrift.CompactProtocol
	err = thrift.NewDecoder(protocol.NewReaderFromBytes(chunk[:size])).Decode(&header)
	return header, size, err
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
