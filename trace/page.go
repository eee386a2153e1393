package trace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// formerDictionary is PLAIN_DICTIONARY, which other writers still call the indexes of a dictionary in pages of version 1.
const formerDictionary format.Encoding = 2

// columnReader reads the values of a column chunk page by page. A page is decoded as a whole, by its type, and not by the Parquet library:
// that makes a parquet.Value of each value, which takes several times as long, and allocates whatever the content of a page asks for.
type columnReader struct {
	buffers  *chunkBuffers // nil for a column that the file does not have
	pages    []chunkPage   // that have not been read
	codec    format.CompressionCodec
	kind     parquet.Kind
	nullable bool
	strings  *interner

	rows    int // of the page that have not been read
	present int // values of the page, without nulls
	// levels tells of each unread row whether it has a value; nil when all have.
	levels []byte
	// indexes are those of the unread values in the dictionary; where they are not in it, it is nil, and values are the unread.
	indexes []int32
	values  pageValuesOf

	dictionarySize   int64 // that the page header tells, also before a page was read
	dictionaryValues pageValuesOf
}

// chunkBuffers are what a columnReader reads into.
type chunkBuffers struct {
	chunk   []byte
	plain   []byte // of a page
	levels  []byte
	indexes []int32
	values  pageValuesOf
}

var chunkBufferPool = sync.Pool{New: func() any { return new(chunkBuffers) }}

func (r *columnReader) open(f *segmentFile, group, index int) (err error) {
	defer containPanic(&err)
	rows := &f.Metadata().RowGroups[group]
	leaf, _ := f.Schema().Lookup(f.Schema().Columns()[index]...)
	r.codec, r.kind, r.nullable = rows.Columns[index].MetaData.Codec, leaf.Node.Type().Kind(), leaf.MaxDefinitionLevel > 0
	r.buffers = chunkBufferPool.Get().(*chunkBuffers)
	r.pages, r.dictionarySize, err = loadChunk(f, &rows.Columns[index].MetaData, rows.NumRows, &r.buffers.chunk)
	return err
}

// isMissing tells that the file does not have the column.
func (r *columnReader) isMissing() bool { return r.buffers == nil }

// nextPage decodes the next page. It fails behind the last one, for the row group has more rows.
func (r *columnReader) nextPage() error {
	for len(r.pages) > 0 {
		page := &r.pages[0]
		r.pages = r.pages[1:]
		if sum := uint32(page.header.CRC); sum != 0 && sum != crc32.ChecksumIEEE(page.content) {
			return fmt.Errorf("%w: a page does not have its checksum", ErrCorruptSegment)
		}
		read := r.readDictionary
		switch page.header.Type {
		case format.DataPage:
			read = r.readPage
		case format.DataPageV2:
			read = r.readPageV2
		}
		if err := read(page); err != nil {
			return corrupt(err)
		}
		if page.header.Type != format.DictionaryPage {
			return nil
		}
	}
	return fmt.Errorf("%w: it has fewer values than its row group has rows", ErrCorruptSegment)
}

func (r *columnReader) readDictionary(page *chunkPage) error {
	plain, err := r.decompress(page.content, r.codec, int(page.header.UncompressedPageSize))
	if err != nil {
		return err
	}
	// Its encoding is PLAIN, which once was called PLAIN_DICTIONARY.
	return r.dictionaryValues.decode(r.kind, format.Plain, plain, int(r.dictionarySize), r.strings)
}

// readPage decodes a page in which levels and values are compressed as one.
func (r *columnReader) readPage(page *chunkPage) error {
	header := &page.header.DataPageHeader.V
	plain, err := r.decompress(page.content, r.codec, int(page.header.UncompressedPageSize))
	if err != nil {
		return err
	}
	var levels []byte
	if r.nullable && header.NumValues > 0 {
		if len(plain) < 4 || uint64(binary.LittleEndian.Uint32(plain)) > uint64(len(plain)-4) || header.DefinitionLevelEncoding != format.RLE {
			return fmt.Errorf("%w: levels in %v of a page of %d bytes", ErrCorruptSegment, header.DefinitionLevelEncoding, len(plain))
		}
		end := 4 + binary.LittleEndian.Uint32(plain)
		levels, plain = plain[4:end], plain[end:]
	}
	return r.decode(int(header.NumValues), levels, header.Encoding, plain)
}

