package columnar

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// File is what readers need to know of a Parquet file: the part of its footer that pages are found by. What the Parquet
// library makes of a footer takes more than ten times as much, and a question keeps thousands of these.
type File struct {
	Size   int64 // in bytes
	Rows   int64
	Leaves []Leaf
	Groups []RowGroup
}

// Leaf is a column of a file.
type Leaf struct {
	Name     string
	Kind     parquet.Kind
	Nullable bool
	Repeated bool
	// Unsigned: its numbers are.
	Unsigned bool
}

// RowGroup has a chunk of each leaf, in their order.
type RowGroup struct {
	Rows   int64
	Chunks []Chunk
}

// Chunk is the pages of a column in a row group.
type Chunk struct {
	Offset int64 // in the file
	Length int64
	// Nulls, Least and Greatest are as the statistics have them. The last two are known of numbers of 64 bits only, and
	// of these where Bounded.
	Nulls, Least, Greatest int64
	Bounded                bool
	codec                  int8
	// plain is the size of its pages when uncompressed, as the footer tells it, or the limit of a page if that is less. No
	// page may be larger.
	plain int32
}

// Memory is what a File keeps in memory without its leaves, in bytes.
func (f *File) Memory() int {
	bytes := int(unsafe.Sizeof(*f)) + len(f.Groups)*int(unsafe.Sizeof(RowGroup{}))
	return bytes + len(f.Groups)*len(f.Leaves)*int(unsafe.Sizeof(Chunk{}))
}

// ReadingMemory bounds what reading a column of a row group takes in memory at once, in bytes: its pages as they are in
// the file, one of them uncompressed, the text in that, its values with their levels and indexes, and the dictionary.
func (f *File) ReadingMemory(group, leaf int) int64 {
	const (
		number = 8 + 4 + 1 // with its index and its level
		text   = 16 + 4 + 1
		empty  = 4 // a text without any bytes in a page
	)
	c := &f.Groups[group].Chunks[leaf]
	values, plain := min(f.Groups[group].Rows, valueLimit), int64(c.plain)
	if f.Leaves[leaf].Kind != parquet.ByteArray {
		return c.Length + 2*plain + values*number
	}
	return c.Length + 2*plain + values*text + min(plain/empty, valueLimit)*text
}

// Leaf returns the index of a column, −1 where there is none.
func (f *File) Leaf(name string) int {
	return slices.IndexFunc(f.Leaves, func(l Leaf) bool { return l.Name == name })
}

// fileOf takes what is needed from the Parquet library, which has read the footer; end is where that begins.
func fileOf(f *parquet.File, end int64) (*File, error) {
	if err := checkMetadata(f); err != nil {
		return nil, err
	}
	file := &File{Size: f.Size(), Rows: f.NumRows()}
	for _, path := range f.Schema().Columns() {
		leaf, _ := f.Schema().Lookup(path...)
		file.Leaves = append(file.Leaves, leafOf(path[0], &leaf))
	}
	groups := f.Metadata().RowGroups
	file.Groups = make([]RowGroup, len(groups))
	chunks := make([]Chunk, len(groups)*len(file.Leaves))
	for i := range groups {
		of := &file.Groups[i]
		of.Rows, of.Chunks, chunks = groups[i].NumRows, chunks[:len(file.Leaves):len(file.Leaves)], chunks[len(file.Leaves):]
		for j := range of.Chunks {
			of.Chunks[j] = chunkOf(&groups[i].Columns[j].MetaData, file.Leaves[j].Kind)
		}
	}
	return file, file.checkPlaces(end)
}

func leafOf(name string, leaf *parquet.LeafColumn) Leaf {
	of := leaf.Node.Type()
	// The name lies in the bytes of the footer, which are not to be kept for it.
	l := Leaf{Name: strings.Clone(name), Kind: of.Kind(), Nullable: leaf.MaxDefinitionLevel > 0, Repeated: leaf.MaxRepetitionLevel > 0}
	if logical := of.LogicalType(); logical != nil {
		integer, ok := logical.Value.(*format.IntType)
		l.Unsigned = ok && !integer.IsSigned
	}
	return l
}

func chunkOf(meta *format.ColumnMetaData, kind parquet.Kind) Chunk {
	c := Chunk{
		Offset: meta.DataPageOffset, Length: meta.TotalCompressedSize, Nulls: meta.Statistics.NullCount,
		codec: int8(meta.Codec), plain: pageLimit,
	}
	if size := meta.TotalUncompressedSize; size > 0 && size < pageLimit {
		c.plain = int32(size)
	}
	if meta.DictionaryPageOffset != 0 {
		c.Offset = meta.DictionaryPageOffset
	}
	if kind == parquet.Int64 {
		c.Least, c.Greatest, c.Bounded = int64Bounds(&meta.Statistics)
	}
	return c
}

// checkPlaces checks that no byte is of two chunks, and none behind the pages. Else all chunks of a large file could be
// one that takes a few kilobytes, and reading them would take as much memory and time as if each were there.
func (f *File) checkPlaces(end int64) error {
	sorted, last := true, int64(len(magic))
	for c := range f.chunks() {
		if c.Offset < 0 || c.Length < 0 || c.Length > end || c.Offset > end-c.Length {
			return fmt.Errorf("%w: pages of %d bytes at %d", ErrCorrupt, c.Length, c.Offset)
		}
		sorted = sorted && c.Offset >= last
		last = c.Offset + c.Length
	}
	if sorted {
		return nil
	}
	var places []*Chunk
	for c := range f.chunks() {
		places = append(places, c)
	}
	slices.SortFunc(places, func(a, b *Chunk) int { return cmp.Compare(a.Offset, b.Offset) })
	last = int64(len(magic))
	for _, c := range places {
		if c.Offset < last {
			return fmt.Errorf("%w: several columns have the pages at %d", ErrCorrupt, c.Offset)
		}
		last = c.Offset + c.Length
	}
	return nil
}

// chunks goes through the chunks that have pages.
func (f *File) chunks() iter.Seq[*Chunk] {
	return func(yield func(*Chunk) bool) {
		for i := range f.Groups {
			for j := range f.Groups[i].Chunks {
				if c := &f.Groups[i].Chunks[j]; c.Length != 0 && !yield(c) {
					return
				}
			}
		}
	}
}
