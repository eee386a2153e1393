package system

import (
	"slices"
	"sort"
)

// disjointLives are entities at one place of which no two live at once: none is added that overlaps another. They can
// be looked for while they are added, in any order.
type disjointLives[E any] struct {
	blocks [][]resident[E] // in the order of time; so that adding one moves few of millions
}

// maxBlock is the length at which a block is halved.
const maxBlock = 512

// overlapping returns the entity whose life overlaps the other, of several the one that began last; the zero value
// where none does.
func (d *disjointLives[E]) overlapping(life Life) (found E) {
	block, i := d.before(life.last())
	if i >= 0 && d.blocks[block][i].life.overlaps(life) {
		found = d.blocks[block][i].entity
	}
	return found
}

// add adds an entity whose life overlaps no other.
func (d *disjointLives[E]) add(life Life, entity E) {
	if len(d.blocks) == 0 {
		d.blocks = [][]resident[E]{{{life, entity}}}
		return
	}
	at, i := d.before(life.first())
	block := slices.Insert(d.blocks[at], i+1, resident[E]{life, entity})
	d.blocks[at] = block
	if len(block) > maxBlock {
		d.blocks[at] = block[:maxBlock/2]
		d.blocks = slices.Insert(d.blocks, at+1, slices.Clone(block[maxBlock/2:]))
	}
}

// before returns the place of the last life that has begun at a time; -1 in the first block where none has.
func (d *disjointLives[E]) before(at int64) (block, i int) {
	begins := func(r *resident[E]) bool { return r.life.first() > at }
	block = max(0, sort.Search(len(d.blocks), func(i int) bool { return begins(&d.blocks[i][0]) })-1)
	if len(d.blocks) == 0 {
		return 0, -1
	}
	return block, sort.Search(len(d.blocks[block]), func(i int) bool { return begins(&d.blocks[block][i]) }) - 1
}
