package entities

import (
	"context"
	"errors"
	"iter"
	"math/bits"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/target"
)

// constants tells quickly whether a vtable can lie at an address: this is asked of every word.
type constants struct {
	spans    []span
	overfull bool // there are more of them than it looks in
}

// anywhere is the lowest address of programs that can be loaded anywhere. Others are linked to be below.
const anywhere = 1 << 32

// mayHoldVtables reports whether a mapping is of a file, and such that the process cannot write. A vtable holds
// addresses, which are only known when a library or a program is loaded that can be loaded anywhere. They are written
// then, and protected: such a vtable is on a page that was written, and not beside code. Most constants that memory is
// full of are addresses of code, of texts and of tables.
func mayHoldVtables(mapping target.Mapping) bool {
	return isReadOnlyFile(mapping) && (!mapping.Executable() || mapping.Start < anywhere)
}

// span is a piece of the address space with a bit for each page.
type span struct {
	start, size uint64
	pages       []uint64
}

// maxGap bounds the unmapped space within a span, so that the bits remain few: executable and libraries lie far apart.
const maxGap = 256 << 20

// maxSpans bounds the spans: each word is looked for in all of them.
const maxSpans = 256

// newConstants notes where vtables may lie. written are the parts of a range that the process has written.
func newConstants(ctx context.Context, mappings []target.Mapping, written func(start, end uint64) iter.Seq2[target.Range, error]) (c constants, err error) {
	for _, mapping := range mappings {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		if !mayHoldVtables(mapping) || mapping.End-mapping.Start > maxMapping {
			continue
		}
		if mapping.Start < anywhere {
			c.add(mapping.Start, mapping.End)
			continue
		}
		for part, err := range written(mapping.Start, mapping.End) {
			if err != nil {
				return c, err
			}
			c.add(part.Start, part.End)
		}
	}
	return c, nil
}

func (c *constants) add(start, end uint64) {
	last := len(c.spans) - 1
	if last < 0 || start < c.spans[last].start || start-c.spans[last].start > c.spans[last].size+maxGap {
		if len(c.spans) == maxSpans {
			c.overfull = true
			return
		}
		c.spans = append(c.spans, span{start: start})
		last++
	}
	c.spans[last].add(start, end)
}

func (s *span) add(start, end uint64) {
	s.size = max(s.size, end-s.start)
	words := (s.size/pageSize + bits.UintSize) / bits.UintSize
	for uint64(len(s.pages)) < words {
		s.pages = append(s.pages, 0)
	}
	for page := (start - s.start) / pageSize; page < (end-s.start)/pageSize; page++ {
		s.pages[page/64] |= 1 << (page % 64)
	}
}

func (c *constants) contain(address uint64) bool {
	for i := range c.spans {
		s := &c.spans[i]
		if offset := address - s.start; offset < s.size {
			page := offset / pageSize
			return s.pages[page/64]&(1<<(page%64)) != 0
		}
	}
	return false
}

const (
	// maxCachedPages bounds the pages of files that are kept.
	maxCachedPages = 4096
	// maxReads bounds the reads of one scan, counted by constantCache.spend. A process of a hundred nodes takes a tenth of
	// it; memory full of forged objects leads around for ever.
	maxReads = 1 << 21
)

// errManyReads ends a scan.
var errManyReads = errors.New("more objects than one scan follows")

// constantCache is memory of which what files hold and nothing can change is read once, and the rest a bounded number
// of times.
type constantCache struct {
	Space
	memory *scanMemory
	pages  map[uint64][]byte
	// around are the blocks of which those pages were read that were in RAM.
	around map[uint64]bool
	// full says that there was no room for all pages once. From then on each is read alone, when it is needed.
	full   bool
	passed map[passedKey]passedMember
	reads  int
}

func newConstantCache(space Space, memory *scanMemory) *constantCache {
	return &constantCache{Space: space, memory: memory, pages: make(map[uint64][]byte), around: make(map[uint64]bool), passed: make(map[passedKey]passedMember)}
}

func (c *constantCache) ReadAt(p []byte, address uint64) error {
	number, at := address/pageSize, address%pageSize
	if at+uint64(len(p)) > pageSize || !c.ReadOnlyFile(address) {
		if err := c.spend(len(p)); err != nil {
			return err
		}
		return c.Space.ReadAt(p, address)
	}
	if err := c.readAround(number); err != nil {
		return err
	}
	page, ok := c.pages[number]
	if !ok {
		if err := c.spend(pageSize); err != nil {
			return err
		}
		page = make([]byte, pageSize) // there may be many, one after the other: too many for c.memory
		if err := c.Space.ReadAt(page, number*pageSize); err != nil {
			return c.Space.ReadAt(p, address)
		}
		c.keep(number, page)
	}
	copy(p, page[at:])
	return nil
}

// blockPages is how many pages are read at once, because one that is needed is mostly followed by its neighbours.
const blockPages = 16

// readAround reads the pages of a page's block that files hold and are in RAM, once. Others are read when they are
// needed.
func (c *constantCache) readAround(number uint64) error {
	block := number / blockPages
	if c.full || c.around[block] || c.pages[number] != nil {
		return nil
	}
	first, end := number, number+1
	for first > block*blockPages && c.ReadOnlyFile((first-1)*pageSize) {
		first--
	}
	for end < (block+1)*blockPages && c.ReadOnlyFile(end*pageSize) {
		end++
	}
	for resident, err := range c.ResidentRanges(first*pageSize, end*pageSize) {
		if err != nil {
			break // the page that is needed says why
		}
		size := resident.End - resident.Start
		if err := c.spend(int(size)); err != nil {
			return err
		}
		pages := c.memory.pages(size)
		if c.Space.ReadAt(pages, resident.Start) != nil {
			c.memory.giveBack(size)
			continue // a page has gone meanwhile
		}
		for at := uint64(0); at < uint64(len(pages)); at += pageSize {
			c.keep((resident.Start+at)/pageSize, pages[at:at+pageSize])
		}
	}
	c.around[block] = true
	return nil
}

func (c *constantCache) keep(number uint64, page []byte) {
	if len(c.pages) >= maxCachedPages {
		clear(c.pages)
		clear(c.around)
		c.memory.release()
		c.full = true
	}
	c.pages[number] = page
}

// spend counts a read of some bytes. A large one counts as several.
func (c *constantCache) spend(size int) error {
	const unit = 256
	if c.reads += 1 + size/unit; c.reads > maxReads {
		return errManyReads
	}
	return nil
}

// FunctionAt returns the function that begins at an address, if the Space knows.
func (c *constantCache) FunctionAt(address uint64) (Function, bool) {
	code, ok := c.Space.(Code)
	if !ok {
		return Function{}, false
	}
	return code.FunctionAt(address)
}

// PassedMember follows the code of a function, if the Space can, once in a scan.
func (c *constantCache) PassedMember(function uint64, callee string) (elffile.Member, error) {
	code, ok := c.Space.(Code)
	if !ok {
		return elffile.Member{}, errNoCode
	}
	key := passedKey{function, callee}
	passed, known := c.passed[key]
	if !known {
		const cost = 64 << 10 // as that of so many bytes
		if err := c.spend(cost); err != nil {
			return elffile.Member{}, err
		}
		passed.member, passed.err = code.PassedMember(function, callee)
		c.passed[key] = passed
	}
	return passed.member, passed.err
}

type passedKey struct {
	function uint64
	callee   string
}

type passedMember struct {
	member elffile.Member
	err    error
}
