package main

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// maxByteSize bounds sizes: ring buffers are memory that cannot be swapped.
const maxByteSize = 1 << 30

// byteUnits are the units of sizes, all powers of 1024, in upper case.
var byteUnits = map[string]uint64{"": 1, "K": 1 << 10, "KIB": 1 << 10, "M": 1 << 20, "MIB": 1 << 20, "G": 1 << 30, "GIB": 1 << 30}

// byteSize is the value of a flag for sizes such as 64M.
type byteSize int

func (b *byteSize) String() string {
	if *b == 0 {
		return ""
	}
	return strconv.Itoa(int(*b))
}

// Set understands decimal digits and, right behind them, one of the byteUnits in upper or lower case. MB is none of
// them: it is taken for a million by some and for MiB by others.
func (b *byteSize) Set(text string) error {
	unitStart := len(text) - len(strings.TrimLeft(text, "0123456789"))
	number, err := strconv.ParseUint(text[:unitStart], 10, 64)
	unit, known := byteUnits[strings.ToUpper(text[unitStart:])]
	overflow, size := bits.Mul64(number, unit)
	if err != nil || !known || overflow != 0 || size == 0 || size > maxByteSize {
		return fmt.Errorf("%q is no size between 1 and 1G, such as 65536, 64M or 64MiB", text)
	}
	*b = byteSize(size)
	return nil
}

func (b *byteSize) Type() string { return "SIZE" }
