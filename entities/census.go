package entities

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// scanBlock is how much is read at a time: a reader holds the process's memory map lock.
	scanBlock = 256 << 10
	// maxMapping bounds a mapping that is looked through: larger ones are reserved address space (sanitizers,
	// accelerators).
	maxMapping = 64 << 30
	// maxScanned bounds the memory read in one scan.
	maxScanned = 16 << 30
	// maxObjects bounds the objects found.
	maxObjects = 1 << 18
)

// Space is memory that can be walked through.
type Space interface {
	Memory
	// Mappings lists the memory mappings, in order of address.
	Mappings() ([]target.Mapping, error)
	// ResidentRanges are the parts of the address range [start, end) that are in RAM, in order. An error ends the
	// sequence.
	ResidentRanges(start, end uint64) iter.Seq2[target.Range, error]
	// WrittenRanges are the parts that the process has written and shares with nobody, in RAM or not, likewise.
	WrittenRanges(start, end uint64) iter.Seq2[target.Range, error]
	// IsGivenBack reports whether nothing is left of what the process has written into the page at an address.
	IsGivenBack(address uint64) bool
}

// Skipped is memory that a scan left out.
type Skipped struct {
	Start, End uint64
	// Reason says why.
	Reason string
}

// found is an object that a census came across.
type found struct {
	object trace.Address
	class  *class
}

// census looks through memory for objects that contain one of some base classes.
type census struct {
	space     Space
	memory    *scanMemory
	classes   *classes
	wanted    []string // mangled names of base classes
	mappings  []target.Mapping
	constants constants
	// vtables are the wanted classes by vtable; nil for the rest.
	vtables  map[uint64]*class
	overfull bool // there are more of them than it takes

	found   []found
	skipped []Skipped
	scanned uint64
}

// take looks through all memory that the process can write and shares with nobody. The error is the context's, or says
// that the process cannot be read any more; what was found till then remains.
func (c *census) take(ctx context.Context) error {
	mappings, err := c.space.Mappings()
	if err != nil {
		return err
	}
	c.mappings = mappings
	if c.constants, err = newConstants(ctx, mappings, c.space.WrittenRanges); err != nil {
		return err
	}
	if c.constants.overfull {
		c.skip(0, 0, "constants of files in more places than one scan looks at")
	}
	var writable []target.Mapping
	for _, mapping := range mappings {
		if !mayHoldObjects(mapping) {
			continue
		}
		if mapping.End-mapping.Start > maxMapping {
			c.skip(mapping.Start, mapping.End, "too large a mapping")
			continue
		}
		writable = append(writable, mapping)
	}
	// Small ones first: objects live in heaps, large mappings hold data.
	slices.SortStableFunc(writable, func(a, b target.Mapping) int { return cmp.Compare(a.End-a.Start, b.End-b.Start) })
	for _, mapping := range writable {
		if err := c.takeMapping(ctx, mapping); err != nil {
			return err
		}
	}
	return nil
}

// mayHoldObjects reports whether objects of C++ can live in a mapping: other processes, or a device, would not find
// their vtables.
func mayHoldObjects(mapping target.Mapping) bool {
	const shared = 's'
	return mapping.Readable() && mapping.Writable() && mapping.Perm[3] != shared && !strings.HasPrefix(mapping.Path, "/dev/")
}

// skip notes that a range is left out. What follows the last one for the same reason is one range with it.
func (c *census) skip(start, end uint64, reason string) {
	const maxSkipped = 1000
	if last := len(c.skipped) - 1; last >= 0 && start != 0 && c.skipped[last].End == start && c.skipped[last].Reason == reason {
		c.skipped[last].End = end
		return
	}
	if len(c.skipped) < maxSkipped {
		c.skipped = append(c.skipped, Skipped{Start: start, End: end, Reason: reason})
	}
}

func (c *census) takeMapping(ctx context.Context, mapping target.Mapping) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	block := c.memory.block(min(scanBlock, mapping.End-mapping.Start))
	for resident, err := range c.space.ResidentRanges(mapping.Start, mapping.End) {
		if err != nil {
			return err
		}
		for start := resident.Start; start < resident.End; start += scanBlock {
			if err := ctx.Err(); err != nil {
				return err
			}
			end := min(start+scanBlock, resident.End)
			if c.scanned >= maxScanned || len(c.found) >= maxObjects {
				c.skip(start, mapping.End, "more memory than one scan reads")
				return nil
			}
			if err := c.takeRange(start, block[:end-start]); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeRange looks through a range that was in RAM a moment ago. Parts of it that have left RAM are left out. What was
// given back held nothing: objects do not outlive their memory, and what is created there meanwhile shows an event.
func (c *census) takeRange(start uint64, block []byte) error {
	err := c.space.ReadAt(block, start)
	switch {
	case err == nil:
		c.scanned += uint64(len(block))
		return c.takeBlock(start, block)
	case errors.Is(err, target.ErrExited):
		return fmt.Errorf("scan memory: %w", err)
	case len(block) <= pageSize && errors.Is(err, target.ErrNotResident):
		if !c.space.IsGivenBack(start) {
			c.skip(start, start+uint64(len(block)), skippedGone)
		}
		return nil
	case len(block) <= pageSize:
		c.skip(start, start+uint64(len(block)), skippedUnreadable)
		return nil
	}
	half := max(len(block)/2/pageSize*pageSize, pageSize)
	if err := c.takeRange(start, block[:half]); err != nil {
		return err
	}
	return c.takeRange(start+uint64(half), block[half:])
}

// takeBlock looks at every word.
func (c *census) takeBlock(start uint64, block []byte) error {
	for ; len(block) >= wordSize; start, block = start+wordSize, block[wordSize:] {
		word := binary.LittleEndian.Uint64(block)
		if !c.constants.contain(word) {
			continue
		}
		class, judged := c.vtables[word]
		if !judged {
			var err error
			if class, err = c.judge(word); err != nil {
				return err
			}
		}
		if class != nil && len(c.found) < maxObjects {
			c.found = append(c.found, found{trace.Address(start), class})
		}
	}
	return nil
}

// judge decides once for each word that may be a vtable. It returns nil for one that is not that of a wanted class.
func (c *census) judge(word uint64) (*class, error) {
	if word%wordSize != 0 {
		return nil, nil
	}
	if len(c.vtables) >= maxClasses {
		if !c.overfull {
			c.overfull = true
			c.skip(0, 0, "more words that may be classes than one scan judges")
		}
		return nil, nil
	}
	c.vtables[word] = nil
	class, err := c.classes.judge(trace.Address(word))
	switch {
	case isFinal(err):
		return nil, err
	case err != nil || class.offset != 0: // not the start of an object
		return nil, nil
	}
	for _, name := range c.wanted {
		if _, ok := class.find(name); ok {
			c.vtables[word] = class
			return class, nil
		}
	}
	return nil, nil
}
