package columnar

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// chunk is a column of the row group that is being made, whatever the type of its values.
type chunk interface {
	// endPage encodes the values that were added since the last page.
	endPage() error
	// size is the number of bytes of the pages so far.
	size() int
	// writeTo writes the chunk to where the file is offset bytes long, and forgets it.
	writeTo(w io.Writer, offset int64) (format.ColumnChunk, error)
}

func newChunk(column *Column, compressor *zstd.Encoder) chunk {
	switch column.Type {
	case TypeBool:
		return newColumnWriter[bool](column, compressor)
	case TypeInt32:
		return newColumnWriter[int32](column, compressor)
	case TypeInt64:
		return newColumnWriter[int64](column, compressor)
	case TypeDouble:
		return newColumnWriter[float64](column, compressor)
	}
	return newColumnWriter[string](column, compressor)
}

// ColumnWriter takes the values of a column by their type: making a parquet.Value of each takes several times as long.
type ColumnWriter[V Value] struct {
	column *Column
	pages  pages
	// dictionary is nil for a column that has none, and plain is set when it has become too large for its row group.
	dictionary *dictionary[V]
	plain      bool
	// smaller is the encoding that a row group's first page has decided for, with EncodingSmaller.
	smaller smallerEncoding

	// Of the page:
	rows    int
	levels  []byte
	values  []V
	numbers []int32 // in the dictionary, in place of values

	// Of the row group:
	totalRows, nulls int
	bounds           bounds[V]
	encodings        []format.Encoding

	encoded []byte
	first   pages // the dictionary's page
}

func newColumnWriter[V Value](column *Column, compressor *zstd.Encoder) *ColumnWriter[V] {
	c := &ColumnWriter[V]{column: column, pages: pages{compressor: compressor}, first: pages{compressor: compressor}, bounds: newBounds[V]()}
	if column.Encoding == EncodingDictionary {
		c.dictionary = newDictionary[V]()
	}
	return c
}

// Add adds the column's values of some rows. The function appends the values, nulls left out, and for a nullable column
// a level for each row: 1 where it has a value, else 0.
func (c *ColumnWriter[V]) Add(rows int, appendTo func(values []V, levels []byte) ([]V, []byte)) {
	before := len(c.values)
	c.values, c.levels = appendTo(c.values, c.levels)
	c.rows += rows
	c.nulls += rows - (len(c.values) - before)
	if c.dictionary == nil || c.plain {
		replaceInvalidText(c.values[before:])
		return
	}
	c.numbers = c.dictionary.appendNumbers(c.numbers, c.values)
	clear(c.values) // they may be strings
	c.values = c.values[:0]
}

// AddRepeated adds the same value, which is not null, for that many rows.
func (c *ColumnWriter[V]) AddRepeated(rows int, value V) {
	if rows == 0 {
		return
	}
	value = validText(value)
	c.rows += rows
	if c.column.Nullable {
		c.levels = appendRepeated(c.levels, rows, 1)
	}
	if c.dictionary == nil || c.plain {
		c.values = appendRepeated(c.values, rows, value)
		return
	}
	c.numbers = appendRepeated(c.numbers, rows, c.dictionary.number(value))
}

// AddNulls adds null for that many rows. The column must be nullable.
func (c *ColumnWriter[V]) AddNulls(rows int) {
	c.rows += rows
	c.nulls += rows
	c.levels = appendRepeated(c.levels, rows, 0)
}

func appendRepeated[E any](to []E, count int, value E) []E {
	first := len(to)
	to = slices.Grow(to, count)[:first+count]
	for i := range to[first:] {
		to[first+i] = value
	}
	return to
}

func (c *ColumnWriter[V]) size() int { return len(c.pages.bytes) }

// replaceInvalidText puts U+FFFD in place of bytes that are no UTF-8: names come from other programs, and a column that
// says it is text and is not cannot be read by others.
func replaceInvalidText[V Value](values []V) {
	texts, ok := any(values).([]string)
	if !ok {
		return
	}
	for i, text := range texts {
		if !utf8.ValidString(text) {
			texts[i] = strings.ToValidUTF8(text, string(utf8.RuneError))
		}
	}
}

// validText is replaceInvalidText for one value.
func validText[V Value](value V) V {
	one := [1]V{value}
	replaceInvalidText(one[:])
	return one[0]
}

