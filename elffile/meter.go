package elffile

// Meter bounds the work on a file that somebody may have made to be costly. An error of it ends what the File was asked
// for, and is, wrapped, the answer.
type Meter interface {
	// Examine is asked before so many bytes are read, or walked through in memory.
	Examine(bytes int) error
	// Keep is asked before so many bytes of memory are taken, which Release gives back.
	Keep(bytes int) error
	// Release is told how many bytes were given back.
	Release(bytes int)
}

// examine is asked before work that is in proportion to a number of bytes.
func (f *File) examine(bytes int) error {
	if f.meter == nil {
		return nil
	}
	return f.noteRefused(f.meter.Examine(bytes))
}

// keep is asked before memory is taken that the file holds until it is closed.
func (f *File) keep(bytes int) error {
	if f.meter == nil {
		return nil
	}
	if err := f.noteRefused(f.meter.Keep(bytes)); err != nil {
		return err
	}
	f.kept.Add(int64(bytes))
	return nil
}

func (f *File) noteRefused(err error) error {
	if err == nil {
		return nil
	}
	err = refusal{err}
	f.refused.Store(&err)
	return err
}

// refusal is an error of a meter.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

func (r refusal) Is(target error) bool { return target == ErrRefused }

// Refused is the error by which the meter refused something last, nil if it never did. What the file was asked for then
// is not what it says, and is remembered: such a File is of no more use.
func (f *File) Refused() error {
	if err := f.refused.Load(); err != nil {
		return *err
	}
	return nil
}

// release gives back what was kept.
func (f *File) release() {
	if kept := f.kept.Swap(0); kept > 0 {
		f.meter.Release(int(kept))
	}
}
