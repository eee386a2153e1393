package columnar

import (
	"fmt"
	"testing"
)

// TestInternersAreBounded: neither many strings nor long ones are all remembered.
func TestInternersAreBounded(t *testing.T) {
	for _, c := range []struct{ strings, length int }{{2 * maxInterned, 10}, {50, 1 << 20}, {5, 2 * maxInternedBytes}} {
		var in Interner
		for i := range c.strings {
			want := fmt.Sprintf("%0*d", c.length, i)
			if got := in.intern([]byte(want)); got != want {
				t.Fatalf("%.20q became %.20q", want, got)
			}
		}
		held := 0
		for s := range in.strings {
			held += len(s)
		}
		if len(in.strings) > maxInterned || held > maxInternedBytes+c.length {
			t.Errorf("%d strings of %d bytes are remembered", len(in.strings), held)
		}
	}
}
