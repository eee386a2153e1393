package session

import (
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// rows is where all rows of a recording pass.
type rows struct {
	writer   *writer.Writer
	triggers *triggers
	observe  []func(*trace.Batch)
}

// Write has the triggers look at rows, and writes them.
func (r *rows) Write(b *trace.Batch) error {
	r.triggers.look(b)
	for _, look := range r.observe {
		look(b)
	}
	return r.writer.Write(b)
}
