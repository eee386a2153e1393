package elffile

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
)

type dynamicTable struct {
	soname string
	needed []string
}

// Soname is the name under which other files need this one, or "".
func (f *File) Soname() (string, error) {
	err := f.loadDynamic()
	return f.dynamic.soname, err
}

// Needed are the sonames of the libraries that the loader maps with this file.
func (f *File) Needed() ([]string, error) {
	err := f.loadDynamic()
	return f.dynamic.needed, err
}

func (f *File) loadDynamic() error {
	f.dynamicOnce.Do(func() { f.dynamic, f.dynamicError = f.readDynamic() })
	return f.dynamicError
}

func (f *File) readDynamic() (dynamicTable, error) {
	headers, err := f.programHeaders(elf.PT_DYNAMIC)
	if err != nil || len(headers) == 0 {
		return dynamicTable{}, err
	}
	data, err := f.readFile(headers[0].Off, headers[0].Filesz, maxDynamic)
	if err != nil {
		return dynamicTable{}, fmt.Errorf("dynamic segment: %w", err)
	}
	type entry struct {
		tag   elf.DynTag
		value uint64
	}
	var entries []entry
	const maxEntries = 4096
	var stringsAddress, stringsSize uint64
	for position := 0; position+16 <= len(data); position += 16 {
		tag := elf.DynTag(int64(binary.LittleEndian.Uint64(data[position:])))
		value := binary.LittleEndian.Uint64(data[position+8:])
		if tag == elf.DT_NULL {
			break
		}
		switch tag {
		case elf.DT_STRTAB:
			stringsAddress = value
		case elf.DT_STRSZ:
			stringsSize = value
		case elf.DT_SONAME, elf.DT_NEEDED:
			if len(entries) == maxEntries {
				return dynamicTable{}, fmt.Errorf("%w: more than %d libraries are needed", ErrTooLarge, maxEntries)
			}
			entries = append(entries, entry{tag, value})
		}
	}
	if len(entries) == 0 {
		return dynamicTable{}, nil
	}
	names, err := f.readMapped(stringsAddress, stringsSize, maxStringTable)
	if err != nil {
		return dynamicTable{}, fmt.Errorf("dynamic strings: %w", err)
	}
	var table dynamicTable
	for _, entry := range entries {
		name, ok := nameAt(names, entry.value)
		if !ok {
			return dynamicTable{}, fmt.Errorf("%w: dynamic string at %#x", ErrMalformed, entry.value)
		}
		switch entry.tag {
		case elf.DT_SONAME:
			table.soname = name
		case elf.DT_NEEDED:
			table.needed = append(table.needed, name)
		}
	}
	return table, nil
}

// readMapped reads size bytes at an address of a loadable segment.
func (f *File) readMapped(address, size, limit uint64) ([]byte, error) {
	for _, segment := range f.segments {
		if !segment.contains(address) {
			continue
		}
		within := address - segment.Address
		if size > segment.FileSize-within {
			return nil, fmt.Errorf("%w: %d bytes at %#x pass the segment's end", ErrMalformed, size, address)
		}
		return f.readFile(segment.Offset+within, size, limit)
	}
	return nil, fmt.Errorf("%w: %#x", ErrNotMapped, address)
}
