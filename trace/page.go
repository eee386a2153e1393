package trace

import (
	"fmt"
	"io"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
)

// columnReader reads the values of a column chunk page by page. A page is decoded as a whole, by its type: parquet-go's own readers
// make a parquet.Value of each value, which takes several times as long.
type columnReader struct {
	pages   parquet.Pages // nil for a column that the file does not have
	buffer  *[]byte       // that holds the pages, from chunkBuffers
	strings *interner

	page parquet.Page
	rows int // of the page that have not been read
	// levels tells of each unread row whether it has a value; nil when all have.
	levels []byte
	// indexes are those of the unread values in what the dictionary holds; without a dictionary it is nil, and values are the unread.
	indexes []int32
	values  pageValuesOf

	dictionary       parquet.Dictionary
	dictionarySize   int64 // that the page header tells, also before a page was read
	dictionaryValues pageValuesOf
}

// pageValuesOf are the values of a page or of a dictionary, in the slice of their type.
type pageValuesOf struct {
	bools   []bool
	int32s  []int32
	int64s  []int64
	strings []string
}

func (r *columnReader) open(f *segmentFile, group, index int) (err error) {
	defer containPanic(&err)
	rows := &f.Metadata().RowGroups[group]
	r.buffer = chunkBuffers.Get().(*[]byte)
	part, dictionary, err := loadChunk(f, &rows.Columns[index].MetaData, rows.NumRows, r.buffer)
	if err != nil {
		return err
	}
	r.dictionarySize = dictionary
	r.pages = f.RowGroups()[group].ColumnChunks()[index].(*parquet.FileColumnChunk).PagesFrom(part)
	return nil
}

// nextPage decodes the next page. io.EOF is an error here, for the row group has more rows.
func (r *columnReader) nextPage() error {
	r.releasePage()
	page, err := r.pages.ReadPage()
	if err == io.EOF {
		return fmt.Errorf("%w: it has fewer values than its row group has rows", ErrCorruptSegment)
	}
	if err != nil {
		return corrupt(err)
	}
	r.page = page
	r.rows = int(page.NumValues())
	r.levels = page.DefinitionLevels()
	r.indexes = nil
	dictionary := page.Dictionary()
	if dictionary == nil {
		r.values = r.decode(page.Data())
		return nil
	}
	if dictionary != r.dictionary {
		r.dictionary = dictionary
		r.dictionaryValues = r.decode(dictionary.Page().Data())
	}
	data := page.Data()
	r.indexes, r.values = data.Int32(), r.dictionaryValues
	return nil
}

// decode returns values in the slice of their type. Numbers refer to the page and are valid until the next one.
func (r *columnReader) decode(data encoding.Values) (v pageValuesOf) {
	switch data.Kind() {
	case encoding.Boolean:
		packed := data.Boolean()
		v.bools = make([]bool, 8*len(packed))
		for i := range v.bools {
			v.bools[i] = packed[i/8]>>(i%8)&1 != 0
		}
	case encoding.Int32:
		v.int32s = data.Int32()
	case encoding.Int64:
		v.int64s = data.Int64()
	case encoding.ByteArray:
		text, offsets := data.ByteArray()
		v.strings = make([]string, max(len(offsets), 1)-1)
		for i := range v.strings {
			v.strings[i] = r.strings.intern(text[offsets[i]:offsets[i+1]])
		}
	}
	return v
}

func (r *columnReader) releasePage() {
	if r.page != nil {
		parquet.Release(r.page)
		r.page = nil
	}
}

func (r *columnReader) close() {
	r.releasePage()
	if r.pages != nil {
		_ = r.pages.Close()
	}
	if r.buffer != nil {
		chunkBuffers.Put(r.buffer)
		r.buffer = nil
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
		case TypeInt32, TypeUint32:
			r.values.int32s = store(c, rows[:n], r, r.values.int32s)
		case TypeInt64, TypeUint64:
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
