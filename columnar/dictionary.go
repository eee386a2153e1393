package columnar

import (
	"math"
	"math/bits"
	"unsafe"
)

const (
	// dictionaryBytes is where a column of a row group stops to add to its dictionary.
	dictionaryBytes = 256 << 10
	recentBits      = 8
)

// dictionary numbers the distinct values of a column in a row group, in the order of their first appearance.
type dictionary[V Value] struct {
	values  []V
	numbers map[V]int32
	bytes   int // of the values in the file, about
	// recent is where most values are found without hashing them: the same few come again and again.
	recent [1 << recentBits]recentValue[V]
}

type recentValue[V Value] struct {
	value  V
	number int32
	known  bool
}

func newDictionary[V Value]() *dictionary[V] {
	return &dictionary[V]{numbers: make(map[V]int32)}
}

// appendNumbers appends the numbers of the values. Text is made valid before, but only where it is not a recent one.
func (d *dictionary[V]) appendNumbers(numbers []int32, values []V) []int32 {
	for i := range values {
		recent := &d.recent[slot(&values[i])]
		if !recent.known || recent.value != values[i] {
			*recent = recentValue[V]{value: values[i], number: d.number(validText(values[i])), known: true}
		}
		numbers = append(numbers, recent.number)
	}
	return numbers
}

func (d *dictionary[V]) number(value V) int32 {
	number, known := d.numbers[value]
	if !known {
		number = int32(len(d.values))
		d.numbers[value] = number
		d.values = append(d.values, value)
		d.bytes += plainSize(value)
	}
	return number
}

func (d *dictionary[V]) isFull() bool { return d.bytes > dictionaryBytes }

// reset forgets the values and keeps the memory.
func (d *dictionary[V]) reset() {
	clear(d.values) // they may be strings
	clear(d.numbers)
	clear(d.recent[:])
	d.values, d.bytes = d.values[:0], 0
}

// slot is where a value is looked for among the recent ones. Of a string its address counts: names are written again
// and again as the same string.
func slot[V Value](value *V) uint {
	var word uint64
	switch v := any(value).(type) {
	case *bool:
		return 0
	case *int32:
		word = uint64(uint32(*v))
	case *int64:
		word = uint64(*v)
	case *float64:
		word = math.Float64bits(*v)
	case *string:
		word = uint64(uintptr(unsafe.Pointer(unsafe.StringData(*v))))
	}
	const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio: spreads what differs in few bits
	return uint(bits.RotateLeft64(word*golden, recentBits) & (1<<recentBits - 1))
}