// readPageV2 decodes a page in which levels are not compressed, and values may not be.
func (r *columnReader) readPageV2(page *chunkPage) error {
	header := &page.header.DataPageHeaderV2.V
	repetition, definition := int(header.RepetitionLevelsByteLength), int(header.DefinitionLevelsByteLength)
	limit := int(page.header.UncompressedPageSize) - repetition - definition
	if repetition < 0 || definition < 0 || repetition+definition > len(page.content) || limit < 0 {
		return fmt.Errorf("%w: levels of %d bytes in a page of %d", ErrCorruptSegment, repetition+definition, len(page.content))
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
func (r *columnReader) decompress(compressed []byte, codec format.CompressionCodec, limit int) ([]byte, error) {
	plain, err := decompress(r.buffers.plain, codec, compressed, limit)
	if err == nil && codec != format.Uncompressed && len(compressed) > 0 {
		r.buffers.plain = plain
	}
	return plain, err
}

// decode makes that many rows the next ones. Without levels all have a value.
func (r *columnReader) decode(rows int, levels []byte, encoding format.Encoding, data []byte) (err error) {
	r.rows, r.present = rows, rows
	r.levels, r.indexes = nil, nil
	if r.nullable && len(levels) > 0 {
		if r.levels, err = decodeLevels(r.buffers.levels, levels, rows); err != nil {
			return err
		}
		r.buffers.levels = r.levels
		r.present -= bytes.Count(r.levels, []byte{0})
	}
	if encoding == format.RLEDictionary || encoding == formerDictionary {
		if r.indexes, err = decodeIndexes(r.buffers.indexes, data, r.present); err != nil {
			return err
		}
		r.buffers.indexes, r.values = r.indexes, r.dictionaryValues
		return nil
	}
	if err := r.buffers.values.decode(r.kind, encoding, data, r.present, r.strings); err != nil {
		return err
	}
	r.values = r.buffers.values
	return nil
}

func (r *columnReader) close() {
	if r.buffers != nil {
		r.buffers.values.strings = nil
		chunkBufferPool.Put(r.buffers)
		r.buffers = nil
	}
}

// fill reads a column of the rows, which hold its zero value before.
func fill[T any](rows []T, c *Column, r *columnReader) (err error) {
	defer containPanic(&err)
	for len(rows) > 0 {
		if r.rows == 0 {
			if err := r.nextPage(); err != nil {
				return err
			}
			continue
		}
		n := min(len(rows), r.rows)
		switch c.Type {
		case TypeBool:
			r.values.bools = store(c, rows[:n], r, r.values.bools)
		case TypeInt32:
			r.values.int32s = store(c, rows[:n], r, r.values.int32s)
		case TypeInt64:
			r.values.int64s = store(c, rows[:n], r, r.values.int64s)
		default:
			r.values.strings = store(c, rows[:n], r, r.values.strings)
		}
		rows = rows[n:]
		r.rows -= n
	}
	return nil
}

// store stores the column's next values, which are of type V or an unsigned type of its size, in the rows, and returns the values that
// remain.
func store[T, V any](c *Column, rows []T, r *columnReader, values []V) []V {
	used := 0
	for i := range rows {
		if r.levels != nil && r.levels[i] == 0 {
			continue
		}
		at := used
		if r.indexes != nil {
			at = int(r.indexes[used])
		}
		used++
		put(c, unsafe.Pointer(&rows[i]), values[at])
	}
	if r.levels != nil {
		r.levels = r.levels[len(rows):]
	}
	if r.indexes != nil {
		r.indexes = r.indexes[used:]
		return values
	}
	return values[used:]
}

// put stores a value of the column in a row.
func put[V any](c *Column, row unsafe.Pointer, value V) {
	p := unsafe.Add(row, c.offset)
	*(*V)(p) = value
	if c.present != 0 {
		*(*bool)(unsafe.Add(p, c.present)) = true
	}
	if c.isOffset { // from a time that was read before
		*(*int64)(p) += *(*int64)(unsafe.Add(row, c.base))
	}
}
