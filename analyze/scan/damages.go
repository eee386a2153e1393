package scan

import (
	"errors"
	"sync"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Damages collects the damaged segments that several goroutines meet.
type Damages struct {
	mu sync.Mutex
	// Segments may be read after the goroutines have ended.
	Segments []*trace.SegmentError
}

// Add takes the segments of a DamageError over and returns any other error.
func (d *Damages) Add(err error) error {
	var damaged *trace.DamageError
	if !errors.As(err, &damaged) {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Segments = append(d.Segments, damaged.Segments...)
	return nil
}

// Err returns a DamageError of the segments; nil where there are none. It is for after the goroutines have ended.
func (d *Damages) Err() error {
	if len(d.Segments) == 0 {
		return nil
	}
	return &trace.DamageError{Segments: d.Segments}
}
