package entities

import (
	"bytes"
	"testing"
)

// One Scanner scans processes of all layouts twice: nothing of one is seen in another.
func TestScannerIsUsedAgain(t *testing.T) {
	var scanner Scanner
	for range 2 {
		eachLayout(t, func(t *testing.T, m *image) {
			w := newWorld(t, m)
			snapshot, err := scanner.Scan(t.Context(), m, m.layout, 1)
			if err != nil {
				t.Fatal(err)
			}
			g := New(testKey)
			g.Apply(snapshot)
			compareRows(t, rowsByKey(g.Rows(true)), rowsByKey(w.rows()))
		})
	}
}

// Pages that are taken stay what they are until all are used again, whatever is given back.
func TestScanMemory(t *testing.T) {
	var m scanMemory
	var first *byte
	for round := range 3 {
		m.reuse()
		var taken [][]byte
		for i := range 300 {
			size := uint64(1+i%blockPages) * pageSize
			m.pages(size)
			m.giveBack(size)
			pages := m.pages(size)
			if uint64(len(pages)) != size || uint64(cap(pages)) != size {
				t.Fatalf("%d bytes, room for %d, want %d", len(pages), cap(pages), size)
			}
			for at := range pages {
				pages[at] = byte(i)
			}
			taken = append(taken, pages)
		}
		for i, pages := range taken {
			if bytes.Count(pages, []byte{byte(i)}) != len(pages) {
				t.Fatalf("what was taken %d. was taken again", i)
			}
		}
		if round == 0 {
			first = &taken[0][0]
		} else if &taken[0][0] != first {
			t.Error("new memory was made")
		}
	}
	for _, size := range []uint64{pageSize, scanBlock, 2 * pageSize} {
		if block := m.block(size); uint64(len(block)) != size {
			t.Errorf("a block of %d, want %d", len(block), size)
		}
	}
}
