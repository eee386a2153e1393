package columnar

import (
	"bytes"
	"encoding/binary"
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
	// hopeless says that the last page did not become smaller by compression, as those of delta-encoded times: then the
	// next ones are not tried.
	hopeless bool

	header     bytes.Buffer
	levels     []byte
	whole      []byte // levels and values
	compressed []byte
	protocol   thrift.CompactProtocol
}

// leastSaved is the part of a page that compression has to save for the page to be stored compressed.
const leastSaved = 1.0 / 64

// mixedLevels is the size of levels from which on they are compressed. Where all values of a page are null, or none is,
// they take a few bytes.
const mixedLevels = 64

// add appends a data page. levels is nil for a column that is not nullable. The page has the version 2, which can do
// without compression but has levels that are not compressed. Where nulls and values alternate they would take a bit a
// row: such a page has the version 1.
func (p *pages) add(encoding format.Encoding, rows, nulls int, levels, values []byte) error {
	p.levels = p.levels[:0]
	if levels != nil {
		var err error
		if p.levels, err = (&rle.Encoding{BitWidth: 1}).EncodeLevels(p.levels, levels); err != nil {
			return fmt.Errorf("encode levels: %w", err)
		}
	}
	if len(p.levels) >= mixedLevels {
		return p.addWithLevels(encoding, rows, values)
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

// addWithLevels appends a data page of the version 1, whose levels and values are compressed as one.
func (p *pages) addWithLevels(encoding format.Encoding, rows int, values []byte) error {
	p.whole = binary.LittleEndian.AppendUint32(p.whole[:0], uint32(len(p.levels)))
	p.whole = append(append(p.whole, p.levels...), values...)
	p.compressed = p.compressor.EncodeAll(p.whole, p.compressed[:0])
	header := format.PageHeader{
		Type:                 format.DataPage,
		UncompressedPageSize: int32(len(p.whole)),
		CompressedPageSize:   int32(len(p.compressed)),
		CRC:                  int32(crc32.ChecksumIEEE(p.compressed)),
		DataPageHeader: thrift.New(format.DataPageHeader{
			NumValues: int32(rows), Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		}),
	}
	return p.store(&header, p.compressed)
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
