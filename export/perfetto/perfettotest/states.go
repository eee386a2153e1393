package perfettotest

import (
	"cmp"
	"fmt"
	"slices"
)

// CheckTimesOffCPU fails if a thread is off the CPU twice at a time: then it is in two states of the kernel, or runs
// and does not. The tracks of a thread have its name and are in its process.
func (t *Trace) CheckTimesOffCPU() error {
	type thread struct {
		process uint64
		name    string
	}
	last := make(map[thread]*Slice)
	states := slices.DeleteFunc(slices.Clone(t.Slices), func(s *Slice) bool { return s.Category != "off_cpu" })
	slices.SortStableFunc(states, func(a, b *Slice) int { return cmp.Compare(a.Begin, b.Begin) })
	for _, s := range states {
		on := thread{s.Track.Parent, s.Track.Name}
		if before := last[on]; before != nil && before.End > s.Begin {
			return fmt.Errorf("%s: %s from %d is not over when %s begins at %d", s.Track.Name, before.Name, before.Begin, s.Name, s.Begin)
		}
		last[on] = s
	}
	return nil
}
