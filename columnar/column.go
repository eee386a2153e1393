package columnar

import (
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Type is the type of a column's values.
type Type string

// The types. None is unsigned: Iceberg, Delta and Athena have no such types, Spark reads UINT_64 as a decimal number,
// and Trino misreads the statistics of UINT_32.
const (
	TypeBool   Type = "BOOLEAN"
	TypeInt32  Type = "INT32"
	TypeInt64  Type = "INT64"
	TypeDouble Type = "DOUBLE"
	TypeString Type = "STRING"
)

// Value is the type in which a column's values are given.
type Value interface {
	bool | int32 | int64 | float64 | string
}

// Encoding is how a column's pages are encoded, before zstd compresses them.
type Encoding string

const (
	// EncodingPlain is PLAIN.
	EncodingPlain Encoding = "plain"
	// EncodingDelta is DELTA_BINARY_PACKED.
	EncodingDelta Encoding = "delta"
	// EncodingSmaller is DELTA_BINARY_PACKED or PLAIN, whichever a row group's first page is smaller in. It is for small
	// numbers whose spread depends on what was recorded, as that of times from other times.
	EncodingSmaller Encoding = "smaller"
	// EncodingDictionary is RLE_DICTIONARY.
	EncodingDictionary Encoding = "dict"
)

// Column is a column of a file.
type Column struct {
	Name     string
	Type     Type
	Nullable bool
	// Encoding is EncodingDelta or EncodingSmaller for TypeInt64 only.
	Encoding Encoding
}

// physical is how Parquet stores values of a type.
var physical = map[Type]format.Type{
	TypeBool: format.Boolean, TypeInt32: format.Int32, TypeInt64: format.Int64, TypeDouble: format.Double, TypeString: format.ByteArray,
}

// schemaElement is the column as the footer has it.
func (c *Column) schemaElement() format.SchemaElement {
	element := format.SchemaElement{Name: c.Name, RepetitionType: thrift.New(format.Required), Type: thrift.New(physical[c.Type])}
	if c.Nullable {
		element.RepetitionType = thrift.New(format.Optional)
	}
	switch c.Type {
	case TypeInt32:
		element.LogicalType.Value = &format.IntType{BitWidth: 32, IsSigned: true}
		element.ConvertedType = thrift.New(deprecated.Int32)
	case TypeInt64:
		element.LogicalType.Value = &format.IntType{BitWidth: 64, IsSigned: true}
		element.ConvertedType = thrift.New(deprecated.Int64)
	case TypeString:
		element.LogicalType.Value = new(format.StringType)
		element.ConvertedType = thrift.New(deprecated.UTF8)
	}
	return element
}
