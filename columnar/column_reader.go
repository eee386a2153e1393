package columnar

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// formerDictionary is PLAIN_DICTIONARY, which other writers still call the indexes of a dictionary in pages of version
// 1.
const formerDictionary format.Encoding = 2

// ColumnReader reads the values of a column chunk page by page. A page is decoded as a whole, by its type, and not by
// the Parquet library: that makes a parquet.Value of each value, which takes several times as long, and allocates
// whatever the content of a page asks for.
//
// Its exported fields are what is unread of the page; who reads it shortens them.
type ColumnReader struct {
	Rows    int // of the page that have not been read
	Present int // values of the page, without nulls
	// Levels tells of each unread row whether it has a value; nil when all have.
	Levels []byte
	// Indexes are those of the unread values in the dictionary; where they are not in it, it is nil, and Values are the
	// unread.
	Indexes []int32
	Values  Values

	DictionarySize int64 // that the page header tells, also before a page was read
	Dictionary     Values

	buffers  *chunkBuffers // nil for a column that the file does not have
	pages    []byte        // that have not been read
	codec    format.CompressionCodec
	kind     parquet.Kind
	nullable bool
	strings  *Interner
}

// chunkBuffers are what a ColumnReader reads into.
type chunkBuffers struct {
	chunk   []byte
	plain   []byte // of a page
	levels  []byte
	indexes []int32
	values  Values
}

var chunkBufferPool = sync.Pool{New: func() any { return new(chunkBuffers) }}

// Open begins to read a column of a row group. The pages come from the reader, strings through the interner.
func (r *ColumnReader) Open(f *File, from io.ReaderAt, group, leaf int, strings *Interner) (err error) {
	defer ContainPanic(&err)
	chunk, of := &f.Groups[group].Chunks[leaf], &f.Leaves[leaf]
	r.codec, r.kind, r.nullable, r.strings = format.CompressionCodec(chunk.codec), of.Kind, of.Nullable, strings
	r.buffers = chunkBufferPool.Get().(*chunkBuffers)
	r.DictionarySize, err = chunk.load(from, f.Groups[group].Rows, &r.buffers.chunk)
	r.pages = r.buffers.chunk
	return err
}

// IsMissing tells that the file does not have the column.
func (r *ColumnReader) IsMissing() bool { return r.buffers == nil }

// NextPage decodes the next page. It fails behind the last one, for the row group has more rows.
func (r *ColumnReader) NextPage() error {
	for len(r.pages) > 0 {
		page, rest, err := cutPage(r.pages)
		if err != nil {
			return err
		}
		r.pages = rest
		if sum := uint32(page.header.CRC); sum != 0 && sum != crc32.ChecksumIEEE(page.content) {
			return fmt.Errorf("%w: a page does not have its checksum", ErrCorrupt)
		}
		read := r.readDictionary
		switch page.header.Type {
		case format.DataPage:
			read = r.readPage
		case format.DataPageV2:
			read = r.readPageV2
		}
		if err := read(&page); err != nil {
			return Corrupt(err)
		}
		if page.header.Type != format.DictionaryPage {
			return nil
		}
	}
	return fmt.Errorf("%w: it has fewer values than its row group has rows", ErrCorrupt)
}

func (r *ColumnReader) readDictionary(page *chunkPage) error {
	plain, err := r.decompress(page.content, r.codec, int(page.header.UncompressedPageSize))
	if err != nil {
		return err
	}
	// Its encoding is PLAIN, which once was called PLAIN_DICTIONARY.
	return r.Dictionary.decode(r.kind, format.Plain, plain, int(r.DictionarySize), r.strings)
}

// readPage decodes a page in which levels and values are compressed as one.
func (r *ColumnReader) readPage(page *chunkPage) error {
	header := &page.header.DataPageHeader.V
	plain, err := r.decompress(page.content, r.codec, int(page.header.UncompressedPageSize))
	if err != nil {
		return err
	}
	var levels []byte
	if r.nullable && header.NumValues > 0 {
		if len(plain) < 4 || uint64(binary.LittleEndian.Uint32(plain)) > uint64(len(plain)-4) || header.DefinitionLevelEncoding != format.RLE {
			return fmt.Errorf("%w: levels in %v of a page of %d bytes", ErrCorrupt, header.DefinitionLevelEncoding, len(plain))
		}
		end := 4 + binary.LittleEndian.Uint32(plain)
		levels, plain = plain[4:end], plain[end:]
	}
	return r.decode(int(header.NumValues), levels, header.Encoding, plain)
}

// readPageV2 decodes a page in which levels are not compressed, and values may not be.
func (r *ColumnReader) readPageV2(page *chunkPage) error {
	header := &page.header.DataPageHeaderV2.V
	repetition, definition := int(header.RepetitionLevelsByteLength), int(header.DefinitionLevelsByteLength)
	limit := int(page.header.UncompressedPageSize) - repetition - definition
	if repetition < 0 || definition < 0 || repetition+definition > len(page.content) || limit < 0 {
		return fmt.Errorf("%w: levels of %d bytes in a page of %d", ErrCorrupt, repetition+definition, len(page.content))
	}
	levels, values := page.content[repetition:repetition+definition], page.content[repetition+definition:]
	codec := r.codec
	if header.IsCompressed.Valid && !header.IsCompressed.V {
		codec = format.Uncompressed
	}
	plain, err := r.decompress(values, codec, limit)
	if err != nil {
		return err
	}
	return r.decode(int(header.NumValues), levels, header.Encoding, plain)
}

// decompress is valid until the next call.
func (r *ColumnReader) decompress(compressed []byte, codec format.CompressionCodec, limit int) ([]byte, error) {
	plain, err := decompress(r.buffers.plain, codec, compressed, limit)
	if err == nil && codec != format.Uncompressed && len(compressed) > 0 {
		r.buffers.plain = plain
	}
	return plain, err
}

// decode makes that many rows the next ones. Without levels all have a value.
func (r *ColumnReader) decode(rows int, levels []byte, encoding format.Encoding, data []byte) (err error) {
	r.Rows, r.Present = rows, rows
	r.Levels, r.Indexes = nil, nil
	if r.nullable && len(levels) > 0 {
		if r.Levels, err = decodeLevels(r.buffers.levels, levels, rows); err != nil {
			return err
		}
		r.buffers.levels = r.Levels
		r.Present -= bytes.Count(r.Levels, []byte{0})
	}
	if encoding == format.RLEDictionary || encoding == formerDictionary {
		if r.Indexes, err = decodeIndexes(r.buffers.indexes, data, r.Present); err != nil {
			return err
		}
		r.buffers.indexes, r.Values = r.Indexes, r.Dictionary
		return nil
	}
	if err := r.buffers.values.decode(r.kind, encoding, data, r.Present, r.strings); err != nil {
		return err
	}
	r.Values = r.buffers.values
	return nil
}

// Close gives the buffers back. What was read lies in them, but for strings.
func (r *ColumnReader) Close() {
	if r.buffers != nil {
		r.buffers.values.Strings = nil
		if r.buffers.memory() <= keptBuffers {
			chunkBufferPool.Put(r.buffers)
		}
		r.buffers = nil
	}
}

// keptBuffers bounds the memory that is kept for the next column. Row groups of the writer need a sixth of it.
const keptBuffers = 8 << 20

func (b *chunkBuffers) memory() int {
	v := &b.values
	return cap(b.chunk) + cap(b.plain) + cap(b.levels) + 4*cap(b.indexes) + cap(v.Bools) + 4*cap(v.Int32s) + 8*cap(v.Int64s)
}
