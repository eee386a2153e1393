package writer

import (
	"bytes"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// pages collects the pages of a column in a row group, as they will be in the file.
type pages struct {
	compressor *zstd.Encoder
	bytes      []byte // of the pages
	plainBytes int64  // of the pages, were they not compressed
	// hopeless says that the last page did not become smaller by compression, as those of delta-encoded times: then the next ones are
	// not tried.
	hopeless bool

	header     bytes.Buffer
	levels     []byte
	compressed []byte
	protocol   thrift.CompactProtocol
}

// leastSaved is the part of a page that compression has to save for the page to be stored compressed.
const leastSaved = 1.0 / 64

// add appends a data page of the version 2. levels is nil for a column that is not nullable.
func (p *pages) add(encoding format.Encoding, rows, nulls int, levels, values []byte) error {
	p.levels = p.levels[:0]
	if levels != nil {
		var err error
		if p.levels, err = (&rle.Encoding{BitWidth: 1}).EncodeLevels(p.levels, levels); err != nil {
			return fmt.Errorf("encode levels: %w", err)
		}
	}
	stored, isCompressed := values, false
	if !p.hopeless && len(values) > 0 {
		p.compressed = p.compressor.EncodeAll(values, p.compressed[:0])
		isCompressed = float64(len(p.compressed)) <= float64(len(values))*(1-leastSaved)
		p.hopeless = !isCompressed && len(values) >= hopelessBytes
		if isCompressed {
			stored = p.compressed
		}
	}
	header := format.PageHeader{
		Type:                 format.DataPageV2,
		UncompressedPageSize: int32(len(p.levels) + len(values)),
		CompressedPageSize:   int32(len(p.levels) + len(stored)),
		CRC:                  int32(crc32.Update(crc32.ChecksumIEEE(p.levels), crc32.IEEETable, stored)),
		DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{
			NumValues: int32(rows), NumNulls: int32(nulls), NumRows: int32(rows), Encoding: encoding,
			DefinitionLevelsByteLength: int32(len(p.levels)), IsCompressed: thrift.New(isCompressed),
		}),
	}
	return p.store(&header, p.levels, stored)
}

// compressedSize is the size that values would have in a page.
func (p *pages) compressedSize(values []byte) int {
	p.compressed = p.compressor.EncodeAll(values, p.compressed[:0])
	return min(len(p.compressed), len(values))
}

// hopelessBytes is the size of a page from which on one that cannot be compressed tells of the next ones.
const hopelessBytes = 4 << 10

// addDictionary appends a dictionary page, which has to come first.
func (p *pages) addDictionary(values int, plain []byte) error {
	p.compressed = p.compressor.EncodeAll(plain, p.compressed[:0]) // these pages have no flag that says they are not compressed
	header := format.PageHeader{
		Type:                 format.DictionaryPage,
		UncompressedPageSize: int32(len(plain)),
		CompressedPageSize:   int32(len(p.compressed)),
		CRC:                  int32(crc32.ChecksumIEEE(p.compressed)),
		DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(values), Encoding: format.Plain}),
	}
	return p.store(&header, p.compressed)
}

func (p *pages) store(header *format.PageHeader, parts ...[]byte) error {
	p.header.Reset()
	if err := thrift.NewEncoder(p.protocol.NewWriter(&p.header)).Encode(header); err != nil {
		return fmt.Errorf("encode page header: %w", err)
	}
	p.bytes = append(p.bytes, p.header.Bytes()...)
	for _, part := range parts {
		p.bytes = append(p.bytes, part...)
	}
	p.plainBytes += int64(p.header.Len()) + int64(header.UncompressedPageSize)
	return nil
}

func (p *pages) reset() { p.bytes, p.plainBytes, p.hopeless = p.bytes[:0], 0, false }
