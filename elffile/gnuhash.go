package elffile

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
)

// gnuHash is a .gnu.hash section: bloom filter, buckets and chains over the defined exported symbols.
type gnuHash struct {
	firstSymbol uint32
	bloomShift  uint32
	bloom       []byte // 8-byte words
	buckets     []byte // 4-byte words
	chains      []byte // 4-byte words, one a symbol from firstSymbol on
}

func (f *File) readGNUHash(symbolSection int) (*gnuHash, error) {
	index := slices.IndexFunc(f.sections, func(s Section) bool {
		return s.Type == elf.SHT_GNU_HASH && int(s.Link) == symbolSection
	})
	if index < 0 {
		return nil, nil
	}
	data, err := f.sectionData(f.sections[index], maxSymbolTable)
	if err != nil {
		return nil, err
	}
	if len(data) < 16 {
		return nil, fmt.Errorf("%w: .gnu.hash of %d bytes", ErrMalformed, len(data))
	}
	bucketsSize := uint64(binary.LittleEndian.Uint32(data)) * 4
	bloomSize := uint64(binary.LittleEndian.Uint32(data[8:])) * 8
	hash := &gnuHash{firstSymbol: binary.LittleEndian.Uint32(data[4:]), bloomShift: binary.LittleEndian.Uint32(data[12:])}
	data = data[16:]
	if bloomSize == 0 || bucketsSize == 0 || bloomSize+bucketsSize > uint64(len(data)) {
		return nil, fmt.Errorf("%w: .gnu.hash tables pass its end", ErrMalformed)
	}
	hash.bloom, data = data[:bloomSize], data[bloomSize:]
	hash.buckets, hash.chains = data[:bucketsSize], data[bucketsSize:]
	return hash, nil
}

// find are the indices of the symbols of that name. The chain is walked to its end, since versions of one name
// are separate symbols.
func (h *gnuHash) find(name string, table *symbolTable) []uint32 {
	value := gnuHashOf(name)
	word := binary.LittleEndian.Uint64(h.bloom[uint64(value/64)%uint64(len(h.bloom)/8)*8:])
	if word>>(value%64)&1 == 0 || word>>((value>>(h.bloomShift%32))%64)&1 == 0 {
		return nil
	}
	bucket := binary.LittleEndian.Uint32(h.buckets[uint64(value)%uint64(len(h.buckets)/4)*4:])
	if bucket < h.firstSymbol {
		return nil
	}
	var found []uint32
	for index := bucket; index < table.count(); index++ {
		chain := uint64(index-h.firstSymbol) * 4
		if chain+4 > uint64(len(h.chains)) {
			break
		}
		entry := binary.LittleEndian.Uint32(h.chains[chain:])
		if entry|1 == value|1 {
			if table.named(index, name) {
				found = append(found, index)
			}
		}
		if entry&1 != 0 {
			break
		}
	}
	return found
}

func gnuHashOf(name string) uint32 {
	value := uint32(5381)
	for i := range len(name) {
		value = value*33 + uint32(name[i])
	}
	return value
}
