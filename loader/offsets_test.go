package loader

import (
	"strings"
	"testing"
)

// TestOffsetsReachThePrograms: the programs would take an offset that the loader does not fill for 0.
func TestOffsetsReachThePrograms(t *testing.T) {
	filled, err := offsets()
	if err != nil {
		t.Fatal(err)
	}
	spec := loadSpec(t)
	if err := configure(spec, Options{}, mode{}); err != nil {
		t.Fatal(err)
	}
	for name, variable := range spec.Variables {
		if !strings.HasSuffix(name, "_offset") || strings.HasPrefix(name, "shared_") { // of types, for the BTF
			continue
		}
		want, known := filled[name]
		if !known {
			t.Errorf("nobody fills %s", name)
			continue
		}
		var got uint64
		if err := variable.Get(&got); err != nil || got != want {
			t.Errorf("%s is %d (%v), not %d", name, got, err, want)
		}
	}
}
