package probes

import (
	"debug/elf"
	"testing"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/layouts"
)

// TestAllDistributionsAgreeOnCommonObjects: the programs have one value of each of these for all that they record.
func TestAllDistributionsAgreeOnCommonObjects(t *testing.T) {
	for _, machine := range []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64} {
		var want CommonObjects
		for i, distro := range distros.Released() {
			layout, err := layouts.For(string(distro), machine, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := commonObjects(layout)
			if i == 0 {
				want = got
			}
			if got != want {
				t.Errorf("%s %v: %+v, but the first distribution has %+v", distro, machine, got, want)
			}
		}
	}
}
