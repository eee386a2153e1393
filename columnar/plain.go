package columnar

import (
	"encoding/binary"
	"math"
)

// plainSize is the size of a value in Parquet's encoding PLAIN, in bytes.
func plainSize[V Value](value V) int {
	switch v := any(value).(type) {
	case int32:
		return 4
	case int64, float64:
		return 8
	case string:
		return 4 + len(v)
	}
	return 1
}

// appendPlain appends values in Parquet's encoding PLAIN.
func appendPlain[V Value](to []byte, values []V) []byte {
	switch values := any(values).(type) {
	case []bool:
		for i, value := range values {
			if i%8 == 0 {
				to = append(to, 0)
			}
			if value {
				to[len(to)-1] |= 1 << (i % 8)
			}
		}
	case []int32:
		for _, value := range values {
			to = binary.LittleEndian.AppendUint32(to, uint32(value))
		}
	case []int64:
		for _, value := range values {
			to = binary.LittleEndian.AppendUint64(to, uint64(value))
		}
	case []float64:
		for _, value := range values {
			to = binary.LittleEndian.AppendUint64(to, math.Float64bits(value))
		}
	case []string:
		for _, value := range values {
			to = binary.LittleEndian.AppendUint32(to, uint32(len(value)))
			to = append(to, value...)
		}
	}
	return to
}
