package analyze

import "context"

// maxBatch bounds the instances in memory: of one execution there can be as many as somebody asks for.
const maxBatch = 1 << 14

// series collects the instances behind an answer for who asked for them, and hands them over batch by batch.
type series[I any] struct {
	each  func([]I) error // nil if nobody asked
	batch []I
	err   error // of each; nothing is handed over any more
}

func (s *series[I]) wanted() bool { return s.each != nil && s.err == nil }

func (s *series[I]) add(instance I) {
	if !s.wanted() {
		return
	}
	s.batch = append(s.batch, instance)
	if len(s.batch) == maxBatch {
		_ = s.flush() // the next flush tells
	}
}

// flush hands over what was added since the last time. It returns the first error of doing so.
func (s *series[I]) flush() error {
	if s.wanted() && len(s.batch) > 0 {
		s.err = s.each(s.batch)
		s.batch = s.batch[:0]
	}
	return s.err
}

// interruptible has each return ctx's error when that has one. It is nil if each is.
func interruptible[I any](ctx context.Context, each func([]I) error) func([]I) error {
	if each == nil {
		return nil
	}
	return func(batch []I) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return each(batch)
	}
}
