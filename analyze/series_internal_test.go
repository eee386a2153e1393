package analyze

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestSeriesIsInOrder: instances that come in any order within a window, or some windows late, are handed over in the
// order of their times; those that come much later are counted, and nothing is left out.
func TestSeriesIsInOrder(t *testing.T) {
	const windows, inWindow = 20, 30_000
	for name, of := range map[string]struct {
		delay func(at int64, random *rand.Rand) int64 // by which an instance comes later than its time, in windows
		late  bool
	}{
		"within a window":      {func(int64, *rand.Rand) int64 { return 0 }, false},
		"over two windows":     {func(_ int64, random *rand.Rand) int64 { return random.Int64N(2) }, false},
		"one at the very end":  {func(at int64, _ *rand.Rand) int64 { return windows * max(1-at, 0) }, true},
		"over half the answer": {func(_ int64, random *rand.Rand) int64 { return random.Int64N(windows / 2) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(7, 8))
			coming := make([][]int64, 2*windows)
			for at := range int64(windows * inWindow) {
				comes := at/inWindow + of.delay(at, random)
				coming[comes] = append(coming[comes], at)
			}
			var got []int64
			s := newSeries(func(batch []int64) error {
				if len(batch) > maxBatch {
					t.Fatalf("%d instances at once", len(batch))
				}
				got = append(got, batch...)
				return nil
			}, func(at *int64) int64 { return *at })
			for _, window := range coming {
				random.Shuffle(len(window), func(i, j int) { window[i], window[j] = window[j], window[i] })
				for _, at := range window {
					s.add(at)
				}
				if err := s.flush(); err != nil {
					t.Fatal(err)
				}
			}
			var q Query
			if err := s.end(&q); err != nil {
				t.Fatal(err)
			}
			if inOrder := slices.IsSorted(got); inOrder == of.late {
				t.Errorf("in order: %t", inOrder)
			}
			if warned := len(q.Warnings) == 1 && strings.Contains(q.Warnings[0], "rows of a later time"); warned != of.late {
				t.Errorf("warnings: %q", q.Warnings)
			}
			slices.Sort(got)
			if len(got) != windows*inWindow || len(slices.Compact(got)) != windows*inWindow {
				t.Errorf("%d instances, want each of %d once", len(got), windows*inWindow)
			}
		})
	}
}

// TestSeriesHoldsSoMany: one window may have as many instances as somebody asks for.
func TestSeriesHoldsSoMany(t *testing.T) {
	handed := 0
	s := newSeries(func(batch []int64) error { handed += len(batch); return nil }, func(at *int64) int64 { return *at })
	for at := range int64(5 * mostInstances) {
		s.add(at)
		if len(s.held) > mostInstances {
			t.Fatalf("%d are held", len(s.held))
		}
	}
	if handed < 3*mostInstances {
		t.Errorf("%d were handed over", handed)
	}
}

// TestSeriesEndsWithAnError: who wants no more instances is not asked again.
func TestSeriesEndsWithAnError(t *testing.T) {
	enough := errors.New("enough")
	for name, at := range map[string]func(*int64) int64{"in order": func(at *int64) int64 { return *at }, "as they come": nil} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			s := newSeries(func([]int64) error { calls++; return enough }, at)
			for at := range int64(3 * mostInstances) {
				s.add(at)
			}
			if flushed, ended := s.flush(), s.end(new(Query)); !errors.Is(flushed, enough) || !errors.Is(ended, enough) || calls != 1 || s.wanted() {
				t.Errorf("%d calls, %v, %v", calls, flushed, ended)
			}
		})
	}
}
