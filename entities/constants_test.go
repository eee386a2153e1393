package entities

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/target"
)

// Words that lead to vtables are judged, wherever these may be. Addresses of code, of which memory is full, are not.
func TestWhereVtablesMayBe(t *testing.T) {
	for name, test := range map[string]struct {
		mapping target.Mapping
		want    bool
	}{
		"constants of a library":             {target.Mapping{Start: 0x7f0000000000, Perm: "r--p", Inode: 1}, true},
		"its code":                           {target.Mapping{Start: 0x7f0000000000, Perm: "r-xp", Inode: 1}, false},
		"its data":                           {target.Mapping{Start: 0x7f0000000000, Perm: "rw-p", Inode: 1}, false},
		"a program beside its constants":     {target.Mapping{Start: 0x400000, Perm: "r-xp", Inode: 1}, true},
		"what no file holds":                 {target.Mapping{Start: 0x400000, Perm: "r--p"}, false},
		"a program that may be loaded there": {target.Mapping{Start: 0x555500000000, Perm: "r-xp", Inode: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			test.mapping.End = test.mapping.Start + pageSize
			constants := newConstants([]target.Mapping{test.mapping})
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
