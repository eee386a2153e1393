package entities

import (
	"errors"
	"math/bits"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/target"
)

// constants tells quickly whether an address lies in a mapping of a file that the process cannot write: this is asked
// of every word.
type constants struct{ spans []span }

// span is a piece of the address space with a bit for each page.
type span struct {
	start, size uint64
	pages       []uint64
}

// maxGap bounds the unmapped space within a span, so that the bits remain few: executable and libraries lie far apart.
const maxGap = 256 << 20

func newConstants(mappings []target.Mapping) constants {
	var c constants
	for _, mapping := range mappings {
		if !isReadOnlyFile(mapping) || mapping.End-mapping.Start > maxMapping {
			continue
		}
		last := len(c.spans) - 1
		if last < 0 || mapping.Start < c.spans[last].start || mapping.Start-c.spans[last].start > c.spans[last].size+maxGap {
			c.spans = append(c.spans, span{start: mapping.Start})
			last++
		}
		c.spans[last].add(mapping.Start, mapping.End)
	}
	return c
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
	pages  map[uint64][]byte
	passed map[passedKey]passedMember
	reads  int
}

func newConstantCache(space Space) *constantCache {
	return &constantCache{Space: space, pages: make(map[uint64][]byte), passed: make(map[passedKey]passedMember)}
}

func (c *constantCache) ReadAt(p []byte, address uint64) error {
	number, at := address/pageSize, address%pageSize
	if at+uint64(len(p)) > pageSize || !c.ReadOnlyFile(address) {
		if err := c.spend(len(p)); err != nil {
			return err
		}
		return c.Space.ReadAt(p, address)
	}
	page, ok := c.pages[number]
	if !ok {
		if err := c.spend(pageSize); err != nil {
			return err
		}
		page = make([]byte, pageSize)
		if err := c.Space.ReadAt(page, number*pageSize); err != nil {
			return c.Space.ReadAt(p, address)
		}
		if len(c.pages) >= maxCachedPages {
			clear(c.pages)
		}
		c.pages[number] = page
	}
	copy(p, page[at:])
	return nil
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
