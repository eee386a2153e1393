package view

import "sync/atomic"

// Progress is how much of what the timeline is made of has been read.
type Progress struct {
	Read  int64 `json:"read"`
	Total int64 `json:"total"`
}

// progress counts the rows that are read for the index.
type progress struct{ read, total atomic.Int64 }

// begin forgets what was told before: a reading that was interrupted is begun anew.
func (p *progress) begin() {
	p.read.Store(0)
	p.total.Store(0)
}

func (p *progress) tell(read, total int64) {
	p.total.Store(total)
	for { // several goroutines tell, not in order
		before := p.read.Load()
		if read <= before || p.read.CompareAndSwap(before, read) {
			return
		}
	}
}

// Progress tells how far the index is. The total is 0 before it is begun.
func (v *View) Progress() Progress {
	return Progress{Read: v.progress.read.Load(), Total: v.progress.total.Load()}
}
