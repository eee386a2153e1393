package view

import (
	"fmt"
	"slices"
	"testing"
)

// Rows of the same thing stand together, the baseline's first, in the order of the second side; what came and went is
// there.
func TestSideBySide(t *testing.T) {
	same := func(row *string) string { return (*row)[:1] }
	for name, test := range map[string]struct{ before, after, want []string }{
		"nothing":           {nil, nil, nil},
		"both":              {[]string{"x1", "y1"}, []string{"y2", "x2"}, []string{"a0y1", "b0y2", "a1x1", "b1x2"}},
		"came":              {nil, []string{"x2"}, []string{"b0x2"}},
		"went":              {[]string{"x1", "y1"}, []string{"y2"}, []string{"a0y1", "b0y2", "a1x1"}},
		"several of a kind": {[]string{"x1", "x3"}, []string{"x2", "y2", "x4"}, []string{"a0x1", "a0x3", "b0x2", "b0x4", "b1y2"}},
	} {
		var got []string
		for _, one := range sideBySide(test.before, test.after, same) {
			got = append(got, fmt.Sprint(one.side, one.thing, *one.row))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
