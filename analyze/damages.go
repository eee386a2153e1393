package analyze

import (
	"errors"
	"sync"

	"github.com/caret-bpf/caret-bpf/trace"
)

// damages collects the damaged segments that several goroutines meet.
type damages struct {
	mu       sync.Mutex
	segments []*trace.SegmentError
}

// add takes the segments of a DamageError over and returns any other error.
func (d *damages) add(err error) error {
	var damaged *trace.DamageError
	if !errors.As(err, &damaged) {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.segments = append(d.segments, damaged.Segments...)
	return nil
}

func (d *damages) err() error {
	if len(d.segments) == 0 {
		return nil
	}
	return &trace.DamageError{Segments: d.segments}
}
