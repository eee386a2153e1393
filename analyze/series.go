package analyze

// series collects the instances behind an answer for who asked for them, and hands them over batch by batch.
type series[I any] struct {
	each  func([]I) error // nil if nobody asked
	batch []I
}

func (s *series[I]) wanted() bool { return s.each != nil }

func (s *series[I]) add(instance I) {
	if s.each != nil {
		s.batch = append(s.batch, instance)
	}
}

// flush hands over what was added since the last time.
func (s *series[I]) flush() error {
	if len(s.batch) == 0 {
		return nil
	}
	err := s.each(s.batch)
	s.batch = s.batch[:0]
	return err
}
