package elffile

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Caller is an instruction that calls a function of another file, or jumps there as the last thing its own function
// does. At it, the arguments are in their registers as the called function finds them.
type Caller struct {
	Site
	// Callee is the function's name.
	Callee string
	// Jump tells a jump from a call: it leaves the stack pointer as it is.
	Jump bool
}

// Callers are the ways in which a file's code comes to functions of other files.
type Callers struct {
	// Known are relative calls and jumps to PLT entries, in order of address.
	Known []Caller
	// Uncertain tells of callees that may be reached in other ways as well, and why.
	Uncertain map[string]string
}

// CallersOf finds the instructions that call the named functions, which other files define, through the file's PLT.
//
// All bytes of the code are searched for what may be a call or jump to such an entry. Each is proven, or proven to be
// none, by decoding from the start of the code that a frame description entry covers. A function is uncertain when that
// fails, or when a relocation puts its address anywhere but into the slot of a PLT entry: then it may be called through
// a pointer.
//
// ErrUnsupported on machines other than x86-64.
func (f *File) CallersOf(names []string) (Callers, error) {
	if f.Machine() != elf.EM_X86_64 {
		return Callers{}, fmt.Errorf("callers: %w: machine %v", ErrUnsupported, f.Machine())
	}
	search := callerSearch{
		file: f, found: Callers{Uncertain: map[string]string{}}, targets: map[uint64]string{}, proof: codeProof{file: f},
	}
	if len(f.sections) == 0 {
		for _, name := range names {
			search.doubt(name, "the file has no section table")
		}
		return search.found, nil
	}
	imported, err := f.importsAnyOf(names)
	if err != nil || len(imported) == 0 {
		return Callers{}, err
	}
	if err := search.findTargets(imported); err != nil {
		return Callers{}, fmt.Errorf("callers: %w", err)
	}
	if len(search.targets) > 0 {
		if err := search.scan(); err != nil {
			return Callers{}, fmt.Errorf("callers: %w", err)
		}
	}
	slices.SortFunc(search.found.Known, func(a, b Caller) int { return cmp.Compare(a.Address, b.Address) })
	return search.found, nil
}

// importsAnyOf returns those of the names that the dynamic symbol table mentions without defining them, by index.
func (f *File) importsAnyOf(names []string) (map[uint32]string, error) {
	table, err := f.exportedSymbols()
	if err != nil {
		return nil, err
	}
	imported := map[uint32]string{}
	for i := range table.count() {
		if i%walkStep == 0 {
			if err := f.examine(int(min(walkStep, table.count()-i)) * symbolSize); err != nil {
				return nil, err
			}
		}
		if table.kind(i) != undefined {
			continue
		}
		for _, name := range names {
			if table.named(i, name) {
				imported[i] = name
			}
		}
	}
	return imported, nil
}

// callerSearch collects the callers in one file.
type callerSearch struct {
	file    *File
	targets map[uint64]string // PLT entries, and what they lead to
	proof   codeProof
	found   Callers
}

func (s *callerSearch) doubt(callee, reason string) {
	if s.found.Uncertain[callee] == "" {
		s.found.Uncertain[callee] = reason
	}
}

// findTargets finds the PLT entries of imported functions, and doubts those whose address is used otherwise.
func (s *callerSearch) findTargets(imported map[uint32]string) error {
	names := slices.Collect(maps.Values(imported))
	entries, err := s.file.readPLT(func(symbol string) bool { return slices.Contains(names, symbol) })
	if err != nil {
		return err
	}
	withEntry := map[string]bool{}
	for _, entry := range entries {
		s.targets[entry.Address] = entry.Name
		withEntry[entry.Name] = true
	}
	table, err := s.file.exportedSymbols()
	if err != nil {
		return err
	}
	for index, name := range imported {
		if binary.LittleEndian.Uint64(table.raw[index*symbolSize+8:]) != 0 {
			s.doubt(name, "its PLT entry is its address for the whole process")
		}
	}
	used, err := s.file.relocationsOf(imported)
	if err != nil {
		return err
	}
	for index, kinds := range used {
		name := imported[index]
		if slices.ContainsFunc(kinds, func(kind elf.R_X86_64) bool { return kind != elf.R_X86_64_JMP_SLOT }) {
			s.doubt(name, "its address is used, not only its PLT entry")
		} else if !withEntry[name] {
			s.doubt(name, "no PLT entry was found for it")
		}
	}
	return nil
}

