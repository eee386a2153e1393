package analyze

// fusedLink links each publish with the newest message of the subscription that could be in it: that in whose callback
// it was recorded, else the latest that was received at or before it. A message is unused only where a newer one took
// its place before any publish.
type fusedLink struct {
	emit      func(linked)
	received  []*arrival
	published []*departure
	// inputs are the newest message, which is the last, and former ones whose callbacks may still publish.
	inputs []executionInput
}

func (l *fusedLink) receive(a *arrival)   { l.received = append(l.received, a) }
func (l *fusedLink) execute(*arrival)     {}
func (l *fusedLink) publish(d *departure) { l.published = append(l.published, d) }

func (l *fusedLink) settle(limit int64) {
	next := 0
	for _, d := range l.published {
		for next < len(l.received) && l.received[next].start <= d.at {
			l.inputs = append(l.inputs, executionInput{arrival: l.received[next]})
			next++
		}
		if in := l.inputOf(d); in != nil {
			l.emit(linked{input: in.arrival, inputEnd: in.end, outputStart: d.start, output: d, again: in.used})
			in.used = true
		}
	}
	for _, a := range l.received[next:] {
		l.inputs = append(l.inputs, executionInput{arrival: a})
	}
	clear(l.published)
	clear(l.received)
	l.received, l.published = l.received[:0], l.published[:0]
	l.giveUp(limit)
}

// inputOf returns the message that a publish was made of; nil where none has come yet.
func (l *fusedLink) inputOf(d *departure) *executionInput {
	if len(l.inputs) == 0 {
		return nil
	}
	for i := len(l.inputs) - 1; i >= 0 && d.callback != nil && l.inputs[i].start >= d.start; i-- {
		if in := &l.inputs[i]; in.execution() == d.execution() {
			return in
		}
	}
	return &l.inputs[len(l.inputs)-1]
}

// giveUp drops former messages whose callbacks do not publish any more.
func (l *fusedLink) giveUp(limit int64) {
	if len(l.inputs) == 0 {
		return
	}
	former := l.inputs[:len(l.inputs)-1]
	kept := l.inputs[:0]
	for i, in := range former {
		if mayPublish(in.end, limit, len(former)-1-i) {
			kept = append(kept, in)
		} else {
			l.drop(in)
		}
	}
	kept = append(kept, l.inputs[len(l.inputs)-1])
	clear(l.inputs[len(kept):])
	l.inputs = kept
}

func (l *fusedLink) drop(in executionInput) {
	if !in.used {
		l.emit(in.unused())
	}
}

// end drops all messages but the newest: nothing has taken its place.
func (l *fusedLink) end() {
	for i := 0; i+1 < len(l.inputs); i++ {
		l.drop(l.inputs[i])
	}
}
