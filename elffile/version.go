package elffile

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
)

const (
	versionHidden    = 0x8000
	firstNamed       = 2 // 0 is local, 1 is global: no name
	maxVersionsChain = 1 << 16
)

// versionTable is .gnu.version with the names of .gnu.version_d. A nil table knows no versions.
type versionTable struct {
	indices []byte // 2-byte words, one a symbol
	names   map[uint16]string
}

func (f *File) readVersions(symbolSection int) (*versionTable, error) {
	find := func(kind elf.SectionType) (Section, bool) {
		index := slices.IndexFunc(f.sections, func(s Section) bool { return s.Type == kind })
		if index < 0 {
			return Section{}, false
		}
		return f.sections[index], true
	}
	indexSection, ok := find(elf.SHT_GNU_VERSYM)
	if !ok || int(indexSection.Link) != symbolSection {
		return nil, nil
	}
	table := &versionTable{names: map[uint16]string{}}
	var err error
	if table.indices, err = f.sectionData(indexSection, maxSymbolTable); err != nil {
		return nil, err
	}
	definitions, ok := find(elf.SHT_GNU_VERDEF)
	if !ok || int(definitions.Link) >= len(f.sections) {
		return table, nil
	}
	data, err := f.sectionData(definitions, maxSymbolTable)
	if err != nil {
		return nil, err
	}
	names, err := f.sectionData(f.sections[definitions.Link], maxStringTable)
	if err != nil {
		return nil, err
	}
	return table, f.readDefinitions(table, data, names)
}

// readDefinitions follows the chain of Elf64_Verdef records; a record that points outside ends it.
func (f *File) readDefinitions(t *versionTable, data, names []byte) error {
	position, kept := uint64(0), 0
	for range maxVersionsChain {
		if position+20 > uint64(len(data)) {
			return nil
		}
		record := data[position:]
		index := binary.LittleEndian.Uint16(record[4:])
		auxiliary := position + uint64(binary.LittleEndian.Uint32(record[12:]))
		if auxiliary+8 <= uint64(len(data)) {
			if name, ok := nameAt(names, uint64(binary.LittleEndian.Uint32(data[auxiliary:]))); ok {
				if kept += len(name); kept > maxSectionNames {
					return fmt.Errorf("%w: names of versions overlap", ErrTooLarge)
				}
				if err := f.keep(len(name)); err != nil {
					return err
				}
				t.names[index&^versionHidden] = name
			}
		}
		next := uint64(binary.LittleEndian.Uint32(record[16:]))
		if next == 0 {
			return nil
		}
		position += next
	}
	return nil
}

// of is the version of a symbol and whether a reference without version binds to it.
func (t *versionTable) of(symbol uint32) (version string, isDefault bool) {
	if t == nil || uint64(symbol)*2+2 > uint64(len(t.indices)) {
		return "", true
	}
	index := binary.LittleEndian.Uint16(t.indices[symbol*2:])
	isDefault = index&versionHidden == 0
	if index&^versionHidden < firstNamed {
		return "", isDefault
	}
	return t.names[index&^versionHidden], isDefault
}
