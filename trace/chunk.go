package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	// chunkLimit, pageLimit and valueLimit bound what a segment can make a reader allocate: bytes of a column in a row group,
	// bytes of a page when uncompressed, and values of a page. The writer stays far below, and so do other tools that
	// rewrite a segment.
	chunkLimit = 256 << 20
	pageLimit  = 32 << 20
	valueLimit = 1 << 20
)

// chunkBuffers are *[]byte that held pages.
var chunkBuffers = sync.Pool{New: func() any { return new([]byte) }}

// loadChunk reads the pages of a column in a row group of that many rows into the buffer, and returns a reader of their part of the file and the
// number of values of the dictionary.
// The Parquet library allocates what page headers ask for before it looks at the page, so they are checked first.
func loadChunk(f *segmentFile, meta *format.ColumnMetaData, rows int64, buffer *[]byte) (pages io.ReaderAt, dictionary int64, err error) {
	begin := meta.DataPageOffset
	if meta.DictionaryPageOffset != 0 {
		begin = meta.DictionaryPageOffset
	}
	length := meta.TotalCompressedSize
	if begin < 0 || length < 0 || length > min(chunkLimit, f.Size()) || begin > f.Size()-length {
		return nil, 0, fmt.Errorf("%w: pages of %d bytes at %d", ErrCorruptSegment, length, begin)
	}
	*buffer = slices.Grow((*buffer)[:0], int(length))[:length]
	if _, err := f.ReadAt(*buffer, begin); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, corrupt(err)
	}
	if dictionary, err = checkPages(*buffer, rows); err != nil {
		return nil, 0, err
	}
	return &filePart{begin: begin, bytes: bytes.NewReader(*buffer)}, dictionary, nil
}

// checkPages follows the page headers and compares what they claim with the limits and with each other. It returns the number of values of the
// dictionary.
func checkPages(pages []byte, rows int64) (dictionary int64, err error) {
	var values int64
	var protocol thrift.CompactProtocol
	for len(pages) > 0 {
		reader := protocol.NewReaderFromBytes(pages)
		var header format.PageHeader
		if err := thrift.NewDecoder(reader).Decode(&header); err != nil {
			return 0, corrupt(fmt.Errorf("page header: %w", err))
		}
		pages = pages[reader.BytesRead():]
		held, data := pageValues(&header)
		if data {
			values += held
		} else {
			dictionary += held
		}
		compressed, uncompressed := int64(header.CompressedPageSize), int64(header.UncompressedPageSize)
		if compressed < 0 || compressed > int64(len(pages)) || uncompressed < 0 || uncompressed > pageLimit || held < 0 || held > valueLimit {
			return 0, fmt.Errorf("%w: page of %d values, %d bytes, %d uncompressed", ErrCorruptSegment, held, compressed, uncompressed)
		}
		pages = pages[compressed:]
	}
	if values != rows {
		return 0, fmt.Errorf("%w: %d values in a row group of %d rows", ErrCorruptSegment, values, rows)
	}
	return dictionary, nil
}

// pageValues returns the number of values of a page, nulls included, and whether they are rows' values (not a dictionary's).
func pageValues(header *format.PageHeader) (values int64, data bool) {
	switch header.Type {
	case format.DataPage:
		return int64(header.DataPageHeader.V.NumValues), true
	case format.DataPageV2:
		return int64(header.DataPageHeaderV2.V.NumValues), true
	}
	return int64(header.DictionaryPageHeader.V.NumValues), false
}

// filePart is a part of a file in memory, addressed by offsets in the file.
type filePart struct {
	begin int64
	bytes *bytes.Reader
}

// ReadAt implements io.ReaderAt.
func (p *filePart) ReadAt(b []byte, offset int64) (int, error) {
	return p.bytes.ReadAt(b, offset-p.begin)
}
