package system

import (
	"cmp"
	"math"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// lifeIndex finds which of many lives, which have numbers, contain a time or overlap another life: of several the one
// with the greatest number. A dataset may claim millions at one place, and each of millions of rows asks.
type lifeIndex struct {
	// pieces divide all time where what At finds changes. The first one begins with the first time that there is.
	pieces []livedPiece
	// begins are the begins of all lives in their order, latest has their numbers.
	begins []int64
	latest maxTree[int32]
}

// livedPiece is a span of time, up to the next piece, in which one life is the one that is found; -1 is none.
type livedPiece struct {
	from int64
	life int32
}

func newLifeIndex(n int, life func(i int) Life) *lifeIndex {
	lives := make([]livedSpan, n)
	for i := range lives {
		l := life(i)
		lives[i] = livedSpan{l.first(), l.last(), int32(i)}
	}
	x := &lifeIndex{pieces: piecesOf(lives), begins: make([]int64, n)}
	slices.SortFunc(lives, func(a, b livedSpan) int { return cmp.Compare(a.first, b.first) })
	for i := range lives {
		x.begins[i] = lives[i].first
	}
	x.latest = newMaxTree(n, func(i int) int32 { return lives[i].number })
	return x
}

// livedSpan is a life with both ends included, and its number.
type livedSpan struct {
	first, last int64
	number      int32
}

// piecesOf paints time with lives, the one with the greatest number first, where nothing is painted yet.
func piecesOf(lives []livedSpan) []livedPiece {
	edges := make([]int64, 1, 2*len(lives)+1)
	edges[0] = math.MinInt64
	for i := range lives {
		edges = append(edges, lives[i].first)
		if last := lives[i].last; last < math.MaxInt64 {
			edges = append(edges, last+1)
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	pieces := make([]livedPiece, len(edges))
	bare := make([]int32, len(edges)+1) // leads towards the next piece that is not painted
	for i := range bare {
		bare[i] = int32(i)
	}
	nextBare := func(i int32) int32 {
		for bare[i] != i {
			bare[i] = bare[bare[i]]
			i = bare[i]
		}
		return i
	}
	for i, edge := range edges {
		pieces[i] = livedPiece{edge, -1}
	}
	for _, life := range slices.Backward(lives) {
		begin, _ := slices.BinarySearch(edges, life.first)
		for i := nextBare(int32(begin)); int(i) < len(edges) && edges[i] <= life.last; i = nextBare(i) {
			pieces[i].life = life.number
			bare[i] = i + 1
		}
	}
	return slices.CompactFunc(pieces, func(a, b livedPiece) bool { return a.life == b.life })
}

// piece returns which piece a time lies in.
func (x *lifeIndex) piece(at int64) int {
	i, found := slices.BinarySearchFunc(x.pieces, at, func(p livedPiece, at int64) int { return cmp.Compare(p.from, at) })
	if !found {
		i--
	}
	return i
}

func (x *lifeIndex) at(at int64) int { return int(x.pieces[x.piece(at)].life) }

// during returns what at returns for every time of the span; ok is false where that depends on the time.
func (x *lifeIndex) during(span trace.Span) (life int, ok bool) {
	i := x.piece(span.First)
	if i+1 < len(x.pieces) && x.pieces[i+1].from <= span.Last {
		return -1, false
	}
	return int(x.pieces[i].life), true
}

// overlapping returns the life with the greatest number that overlaps another: it contains the other's begin, or begins
// later while the other goes on. It returns -1 where there is none.
func (x *lifeIndex) overlapping(life Life) int {
	found := int32(x.at(life.first()))
	if life.first() == math.MaxInt64 {
		return int(found)
	}
	begin, _ := slices.BinarySearch(x.begins, life.first()+1)
	end := len(x.begins)
	if last := life.last(); last < math.MaxInt64 {
		end, _ = slices.BinarySearch(x.begins, last+1)
	}
	x.latest.cover(begin, end, func(element int) { found = max(found, x.latest[element]) })
	return int(found)
}
