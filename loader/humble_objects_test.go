package loader

import (
	"strings"
	"testing"
)

// TestHumbleOffsetsReachThePrograms: an offset that the loader does not fill would be 0, which none of them is.
func TestHumbleOffsetsReachThePrograms(t *testing.T) {
	spec := loadSpec(t)
	if err := configure(spec, Options{}, mode{}); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for name, variable := range spec.Variables {
		if !strings.HasSuffix(name, "_offset") || strings.HasPrefix(name, "shared_") { // of types, for the BTF
			continue
		}
		var offset uint64
		if err := variable.Get(&offset); err != nil || offset == 0 {
			t.Errorf("%s is %d (%v)", name, offset, err)
		}
		checked++
	}
	if checked == 0 {
		t.Error("the programs have no offsets")
	}
}
