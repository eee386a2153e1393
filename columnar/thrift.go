package columnar

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// thriftDepth bounds how deep structs, lists and maps lie in each other. In a footer they do eight deep.
const thriftDepth = 32

// checkThrift goes through the struct that the bytes begin with, in Thrift's compact protocol, and returns its size.
// Nothing from a file is decoded before: the Parquet library makes room for as many elements as a list claims to have,
// and descends as deep as what it does not know is nested. Go ends a program that asks for too much memory or stack;
// no recover can prevent that. What has passed holds every element that it claims, each of a byte or more.
//
// list, if not nil, is called with each list: the numbers of the fields that it lies in, which are valid until it
// returns, and the number of its elements.
func checkThrift(bytes []byte, list func(path []int16, elements int)) (size int, err error) {
	w := thriftWalk{bytes: bytes, list: list}
	if err := w.structure(1); err != nil {
		return 0, err
	}
	return w.at, nil
}

// thriftWalk goes through bytes once, from the beginning to the end.
type thriftWalk struct {
	bytes []byte
	at    int     // how many of them it has gone through
	path  []int16 // numbers of the fields that it is in
	list  func(path []int16, elements int)
}

func (w *thriftWalk) structure(depth int) error {
	if depth > thriftDepth {
		return fmt.Errorf("%w: structs and lists are nested deeper than %d", ErrCorrupt, thriftDepth)
	}
	number := int16(0)
	for {
		header, err := w.byte()
		if err != nil || header == byte(thrift.STOP) {
			return err
		}
		if step := header >> 4; step != 0 {
			number += int16(step)
		} else if number, err = w.fieldNumber(); err != nil {
			return err
		}
		kind := thrift.Type(header & 0xf)
		if kind == thrift.TRUE || kind == thrift.FALSE {
			continue // the type is the value
		}
		w.path = append(w.path, number)
		if err := w.value(kind, depth); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
}

// value goes through the value of a field, or through an element. A bool has a byte as an element only.
func (w *thriftWalk) value(kind thrift.Type, depth int) error {
	switch kind {
	case thrift.TRUE, thrift.FALSE, thrift.I8:
		return w.skip(1)
	case thrift.DOUBLE:
		return w.skip(8)
	case thrift.UUID:
		return w.skip(16)
	case thrift.I16, thrift.I32, thrift.I64:
		_, err := w.uvarint()
		return err
	case thrift.BINARY:
		length, err := w.uvarint()
		if err != nil {
			return err
		}
		return w.skip(length)
	case thrift.LIST, thrift.SET:
		return w.elements(depth + 1)
	case thrift.MAP:
		return w.pairs(depth + 1)
	case thrift.STRUCT:
		return w.structure(depth + 1)
	}
	return fmt.Errorf("%w: a field of type %d", ErrCorrupt, kind)
}

func (w *thriftWalk) elements(depth int) error {
	header, err := w.byte()
	if err != nil {
		return err
	}
	count := uint64(header >> 4)
	if count == 0xf {
		if count, err = w.uvarint(); err != nil {
			return err
		}
	}
	if err := w.claim(count, depth); err != nil {
		return err
	}
	if w.list != nil {
		w.list(w.path, int(count))
	}
	for range count {
		if err := w.value(thrift.Type(header&0xf), depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *thriftWalk) pairs(depth int) error {
	count, err := w.uvarint()
	if err != nil || count == 0 {
		return err // an empty map does not tell its types
	}
	types, err := w.byte()
	if err != nil {
		return err
	}
	if err := w.claim(count, depth); err != nil {
		return err
	}
	for range count {
		if err := w.value(thrift.Type(types>>4), depth); err != nil {
			return err
		}
		if err := w.value(thrift.Type(types&0xf), depth); err != nil {
			return err
		}
	}
	return nil
}

// claim checks the number of elements before the first of them is looked at.
func (w *thriftWalk) claim(elements uint64, depth int) error {
	if depth > thriftDepth {
		return fmt.Errorf("%w: structs and lists are nested deeper than %d", ErrCorrupt, thriftDepth)
	}
	if left := len(w.bytes) - w.at; elements > uint64(left) {
		return fmt.Errorf("%w: a list claims %d elements in %d bytes", ErrCorrupt, elements, left)
	}
	return nil
}

func (w *thriftWalk) fieldNumber() (int16, error) {
	encoded, err := w.uvarint()
	return int16(encoded>>1) ^ -int16(encoded&1), err
}

func (w *thriftWalk) uvarint() (uint64, error) {
	value, n := binary.Uvarint(w.bytes[w.at:])
	if n <= 0 {
		return 0, fmt.Errorf("%w: a number without an end", ErrCorrupt)
	}
	w.at += n
	return value, nil
}

func (w *thriftWalk) byte() (byte, error) {
	if w.at == len(w.bytes) {
		return 0, fmt.Errorf("%w: a struct without an end", ErrCorrupt)
	}
	w.at++
	return w.bytes[w.at-1], nil
}

func (w *thriftWalk) skip(size uint64) error {
	if left := len(w.bytes) - w.at; size > uint64(left) {
		return fmt.Errorf("%w: a value claims %d of %d bytes", ErrCorrupt, size, left)
	}
	w.at += int(size)
	return nil
}
