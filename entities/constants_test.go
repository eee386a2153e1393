package entities

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/target"
)

// Words that lead to vtables are judged, wherever these may be. Addresses of code, of which memory is full, are not.
func TestWhereVtablesMayBe(t *testing.T) {
	for name, test := range map[string]struct {
		mapping   target.Mapping
		untouched bool // nothing of it was written
		want      bool
	}{
		"constants of a library":             {target.Mapping{Start: 0x7f0000000000, Perm: "r--p", Inode: 1}, false, true},
		"constants that need no addresses":   {target.Mapping{Start: 0x7f0000000000, Perm: "r--p", Inode: 1}, true, false},
		"its code":                           {target.Mapping{Start: 0x7f0000000000, Perm: "r-xp", Inode: 1}, false, false},
		"its data":                           {target.Mapping{Start: 0x7f0000000000, Perm: "rw-p", Inode: 1}, false, false},
		"a program beside its constants":     {target.Mapping{Start: 0x400000, Perm: "r-xp", Inode: 1}, true, true},
		"what no file holds":                 {target.Mapping{Start: 0x400000, Perm: "r--p"}, false, false},
		"a program that may be loaded there": {target.Mapping{Start: 0x555500000000, Perm: "r-xp", Inode: 1}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			test.mapping.End = test.mapping.Start + pageSize
			written := func(start, end uint64) iter.Seq2[target.Range, error] {
				return func(yield func(target.Range, error) bool) {
					if !test.untouched {
						yield(target.Range{Start: start, End: end}, nil)
					}
				}
			}
			constants, err := newConstants(t.Context(), []target.Mapping{test.mapping}, written)
			if err != nil {
				t.Fatal(err)
			}
			for address, want := range map[uint64]bool{
				test.mapping.Start - wordSize: false, test.mapping.Start: test.want, test.mapping.End - wordSize: test.want, test.mapping.End: false,
			} {
				if got := constants.contain(address); got != want {
					t.Errorf("%#x: %v", address, got)
				}
			}
		})
	}
}

// TestPlacesOfVtablesAreBounded: a process can spread what it has written as it likes.
func TestPlacesOfVtablesAreBounded(t *testing.T) {
	mapping := target.Mapping{Start: 0x100000000000, End: 0x100000000000 + maxMapping, Perm: "r--p", Inode: 1}
	mappings := slices.Repeat([]target.Mapping{mapping}, 8)
	spread := func(start, end uint64) iter.Seq2[target.Range, error] {
		return func(yield func(target.Range, error) bool) {
			for at := start; at < end && yield(target.Range{Start: at, End: at + pageSize}, nil); at += 2 * maxGap {
				continue
			}
		}
	}
	for i := range mappings {
		mappings[i].Start += uint64(i) * 2 * maxMapping
		mappings[i].End += uint64(i) * 2 * maxMapping
	}
	constants, err := newConstants(t.Context(), mappings, spread)
	if err != nil || len(constants.spans) != maxSpans || !constants.overfull {
		t.Errorf("%d spans, overfull %t, %v", len(constants.spans), constants.overfull, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newConstants(ctx, mappings, spread); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