func (c *ColumnWriter[V]) endPage() error {
	if c.rows == 0 {
		return nil
	}
	encoding, err := c.encode()
	if err != nil {
		return fmt.Errorf("encode column %s: %w", c.column.Name, err)
	}
	var levels []byte
	nulls := 0
	if c.column.Nullable {
		levels = c.levels
		nulls = c.rows - max(len(c.values), len(c.numbers))
	}
	if err := c.pages.add(encoding, c.rows, nulls, levels, c.encoded); err != nil {
		return fmt.Errorf("column %s: %w", c.column.Name, err)
	}
	if !slices.Contains(c.encodings, encoding) {
		c.encodings = append(c.encodings, encoding)
	}
	c.bounds.add(c.values)
	c.totalRows += c.rows
	clear(c.values)
	c.rows, c.levels, c.values, c.numbers = 0, c.levels[:0], c.values[:0], c.numbers[:0]
	if c.dictionary != nil && c.dictionary.isFull() {
		c.plain = true
	}
	return nil
}

// encode encodes the page's values.
func (c *ColumnWriter[V]) encode() (format.Encoding, error) {
	var err error
	switch {
	case len(c.numbers) > 0:
		c.encoded, err = (&rle.DictionaryEncoding{}).EncodeInt32(c.encoded[:0], c.numbers)
		return format.RLEDictionary, err
	case len(c.values) == 0 || c.column.Encoding != EncodingDelta && c.column.Encoding != EncodingSmaller:
		c.encoded = appendPlain(c.encoded[:0], c.values)
		return format.Plain, nil
	}
	values, ok := any(c.values).([]int64)
	if !ok {
		return 0, fmt.Errorf("%s cannot be delta-encoded", c.column.Type)
	}
	if c.column.Encoding == EncodingSmaller && c.smaller != smallerDelta {
		c.encoded = appendPlain(c.encoded[:0], c.values)
		if c.smaller == smallerPlain {
			return format.Plain, nil
		}
		plain := c.pages.compressedSize(c.encoded)
		c.encoded, err = (&delta.BinaryPackedEncoding{}).EncodeInt64(c.encoded[:0], values)
		if err != nil || c.pages.compressedSize(c.encoded) <= plain {
			c.smaller = smallerDelta
			return format.DeltaBinaryPacked, err
		}
		c.smaller = smallerPlain
		c.encoded = appendPlain(c.encoded[:0], c.values)
		return format.Plain, nil
	}
	c.encoded, err = (&delta.BinaryPackedEncoding{}).EncodeInt64(c.encoded[:0], values)
	return format.DeltaBinaryPacked, err
}

// smallerEncoding is which encoding a row group's first page was smaller in.
type smallerEncoding uint8

const (
	smallerUndecided smallerEncoding = iota
	smallerDelta
	smallerPlain
)

func (c *ColumnWriter[V]) writeTo(w io.Writer, offset int64) (format.ColumnChunk, error) {
	if err := c.endPage(); err != nil {
		return format.ColumnChunk{}, err
	}
	meta := format.ColumnMetaData{
		Type: physical[c.column.Type], PathInSchema: []string{c.column.Name}, Codec: format.Zstd, NumValues: int64(c.totalRows),
		DataPageOffset: offset, Encoding: thrift.Slice[format.Encoding](append([]format.Encoding{format.RLE}, c.encodings...)),
	}
	if c.dictionary != nil && len(c.dictionary.values) > 0 {
		c.encoded = appendPlain(c.encoded[:0], c.dictionary.values)
		if err := c.first.addDictionary(len(c.dictionary.values), c.encoded); err != nil {
			return format.ColumnChunk{}, fmt.Errorf("column %s: %w", c.column.Name, err)
		}
		c.bounds.add(c.dictionary.values)
		meta.DictionaryPageOffset = offset
		meta.DataPageOffset += int64(len(c.first.bytes))
		if !slices.Contains(c.encodings, format.Plain) {
			meta.Encoding = append(meta.Encoding, format.Plain)
		}
	}
	for _, part := range [][]byte{c.first.bytes, c.pages.bytes} {
		if _, err := w.Write(part); err != nil {
			return format.ColumnChunk{}, err
		}
	}
	meta.TotalCompressedSize = int64(len(c.first.bytes) + len(c.pages.bytes))
	meta.TotalUncompressedSize = c.first.plainBytes + c.pages.plainBytes
	meta.Statistics = c.bounds.statistics(c.nulls)
	c.reset()
	return format.ColumnChunk{MetaData: meta}, nil
}

func (c *ColumnWriter[V]) reset() {
	c.pages.reset()
	c.first.reset()
	if c.dictionary != nil {
		c.dictionary.reset()
	}
	c.bounds.reset()
	c.plain, c.smaller = false, smallerUndecided
	c.totalRows, c.nulls, c.encodings = 0, 0, c.encodings[:0]
}
