package chart

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Values of all sizes take limited room, are rounded down by less than 2 %, and stay in their order.
func TestValuesAreRounded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	h := new(Histogram)
	var values []int64
	for range 100_000 {
		value := int64(math.Exp(random.Float64() * math.Log(1e18)))
		values = append(values, value)
		h.Add(value)
	}
	kept := h.values.all()
	if len(kept) > keptValues || h.values.coarseness == 0 {
		t.Errorf("%d values are kept, rounded to %d bits", len(kept), 64-h.values.coarseness)
	}
	var count uint64
	for i, value := range kept {
		count += value.what
		if i > 0 && kept[i-1].key >= value.key {
			t.Fatalf("%d comes before %d", kept[i-1].key, value.key)
		}
	}
	if count != 100_000 {
		t.Errorf("they count %d", count)
	}
	for _, value := range values {
		if rounded := leadingBits(value, h.values.coarseness); rounded > value || float64(value-rounded) >= 0.02*float64(value) {
			t.Fatalf("%d is rounded to %d", value, rounded)
		}
		if negative := leadingBits(-value, h.values.coarseness); negative != -leadingBits(value, h.values.coarseness) {
			t.Fatalf("%d is rounded to %d", -value, negative)
		}
	}
}

// Up to so many different values nothing is rounded, however often each comes.
func TestFewValuesAreExact(t *testing.T) {
	h := new(Histogram)
	for i := range int64(3 * keptValues) {
		h.Add(1e9 + i%keptValues)
	}
	if kept := h.values.all(); len(kept) != keptValues || h.values.coarseness != 0 || kept[7].key != 1e9+7 || kept[7].what != 3 {
		t.Errorf("%d values are kept, coarseness %d", len(kept), h.values.coarseness)
	}
}

// Only values that are far from nearly all others are counted apart from the bins.
func TestBins(t *testing.T) {
	spread := func(h *Histogram) {
		for i := range int64(200) {
			h.Add(100_000 + i)
		}
	}
	for name, test := range map[string]struct {
		add          func(*Histogram)
		below, above uint64
	}{
		"none is far":     {spread, 0, 0},
		"one is somewhat": {func(h *Histogram) { spread(h); h.Add(100_500) }, 0, 0},
		"one is great":    {func(h *Histogram) { spread(h); h.Add(200_000) }, 0, 1},
		"one is small":    {func(h *Histogram) { spread(h); h.Add(1) }, 1, 0},
		"both":            {func(h *Histogram) { spread(h); h.Add(-5); h.Add(1 << 40) }, 1, 1},
		"few values": {func(h *Histogram) {
			for i := range int64(18) {
				h.Add(100 + i)
			}
			h.Add(1 << 40)
		}, 0, 0},
		"not so few": {func(h *Histogram) {
			for i := range int64(19) {
				h.Add(100 + i)
			}
			h.Add(1 << 40)
		}, 0, 1},
		"one value":          {func(h *Histogram) { h.Add(7) }, 0, 0},
		"the same value":     {func(h *Histogram) { spread(h); spread(h) }, 0, 0},
		"all values but one": {func(h *Histogram) { spread(h); spread(h); h.Add(1 << 60) }, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := new(Histogram)
			test.add(h)
			for _, most := range []int{terminalBins, pictureBins} {
				b := h.bin(most)
				var inside uint64
				for _, count := range b.counts {
					inside += count
				}
				if b.below != test.below || b.above != test.above || b.below+b.above+inside != h.count {
					t.Errorf("%d values: %d below, %d in bins, %d above", h.count, b.below, inside, b.above)
				}
				if len(b.counts) > most {
					t.Errorf("%d bins, at most %d were asked for", len(b.counts), most)
				}
			}
		})
	}
}

// Bins begin at multiples of a number that is easy to read.
func TestNiceSteps(t *testing.T) {
	for _, test := range []struct {
		length int64
		steps  int
		want   int64
	}{{1, 10, 1}, {10, 10, 1}, {11, 10, 2}, {45, 10, 5}, {51, 10, 10}, {1_000_000, 20, 50_000}, {math.MaxInt64, 10, 1_000_000_000_000_000_000}} {
		if got := niceStep(test.length, test.steps); got != test.want {
			t.Errorf("the step of %d in %d is %d, want %d", test.length, test.steps, got, test.want)
		}
	}
	if floorTo(-1, 10) != -10 || floorTo(-10, 10) != -10 || floorTo(19, 10) != 10 || ceilTo(11, 10) != 20 || ceilTo(-9, 10) != 0 {
		t.Error("numbers are rounded to wrong multiples")
	}
}

// Values have the unit that fits, and four digits.
func TestUnits(t *testing.T) {
	for value, want := range map[int64]string{
		0: "0 ns", 7: "7 ns", -999: "-999 ns", 1000: "1.000 µs", 19_963_000: "19.96 ms", 500_000_000: "500.0 ms", 12_345_000_000: "12.35 s", 1_234_567_000_000: "1235 s",
	} {
		if got := Nanoseconds.show(value); got != want {
			t.Errorf("%d is %q, want %q", value, got, want)
		}
	}
	if got := MicroHertz.show(9_990_000); got != "9.990 1/s" {
		t.Errorf("got %q", got)
	}
}

// Names keep their ends.
func TestShorten(t *testing.T) {
	for width, want := range map[int]string{20: "/perception/points", 18: "/perception/points", 11: "/perc…oints", 2: "…s", 1: "…", 0: ""} {
		if got := shorten("/perception/points", width); got != want {
			t.Errorf("in %d it is %q, want %q", width, got, want)
		}
	}
}

// Characters that take two columns of a terminal, and marks that take none, do not shift what is behind them.
func TestWidthOfNames(t *testing.T) {
	for text, want := range map[string]int{"/points": 7, "/点群": 5, "/e\u0301": 2, "█▏⢣×…": 5} {
		if got := cells(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
	for width, want := range map[int]string{5: "/点群", 4: "/…群", 3: "/…", 2: "…"} {
		if got := shorten("/点群", width); got != want {
			t.Errorf("in %d it is %q, want %q", width, got, want)
		}
	}
}

// What runs on one thread is together, and numbers in names count.
func TestOrderOfRows(t *testing.T) {
	for _, pair := range [][2]string{{"thread 9", "thread 10"}, {"/a/callback_2", "/a/callback_10"}, {"/a", "/b"}, {"/a", "/a/callback_0"}, {"/a10/x", "/b1"}} {
		if compareNatural(pair[0], pair[1]) >= 0 || compareNatural(pair[1], pair[0]) <= 0 || compareNatural(pair[0], pair[0]) != 0 {
			t.Errorf("%q does not come before %q", pair[0], pair[1])
		}
	}
}