// relocationsOf returns the types of the relocations that refer to some symbols.
func (f *File) relocationsOf(symbols map[uint32]string) (map[uint32][]elf.R_X86_64, error) {
	used := map[uint32][]elf.R_X86_64{}
	for _, section := range f.sections {
		if section.Type == elf.SHT_REL {
			return nil, fmt.Errorf("%w: relocations without addends", ErrUnsupported)
		}
		if section.Type != elf.SHT_RELA || section.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		data, err := f.sectionData(section, maxRelocations)
		if err != nil {
			return nil, fmt.Errorf("relocations: %w", err)
		}
		for ; len(data) >= 24; data = data[24:] {
			info := binary.LittleEndian.Uint64(data[8:])
			index := uint32(info >> 32)
			if _, wanted := symbols[index]; wanted {
				used[index] = append(used[index], elf.R_X86_64(uint32(info)))
			}
		}
	}
	return used, nil
}

// scan searches all code for branches to the targets.
func (s *callerSearch) scan() error {
	lowest, highest := uint64(math.MaxUint64), uint64(0)
	for target := range s.targets {
		lowest, highest = min(lowest, target), max(highest, target)
	}
	for _, section := range s.file.sections {
		if section.Type == elf.SHT_NOBITS || section.Flags&elf.SHF_EXECINSTR == 0 || section.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		if section.Flags&elf.SHF_COMPRESSED != 0 {
			return fmt.Errorf("%w: section %s is compressed", ErrUnsupported, section.Name)
		}
		if section.Size > maxTextSection || overflows(section.Address, section.Size) {
			return fmt.Errorf("%w: section %s has %d bytes", ErrTooLarge, section.Name, section.Size)
		}
		if err := s.scanSection(section, lowest, highest); err != nil {
			return fmt.Errorf("section %s: %w", section.Name, err)
		}
	}
	return nil
}

// longestBranch is the length of the longest relative branch.
const longestBranch = 6

// scanSection searches the code of a section, a part at a time.
func (s *callerSearch) scanSection(section Section, lowest, highest uint64) error {
	buffer := make([]byte, min(section.Size, maxReadChunk+longestBranch))
	for start := uint64(0); start < section.Size; start += maxReadChunk {
		code := buffer[:min(section.Size-start, uint64(len(buffer)))]
		if err := s.file.readWhole(section.Offset+start, code); err != nil {
			return err
		}
		for i, first := range code[:min(len(code), maxReadChunk)] {
			if !beginsBranch[first] {
				continue
			}
			end, isBranch := branchEnd(code[i:])
			if !isBranch {
				continue
			}
			address := section.Address + start + uint64(i)
			target := address + uint64(end)
			if target < lowest || target > highest {
				continue
			}
			if callee, ok := s.targets[target]; ok {
				s.judge(address, callee)
			}
			if len(s.found.Known) > maxCallers {
				return fmt.Errorf("%w: more than %d calls", ErrTooLarge, maxCallers)
			}
		}
	}
	return nil
}

// maxCallers bounds the callers in a file, which are kept. Large components have hundreds.
const maxCallers = 8192

// maxTextSection bounds the code of a file, in bytes.
const maxTextSection = 1 << 30

// beginsBranch are the bytes that branchEnd finds branches to begin with.
var beginsBranch = func() (begins [256]bool) {
	for first := range begins {
		_, begins[first] = branchEnd([]byte{byte(first), 0x80, 0, 0, 0, 0})
	}
	return begins
}()

// branchEnd returns how far a relative branch leads from its own address, if the bytes are one: of any kind, so that
// none is overlooked.
func branchEnd(code []byte) (displacement int64, isBranch bool) {
	switch opcode := code[0]; {
	case opcode == 0xe8 || opcode == 0xe9:
		if len(code) >= 5 {
			return 5 + int64(int32(binary.LittleEndian.Uint32(code[1:]))), true
		}
	case opcode == 0x0f:
		if len(code) >= 6 && code[1]&0xf0 == 0x80 {
			return 6 + int64(int32(binary.LittleEndian.Uint32(code[2:]))), true
		}
	case opcode == 0xeb, opcode&0xf0 == 0x70, opcode >= 0xe0 && opcode <= 0xe3:
		if len(code) >= 2 {
			return 2 + int64(int8(code[1])), true
		}
	}
	return 0, false
}

// judge finds out what bytes that look like a branch to a callee are.
func (s *callerSearch) judge(address uint64, callee string) {
	instruction, err := s.proof.instruction(address)
	switch {
	case err != nil:
		s.doubt(callee, err.Error())
		return
	case instruction.Address != address && s.targets[instruction.Target] != callee:
		return // a part of another instruction
	case instruction.Address != address || instruction.Flow != FlowCall && instruction.Flow != FlowJump:
		s.doubt(callee, fmt.Sprintf("% x at %#x", instruction.Bytes, instruction.Address))
		return
	}
	site, err := s.file.site(instruction)
	if err != nil || site.Class != ClassEmulated {
		s.doubt(callee, fmt.Sprintf("% x at %#x", instruction.Bytes, address))
		return
	}
	s.found.Known = append(s.found.Known, Caller{Site: site, Callee: callee, Jump: instruction.Flow == FlowJump})
}
