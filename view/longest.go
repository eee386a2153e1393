package view

// longestIn tells the longest execution of each bin of a tile. It is a tree over the bins: a node has the longest of
// those that run through all of its bins, as far as no node above it has them. So an execution is noted at a few nodes,
// through however many bins it runs.
type longestIn struct {
	nodes [2 * binsOfTile]*[3]int64
}

// add notes an execution, its callback, begin and end, which runs through bins from first to last.
func (l *longestIn) add(callback int32, begin, end int64, first, last int) {
	var execution *[3]int64
	note := func(node int) {
		if isLonger(end-begin, l.nodes[node]) {
			if execution == nil {
				execution = &[3]int64{int64(callback), begin, end}
			}
			l.nodes[node] = execution
		}
	}
	for from, behind := first+binsOfTile, last+binsOfTile+1; from < behind; from, behind = from/2, behind/2 {
		if from%2 == 1 {
			note(from)
			from++
		}
		if behind%2 == 1 {
			behind--
			note(behind)
		}
	}
}

// isLonger tells whether something took longer than an execution, which may be nil.
func isLonger(length int64, than *[3]int64) bool { return than == nil || length > than[2]-than[1] }

// of returns the longest execution of each bin, of several the one that began first; nil where there is none.
func (l *longestIn) of() []*[3]int64 {
	all := make([]*[3]int64, binsOfTile)
	for bin := range all {
		for node := bin + binsOfTile; node > 0; node /= 2 {
			of, known := l.nodes[node], all[bin]
			if of != nil && (isLonger(of[2]-of[1], known) || of[2]-of[1] == known[2]-known[1] && of[1] < known[1]) {
				all[bin] = of
			}
		}
	}
	return all
}
