package columnar

import (
	"errors"
	"strings"
	"testing"
)

// TestPlacesAreChecked has chunks by where they begin in a file of 1000 bytes, and by their length.
func TestPlacesAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		groups [][][2]int64
		says   string
	}{
		"one behind the other":           {[][][2]int64{{{4, 96}, {100, 50}}, {{150, 10}, {160, 840}}}, ""},
		"with room between":              {[][][2]int64{{{4, 6}, {100, 50}}, {{200, 10}, {300, 40}}}, ""},
		"in no order":                    {[][][2]int64{{{500, 100}, {4, 496}}, {{900, 50}, {600, 300}}}, ""},
		"without pages":                  {[][][2]int64{{{0, 0}, {4, 100}}, {{4, 0}, {50, 0}}}, ""},
		"no row groups":                  {nil, ""},
		"all the same":                   {[][][2]int64{{{4, 996}, {4, 996}}, {{4, 996}, {4, 996}}}, "several columns"},
		"the same in another row group":  {[][][2]int64{{{4, 10}, {14, 10}}, {{24, 10}, {14, 10}}}, "several columns"},
		"one inside another":             {[][][2]int64{{{4, 900}, {100, 10}}}, "several columns"},
		"a byte of another":              {[][][2]int64{{{4, 100}, {103, 10}}}, "several columns"},
		"in the magic bytes":             {[][][2]int64{{{3, 10}}}, "several columns"},
		"into the footer":                {[][][2]int64{{{4, 997}}}, "997 bytes"},
		"before the file":                {[][][2]int64{{{-1, 10}}}, "10 bytes at -1"},
		"less than nothing":              {[][][2]int64{{{10, -1}}}, "-1 bytes"},
		"as long as numbers can be":      {[][][2]int64{{{4, 1<<63 - 1}}}, "bytes at 4"},
		"as far behind as numbers reach": {[][][2]int64{{{1<<63 - 1, 10}}}, "10 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			f := new(File)
			for _, of := range c.groups {
				var group RowGroup
				for _, place := range of {
					group.Chunks = append(group.Chunks, Chunk{Offset: place[0], Length: place[1]})
				}
				f.Groups = append(f.Groups, group)
			}
			err := f.checkPlaces(1000)
			if (err == nil) != (c.says == "") || err != nil && (!errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("error %v, want %q", err, c.says)
			}
		})
	}
}
