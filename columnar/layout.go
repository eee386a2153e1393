package columnar

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// File is what readers need to know of a Parquet file: the part of its footer that pages are found by. What the Parquet
// library makes of a footer takes twenty times as much, and a question keeps thousands of these.
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
}

// Memory is what a File keeps in memory without its leaves, in bytes.
func (f *File) Memory() int {
	bytes := int(unsafe.Sizeof(*f)) + len(f.Groups)*int(unsafe.Sizeof(RowGroup{}))
	return bytes + len(f.Groups)*len(f.Leaves)*int(unsafe.Sizeof(Chunk{}))
}

// Leaf returns the index of a column, −1 where there is none.
func (f *File) Leaf(name string) int {
	return slices.IndexFunc(f.Leaves, func(l Leaf) bool { return l.Name == name })
}

// fileOf takes what is needed from the Parquet library, which has read the footer.
func fileOf(f *parquet.File) (*File, error) {
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
	return file, nil
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
		codec: int8(meta.Codec),
	}
	if meta.DictionaryPageOffset != 0 {
		c.Offset = meta.DictionaryPageOffset
	}
	if kind == parquet.Int64 {
		c.Least, c.Greatest, c.Bounded = int64Bounds(&meta.Statistics)
	}
	return c
}
