package main

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// byteUnits are the units of sizes, all powers of 1024, in upper case.
var byteUnits = map[string]uint64{
	"": 1, "K": 1 << 10, "KIB": 1 << 10, "M": 1 << 20, "MIB": 1 << 20, "G": 1 << 30, "GIB": 1 << 30, "T": 1 << 40, "TIB": 1 << 40,
}

// parseBytes understands decimal digits and, right behind them, one of the byteUnits in upper or lower case. MB is none
// of them: it is taken for a million by some and for MiB by others.
func parseBytes(text string, most uint64) (uint64, error) {
	unitStart := len(text) - len(strings.TrimLeft(text, "0123456789"))
	number, err := strconv.ParseUint(text[:unitStart], 10, 64)
	unit, known := byteUnits[strings.ToUpper(text[unitStart:])]
	overflow, size := bits.Mul64(number, unit)
	if err != nil || !known || overflow != 0 || size == 0 || size > most {
		return 0, fmt.Errorf("%q is no size between 1 and %dG, such as 65536, 64M or 64MiB", text, most>>30)
	}
	return size, nil
}

// memorySize is the value of a flag for sizes such as 64M. They are bounded: ring buffers are memory that cannot be
// swapped.
type memorySize int

const maxMemorySize = 1 << 30

func (m *memorySize) String() string { return sizeText(int64(*m)) }

func (m *memorySize) Set(text string) error {
	size, err := parseBytes(text, maxMemorySize)
	if err == nil {
		*m = memorySize(size)
	}
	return err
}

func (m *memorySize) Type() string { return sizeType }

// diskSize is the value of a flag for sizes of files.
type diskSize int64

const maxDiskSize = 1 << 50

func (d *diskSize) String() string { return sizeText(int64(*d)) }

func (d *diskSize) Set(text string) error {
	size, err := parseBytes(text, maxDiskSize)
	if err == nil {
		*d = diskSize(size)
	}
	return err
}

func (d *diskSize) Type() string { return sizeType }

// sizeType is what sizes are called in helps and schemas.
const sizeType = "SIZE"

// sizeText is "" for none.
func sizeText(size int64) string {
	if size == 0 {
		return ""
	}
	return strconv.FormatInt(size, 10)
}
