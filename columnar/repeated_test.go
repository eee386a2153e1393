package columnar

import (
	"bytes"
	"slices"
	"testing"
)

// TestRepeatedValuesAreThoseOfRows: what is added for many rows at once is stored as if it was added row by row.
func TestRepeatedValuesAreThoseOfRows(t *testing.T) {
	const each = PageRows/2 + 7
	parts := []struct {
		value string
		null  bool
	}{{value: "first"}, {null: true}, {value: "not UTF-8: \xff"}, {value: ""}, {value: "first"}}
	for _, encoding := range []Encoding{EncodingPlain, EncodingDictionary} {
		for _, nullable := range []bool{false, true} {
			column := Column{Name: "c", Type: TypeString, Nullable: nullable, Encoding: encoding}
			write := func(add func(*ColumnWriter[string], string, bool)) []byte {
				compressors := NewCompressors()
				defer compressors.Release()
				var file bytes.Buffer
				w := NewFileWriter("rows", []Column{column}, compressors)
				must(t, w.Begin(&file))
				for _, part := range parts {
					add(ColumnOf[string](w, 0), part.value, part.null && nullable)
					must(t, w.EndRows(each))
				}
				must(t, w.End())
				return file.Bytes()
			}
			atOnce := write(func(c *ColumnWriter[string], value string, null bool) {
				if null {
					c.AddNulls(each)
				} else {
					c.AddRepeated(each, value)
				}
			})
			oneByOne := write(func(c *ColumnWriter[string], value string, null bool) {
				c.Add(each, func(values []string, levels []byte) ([]string, []byte) {
					for range each {
						level := byte(0)
						if !null {
							values, level = append(values, value), 1
						}
						if nullable {
							levels = append(levels, level)
						}
					}
					return values, levels
				})
			})
			if !bytes.Equal(atOnce, oneByOne) {
				t.Errorf("%s, nullable %t: %d bytes, want %d that are the same", encoding, nullable, len(atOnce), len(oneByOne))
			}
			if got := decode[string](t, atOnce); !nullable && !slices.Contains(got.values, "not UTF-8: \ufffd") {
				t.Errorf("%s: bytes that are no text are stored as %q", encoding, slices.Compact(got.values))
			}
		}
	}
}
