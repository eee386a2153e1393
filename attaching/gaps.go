package attaching

import "slices"

// gap is a time, on CLOCK_MONOTONIC in nanoseconds, in which something was not attached. It ends at Never while it
// lasts.
type gap struct{ from, to int64 }

// gaps are in the order of time.
type gaps []gap

// maxGaps bounds the memory of recordings that run for months. Beyond it the oldest two become one, with the time
// between them: it is said of more than was missed.
const maxGaps = 1 << 12

func (g *gaps) begin(at int64) {
	if len(*g) == maxGaps {
		(*g)[1].from = (*g)[0].from
		*g = (*g)[1:]
	}
	*g = append(*g, gap{at, Never})
}

func (g gaps) end(at int64) {
	if last := len(g) - 1; last >= 0 && g[last].to == Never {
		g[last].to = at
	}
}

// after are those that have not ended by then.
func (g gaps) after(instant int64) gaps {
	for i := range g {
		if g[i].to > instant {
			return g[i:]
		}
	}
	return nil
}

// followedBy are these and later ones.
func (g gaps) followedBy(later gaps) gaps {
	all := slices.Clone(g)
	for _, next := range later {
		all.begin(next.from)
		all.end(next.to)
	}
	return all
}
