package writer

// task is work for the encoder goroutine.
type task interface {
	run(*encoder) error
}

// encoder runs the tasks of a Writer one after another and passes finished segments on to the committer.
type encoder struct {
	tables  *tables
	queue   <-chan task
	commits chan<- commitment
	waiting *backlog
	kept    *retained
	fail    func(error)
	// failed is set after the first error; from then on tasks only give their resources back.
	failed bool
}

// commitment is work for the committer goroutine: a finished segment, or a request to say when all before it are
// committed, and what there is then.
type commitment struct {
	segment *finished
	reached chan<- struct{}
	cut     *Cut
}

func (e *encoder) run() {
	defer close(e.commits)
	for t := range e.queue {
		if err := t.run(e); err != nil {
			e.fail(err)
			e.failed = true
		}
	}
}

func (e *encoder) commit(segment *finished) {
	if segment != nil {
		e.waiting.add(segment.bytes)
		e.commits <- commitment{segment: segment}
	}
}

// rotation ends the segments of all tables. reached, if not nil, is closed when they are on disk; then cut, if not nil,
// says which they were.
type rotation struct {
	reached chan<- struct{}
	cut     *Cut
}

func (r rotation) run(e *encoder) error {
	if r.reached != nil {
		defer func() { e.commits <- commitment{reached: r.reached, cut: r.cut} }()
	}
	if e.failed {
		return nil
	}
	for _, t := range e.tables.all() {
		segment, err := t.finish()
		if err != nil {
			return err
		}
		e.commit(segment)
	}
	if r.cut != nil {
		r.cut.noteSegments(e.tables)
	}
	e.forgetEnded()
	return nil
}

// commitAll makes finished segments durable until there are no more. It goes on after an error: each segment that can
// be committed is data kept.
func commitAll(dir *directory, commits <-chan commitment, retained *retained, waiting *backlog, fail func(error)) {
	for c := range commits {
		if s := c.segment; s != nil {
			if err := dir.commit(s.file, s.temporary, s.final, s.folder); err != nil {
				fail(err)
			} else {
				s.counters.stored.Add(uint64(s.rows))
				retained.add(s)
			}
			waiting.remove(s.bytes)
		}
		retained.expire()
		if c.cut != nil {
			c.cut.noteRows()
		}
		if c.reached != nil {
			close(c.reached)
		}
	}
}
