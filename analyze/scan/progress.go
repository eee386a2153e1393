package scan

import "sync/atomic"

// Progress counts the rows that were read.
type Progress struct {
	// Total is the number of rows that have to be read.
	Total int64
	// Report, if not nil, is called with each addition. It may be called by several goroutines.
	Report func(read, total int64)

	read atomic.Int64
}

// Add adds rows that were read.
func (p *Progress) Add(rows int64) {
	read := p.read.Add(rows)
	if p.Report != nil {
		p.Report(read, p.Total)
	}
}
