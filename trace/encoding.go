package trace

// Encoding is a Parquet encoding of a column's pages, before compression.
type Encoding string

const (
	// EncodingPlain is PLAIN.
	EncodingPlain Encoding = "plain"
	// EncodingDelta is DELTA_BINARY_PACKED.
	EncodingDelta Encoding = "delta"
	// EncodingDictionary is RLE_DICTIONARY.
	EncodingDictionary Encoding = "dict"
)

func defaultEncoding(t ColumnType) Encoding {
	switch t {
	case TypeBool:
		return EncodingPlain
	case TypeInt64:
		return EncodingDelta
	}
	return EncodingDictionary
}
