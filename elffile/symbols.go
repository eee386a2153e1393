package elffile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

const symbolSize = 24

// Symbol is a defined function.
type Symbol struct {
	// Name is the name without ELF version.
	Name string
	// Address is the virtual address of the function's first instruction in the file's own address space.
	Address uint64
	// Size is the function's length in bytes; 0 where the file does not say (assembly).
	Size uint64
	// Version is the ELF version that the symbol was exported with ("CODEABI_1.0"), or "".
	Version string
	// Exported tells a symbol of .dynsym, which survives stripping, from one of .symtab.
	Exported bool
}

// symbolTable is .dynsym or .symtab with its string table, in file form: symbols are decoded when looked at.
type symbolTable struct {
	section  string // its name
	exported bool
	raw      []byte
	strings  []byte
	hash     *gnuHash
	versions *versionTable
}

type lazyTable struct {
	once  sync.Once
	table *symbolTable
	err   error

	namesOnce sync.Once
	namesErr  error
}

// Lookup finds the function of exactly that name (mangled, without ELF version): first among the exported
// symbols, then in .symtab. Where several versions of the name are exported, the default one counts.
// ErrSymbolNotFound, ErrNotFunction, or ErrAmbiguousSymbol when functions at different addresses share the name.
func (f *File) Lookup(name string) (Symbol, error) {
	var notFunction bool
	for _, load := range []func() (*symbolTable, error){f.exportedTable, f.staticTable} {
		table, err := load()
		if err == nil {
			err = f.examine(table.lookupSize())
		}
		if err != nil {
			return Symbol{}, err
		}
		symbol, err := table.lookup(name)
		switch {
		case err == nil, errors.Is(err, ErrAmbiguousSymbol):
			return symbol, err
		case errors.Is(err, ErrNotFunction):
			notFunction = true
		}
	}
	if notFunction {
		return Symbol{}, fmt.Errorf("%s: %w", name, ErrNotFunction)
	}
	return Symbol{}, fmt.Errorf("%s: %w", name, ErrSymbolNotFound)
}

// LookupPrefix finds the functions whose mangled name starts with prefix, in order of address and then name. None is no
// error.
func (f *File) LookupPrefix(prefix string) ([]Symbol, error) {
	wanted := []byte(prefix)
	return f.selectSymbols(func(name []byte) bool { return bytes.HasPrefix(name, wanted) })
}

// Symbols are all functions, in order of address and then name.
func (f *File) Symbols() ([]Symbol, error) {
	return f.selectSymbols(func([]byte) bool { return true })
}

// SymbolsAt are all functions that start at address, in order of name. More than one name that is not an alias
// of the same function (constructor C1 and C2, versions) means that the linker folded identical code: what
// runs there may be any of them, and a probe of one of them would report the others too.
func (f *File) SymbolsAt(address uint64) ([]Symbol, error) {
	index, err := f.byAddress()
	if err != nil {
		return nil, err
	}
	start, _ := slices.BinarySearchFunc(index, address, func(s addressedSymbol, a uint64) int { return cmp.Compare(s.address, a) })
	var found []Symbol
	for ; start < len(index) && index[start].address == address; start++ {
		if len(found) == maxNames {
			return nil, fmt.Errorf("%w: more than %d functions begin at %#x", ErrTooLarge, maxNames, address)
		}
		if err := f.examine(nameWork); err != nil {
			return nil, err
		}
		if found, err = f.collect(found, index[start].table, index[start].symbol); err != nil {
			return nil, err
		}
	}
	return inOrder(found), nil
}

const (
	// maxNames bounds the names of one address, which are collected for each question.
	maxNames = 1 << 12
	// nameWork is how many bytes could be read while one is.
	nameWork = 1 << 10
)

// Exports reports whether .dynsym defines name, function or not.
func (f *File) Exports(name string) (bool, error) {
	table, err := f.exportedTable()
	if err == nil {
		err = f.examine(table.lookupSize())
	}
	if err != nil {
		return false, err
	}
	_, err = table.lookup(name)
	return err == nil || errors.Is(err, ErrNotFunction) || errors.Is(err, ErrAmbiguousSymbol), nil
}

// exportedTable and staticTable are enough to find a name. Who reads many takes exportedSymbols and staticSymbols.
func (f *File) exportedTable() (*symbolTable, error) {
	return f.loadTable(&f.exported, elf.SHT_DYNSYM)
}
func (f *File) staticTable() (*symbolTable, error) { return f.loadTable(&f.static, elf.SHT_SYMTAB) }

func (f *File) loadTable(lazy *lazyTable, kind elf.SectionType) (*symbolTable, error) {
	lazy.once.Do(func() { lazy.table, lazy.err = f.readSymbolTable(kind) })
	return lazy.table, lazy.err
}

func (f *File) exportedSymbols() (*symbolTable, error) {
	return f.loadNames(&f.exported, f.exportedTable)
}
func (f *File) staticSymbols() (*symbolTable, error) { return f.loadNames(&f.static, f.staticTable) }

