package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
)

// errUnreadable is wrapped with ErrCorrupt for pages that this package does not read: of other tools, in seldom used
// forms.
var errUnreadable = errors.New("not a form that is read")

// Values are the values of a page or of a dictionary, in the slice of their type.
type Values struct {
	Bools   []bool
	Int32s  []int32
	Int64s  []int64
	Strings []string
}

// decode stores count values of a kind in the slice of their type, which is reused.
func (v *Values) decode(kind parquet.Kind, encoding format.Encoding, data []byte, count int, strings *Interner) (err error) {
	held := 0
	switch kind {
	case parquet.Boolean:
		v.Bools, err = decodeBools(v.Bools, encoding, data, count)
		held = len(v.Bools)
	case parquet.Int32:
		v.Int32s, err = decodeNumbers(v.Int32s, encoding, data, count, parquet.Plain.DecodeInt32, decodeDeltas32)
		held = len(v.Int32s)
	case parquet.Int64:
		v.Int64s, err = decodeNumbers(v.Int64s, encoding, data, count, parquet.Plain.DecodeInt64, parquet.DeltaBinaryPacked.DecodeInt64)
		held = len(v.Int64s)
	case parquet.ByteArray:
		v.Strings, err = decodeStrings(v.Strings, encoding, data, count, strings)
		held = len(v.Strings)
	default:
		return unreadable(kind, encoding)
	}
	if err == nil && held < count {
		err = fmt.Errorf("%w: %d values in a page of %d", ErrCorrupt, held, count)
	}
	return err
}

func unreadable(kind parquet.Kind, encoding format.Encoding) error {
	return fmt.Errorf("%w: %v in %v: %w", ErrCorrupt, kind, encoding, errUnreadable)
}

func decodeNumbers[T any](into []T, encoding format.Encoding, data []byte, count int, plain, delta func([]T, []byte) ([]T, error)) ([]T, error) {
	switch encoding {
	case format.Plain:
		return plain(into[:0], data)
	case format.DeltaBinaryPacked:
		if err := checkDeltas(data, count); err != nil {
			return nil, err
		}
		return delta(into[:0], data)
	}
	return nil, unreadable(parquet.Int64, encoding)
}

// decodeDeltas32 decodes as 64 bits wide what other tools have made: differences of two numbers of 32 bits may have 33,
// which the library takes for others.
func decodeDeltas32(into []int32, data []byte) ([]int32, error) {
	wide, err := parquet.DeltaBinaryPacked.DecodeInt64(nil, data)
	for _, v := range wide {
		into = append(into, int32(v))
	}
	return into, err
}

func decodeBools(into []bool, encoding format.Encoding, data []byte, count int) ([]bool, error) {
	into = into[:0]
	switch encoding {
	case format.Plain:
		for i := range min(count, 8*len(data)) {
			into = append(into, data[i/8]>>(i%8)&1 != 0)
		}
		return into, nil
	case format.RLE:
		if len(data) < 4 {
			return nil, unreadable(parquet.Boolean, encoding)
		}
		levels, err := decodeLevels(nil, data[4:], count)
		for _, level := range levels {
			into = append(into, level != 0)
		}
		return into, err
	}
	return nil, unreadable(parquet.Boolean, encoding)
}

func decodeStrings(into []string, encoding format.Encoding, data []byte, count int, strings *Interner) ([]string, error) {
	into = into[:0]
	switch encoding {
	case format.Plain:
		for len(into) < count {
			if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
				return nil, fmt.Errorf("%w: a string is longer than its page", ErrCorrupt)
			}
			end := 4 + int(binary.LittleEndian.Uint32(data))
			into = append(into, strings.intern(data[4:end]))
			data = data[end:]
		}
		return into, nil
	case format.DeltaLengthByteArray:
		if err := checkDeltas(data, count); err != nil {
			return nil, err
		}
		text, offsets, err := parquet.DeltaLengthByteArray.DecodeByteArray(nil, data, nil)
		for i := 1; i < len(offsets) && err == nil; i++ {
			into = append(into, strings.intern(text[offsets[i-1]:offsets[i]]))
		}
		return into, err
	}
	return nil, unreadable(parquet.ByteArray, encoding)
}

// decodeLevels returns count levels, each 0 or 1.
func decodeLevels(into, data []byte, count int) ([]byte, error) {
	data, err := runs(data, 1, count)
	if err != nil {
		return nil, err
	}
	levels, err := (&rle.Encoding{BitWidth: 1}).DecodeLevels(into[:0], data)
	if err != nil {
		return nil, err
	}
	return levels[:count], nil
}

// decodeIndexes returns count indexes in a dictionary.
func decodeIndexes(into []int32, data []byte, count int) ([]int32, error) {
	if count == 0 {
		return into[:0], nil
	}
	if len(data) == 0 || data[0] > 32 {
		return nil, fmt.Errorf("%w: indexes in a dictionary without their size", ErrCorrupt)
	}
	width := int(data[0])
	data, err := runs(data[1:], width, count)
	if err != nil {
		return nil, err
	}
	indexes, err := (&rle.Encoding{BitWidth: width}).DecodeInt32(into[:0], data)
	if err != nil {
		return nil, err
	}
	return indexes[:count], nil
}
