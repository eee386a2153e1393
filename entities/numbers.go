package entities

// Numbers gives rows the numbers of trace.Telling. The zero Numbers is ready for use; the graphs of a recording share
// one. It is not safe for concurrent use.
type Numbers struct {
	last uint64
}

func (n *Numbers) next() uint64 {
	n.last++
	return n.last
}

// NumberBy makes Rows number its rows. Without, they have no numbers.
func (g *Graph) NumberBy(numbers *Numbers) { g.numbers = numbers }

// stamped is the row of an entity.
type stamped[R any] interface {
	*R
	Stamp(entity, revision uint64)
}