func (f *File) loadNames(lazy *lazyTable, load func() (*symbolTable, error)) (*symbolTable, error) {
	table, err := load()
	if err != nil {
		return nil, err
	}
	lazy.namesOnce.Do(func() { lazy.namesErr = f.checkNames(table) })
	return table, lazy.namesErr
}

func (f *File) readSymbolTable(kind elf.SectionType) (*symbolTable, error) {
	table := &symbolTable{exported: kind == elf.SHT_DYNSYM}
	index := slices.IndexFunc(f.sections, func(s Section) bool { return s.Type == kind })
	if index < 0 {
		return table, nil
	}
	section := f.sections[index]
	table.section = section.Name
	if int(section.Link) >= len(f.sections) {
		return nil, fmt.Errorf("%w: section %s has no string table", ErrMalformed, section.Name)
	}
	var err error
	if table.raw, err = f.sectionData(section, maxSymbolTable); err != nil {
		return nil, err
	}
	if table.strings, err = f.sectionData(f.sections[section.Link], maxStringTable); err != nil {
		return nil, err
	}
	if table.exported {
		if table.versions, err = f.readVersions(index); err != nil {
			return nil, err
		}
		if table.hash, err = f.readGNUHash(index); err != nil {
			return nil, err
		}
	}
	return table, nil
}

func (t *symbolTable) count() uint32 { return uint32(len(t.raw) / symbolSize) }

// name is the symbol's name without version.
func (t *symbolTable) name(index uint32) ([]byte, bool) {
	name, ok := bytesAt(t.strings, uint64(binary.LittleEndian.Uint32(t.raw[index*symbolSize:])))
	if !ok {
		return nil, false
	}
	if at := bytes.IndexByte(name, '@'); at > 0 {
		name = name[:at]
	}
	return name, true
}

// checkNames refuses a table in which many symbols share long parts of one string, which no linker writes and
// which would make every walk over the names take the product of both tables' sizes.
func (f *File) checkNames(t *symbolTable) error {
	budget := 16*len(t.strings) + maxStringLength
	asked := budget
	for i := range t.count() {
		if i%walkStep == 0 || asked-budget > maxReadChunk {
			if err := f.examine(int(min(walkStep, t.count()-i))*symbolSize + asked - budget); err != nil {
				return err
			}
			asked = budget
		}
		name, _ := t.name(i)
		if budget -= len(name); budget < 0 {
			return fmt.Errorf("section %s: %w: symbol names overlap", t.section, ErrTooLarge)
		}
	}
	return nil
}

// named reports whether the symbol has that name, versions aside, in time bounded by the name's length.
func (t *symbolTable) named(index uint32, name string) bool {
	offset := uint64(binary.LittleEndian.Uint32(t.raw[index*symbolSize:]))
	if offset >= uint64(len(t.strings)) {
		return false
	}
	rest, ok := bytes.CutPrefix(t.strings[offset:], []byte(name))
	return ok && len(rest) > 0 && (rest[0] == 0 || rest[0] == '@')
}

// version is the symbol's version and whether it is the one that a reference without version binds to.
func (t *symbolTable) version(index uint32) (version string, isDefault bool) {
	if t.exported {
		return t.versions.of(index)
	}
	full, _ := stringAt(t.strings, uint64(binary.LittleEndian.Uint32(t.raw[index*symbolSize:])))
	at := strings.IndexByte(full, '@')
	if at <= 0 {
		return "", true
	}
	version, isDefault = strings.CutPrefix(full[at+1:], "@")
	return version, isDefault
}

type symbolKind int

const (
	undefined symbolKind = iota
	function
	notFunction
)

func (t *symbolTable) kind(index uint32) symbolKind {
	raw := t.raw[index*symbolSize:]
	section := elf.SectionIndex(binary.LittleEndian.Uint16(raw[6:]))
	switch {
	case section == elf.SHN_UNDEF:
		return undefined
	case elf.ST_TYPE(raw[4]) == elf.STT_FUNC && section != elf.SHN_ABS:
		return function
	}
	return notFunction
}

func (t *symbolTable) symbol(index uint32) Symbol {
	raw := t.raw[index*symbolSize:]
	name, _ := t.name(index)
	version, _ := t.version(index)
	return Symbol{
		Name:     string(name),
		Address:  binary.LittleEndian.Uint64(raw[8:]),
		Size:     binary.LittleEndian.Uint64(raw[16:]),
		Version:  version,
		Exported: t.exported,
	}
}

// indices are the symbols of exactly that name. Without a hash table all names are compared, which is quicker than
// indexing them for the few names that a file is asked for.
func (t *symbolTable) indices(name string) []uint32 {
	if name == "" || strings.ContainsAny(name, "@\x00") {
		return nil
	}
	if t.hash != nil {
		return t.hash.find(name, t)
	}
	var found []uint32
	for i := range t.count() {
		if t.named(i, name) {
			found = append(found, i)
		}
	}
	return found
}

// lookupSize is how many bytes are looked at to find a name: a chain of a hash table may be of any length, but few
// names have one at all.
func (t *symbolTable) lookupSize() int {
	if t.hash != nil {
		return symbolSize
	}
	return len(t.raw)
}

