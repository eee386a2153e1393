package analyze

import (
	"slices"
	"testing"
)

// TestReusedMaker: no two values in use have the same memory, and what is given back is used again.
func TestReusedMaker(t *testing.T) {
	for name, test := range map[string]struct {
		rows   int64
		chunks int
	}{
		"a few rows":        {rows: 10, chunks: 0},
		"a chunk":           {rows: chunkSize, chunks: 1},
		"more than a chunk": {rows: 2*chunkSize + 1, chunks: 3},
	} {
		t.Run(name, func(t *testing.T) {
			var memory reused[int]
			m := reusedMaker[int]{memory: &memory}
			make := func() map[*int]bool {
				made := make(map[*int]bool)
				m.begin(test.rows)
				for range test.rows {
					value := m.next()
					if m.next() != value || made[value] {
						t.Fatalf("value %d is one that is used", len(made))
					}
					m.used()
					made[value] = true
				}
				return made
			}
			first := make()
			if len(m.chunks) != test.chunks {
				t.Fatalf("%d rows lie in %d chunks, want %d", test.rows, len(m.chunks), test.chunks)
			}
			chunks := m.chunks
			for value := range make() {
				if first[value] {
					t.Fatal("memory is used again that was not given back")
				}
			}
			memory.giveBack(chunks)
			make()
			for i, chunk := range m.chunks {
				if !slices.ContainsFunc(chunks, func(given []int) bool { return &given[0] == &chunk[0] }) {
					t.Errorf("chunk %d is not one that was given back", i)
				}
			}
		})
	}
}
