package target

import "context"

// meter ends the work on a file when a context ends.
type meter struct{ ctx context.Context }

// Examine is asked before so many bytes are read or walked through.
func (m meter) Examine(int) error { return m.ctx.Err() }

// Keep is asked before so many bytes of memory are taken.
func (m meter) Keep(int) error { return m.ctx.Err() }

// Release takes back what was kept.
func (m meter) Release(int) {}