func (t *symbolTable) lookup(name string) (Symbol, error) {
	var defaults, hidden []uint32
	for _, index := range t.indices(name) {
		if t.kind(index) == undefined {
			continue
		}
		if _, isDefault := t.version(index); isDefault {
			defaults = append(defaults, index)
		} else {
			hidden = append(hidden, index)
		}
	}
	defined := defaults
	if len(defined) == 0 {
		defined = hidden
	}
	if len(defined) == 0 {
		return Symbol{}, fmt.Errorf("%s: %w", name, ErrSymbolNotFound)
	}
	candidates := slices.DeleteFunc(defined, func(index uint32) bool { return t.kind(index) != function })
	if len(candidates) == 0 {
		return Symbol{}, fmt.Errorf("%s: %w", name, ErrNotFunction)
	}
	symbol := t.symbol(candidates[0])
	for _, index := range candidates[1:] {
		if other := t.symbol(index); other.Address != symbol.Address {
			return Symbol{}, fmt.Errorf("%s: %w: at %#x and %#x", name, ErrAmbiguousSymbol, symbol.Address, other.Address)
		}
	}
	return symbol, nil
}

// walkStep is how many symbols are looked at between two questions to the meter.
const walkStep = 1 << 16

// walk calls do with the functions of a table that have a name.
func (f *File) walk(table *symbolTable, do func(index uint32, name []byte) error) error {
	unasked := 0
	for i := range table.count() {
		if i%walkStep == 0 || unasked > maxReadChunk {
			if err := f.examine(int(min(walkStep, table.count()-i))*symbolSize + unasked); err != nil {
				return err
			}
			unasked = 0
		}
		if table.kind(i) != function {
			continue
		}
		name, ok := table.name(i)
		unasked += len(name)
		if !ok || len(name) == 0 {
			continue
		}
		if err := do(i, name); err != nil {
			return err
		}
	}
	return nil
}

// tables are the exported symbols and the others.
func (f *File) tables() ([]*symbolTable, error) {
	exported, err := f.exportedSymbols()
	if err != nil {
		return nil, err
	}
	static, err := f.staticSymbols()
	if err != nil {
		return nil, err
	}
	return []*symbolTable{exported, static}, nil
}

// collect appends a symbol.
func (f *File) collect(found []Symbol, table *symbolTable, index uint32) ([]Symbol, error) {
	symbol := table.symbol(index)
	return append(found, symbol), f.keep(int(unsafe.Sizeof(symbol)) + len(symbol.Name))
}

// selectSymbols are the functions of both tables whose name is accepted, each (name, address) once.
func (f *File) selectSymbols(accept func(name []byte) bool) ([]Symbol, error) {
	tables, err := f.tables()
	if err != nil {
		return nil, err
	}
	var found []Symbol
	for _, table := range tables {
		err := f.walk(table, func(index uint32, name []byte) (err error) {
			if accept(name) {
				found, err = f.collect(found, table, index)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return inOrder(found), nil
}

// inOrder sorts symbols by address and name, and drops repetitions. Of two entries for one function the exported one,
// which comes first, stays.
func inOrder(found []Symbol) []Symbol {
	slices.SortStableFunc(found, func(a, b Symbol) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), strings.Compare(a.Name, b.Name))
	})
	return slices.CompactFunc(found, func(a, b Symbol) bool { return a.Address == b.Address && a.Name == b.Name })
}

// addressedSymbol is where a function begins and where it is named: small, because a file may have millions.
type addressedSymbol struct {
	address uint64
	table   *symbolTable
	symbol  uint32
}

// byAddress are the functions of both tables in order of address, the exported first.
func (f *File) byAddress() ([]addressedSymbol, error) {
	f.addressOnce.Do(func() { f.addressIndex, f.addressError = f.indexAddresses() })
	return f.addressIndex, f.addressError
}

// indexStep is for how many functions there is room at first. Most libraries have fewer.
const indexStep = 1 << 12

func (f *File) indexAddresses() ([]addressedSymbol, error) {
	tables, err := f.tables()
	if err != nil {
		return nil, err
	}
	var index []addressedSymbol
	for _, table := range tables {
		err := f.walk(table, func(i uint32, _ []byte) error {
			if len(index) == cap(index) {
				more := max(len(index)/4, indexStep)
				if err := f.keep(more * int(unsafe.Sizeof(addressedSymbol{}))); err != nil {
					return err
				}
				index = slices.Grow(index, more)
			}
			index = append(index, addressedSymbol{binary.LittleEndian.Uint64(table.raw[i*symbolSize+8:]), table, i})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	// Sorting takes longer than reading does.
	if err := f.examine(len(index) * bits.Len(uint(len(index))) * int(unsafe.Sizeof(addressedSymbol{}))); err != nil {
		return nil, err
	}
	slices.SortFunc(index, func(a, b addressedSymbol) int {
		switch {
		case a.address != b.address:
			return cmp.Compare(a.address, b.address)
		case a.table == b.table:
			return cmp.Compare(a.symbol, b.symbol)
		case a.table.exported:
			return -1
		}
		return 1
	})
	return index, nil
}
