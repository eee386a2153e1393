package entities

import "github.com/caret-bpf/caret-bpf/trace"

// patience is the number of calls of Rows for which an incomplete row is held back, in the hope that it improves.
const patience = 2

// scanPatience is the same for rows that a scan would replace.
const scanPatience = 30

// report is embedded in every entity that has rows: what is known now, and what was told of it.
type report[R comparable] struct {
	current R
	told    R
	waiting bool // a change is queued for Rows
	waits   int
	entity  uint64 // the number of all its rows; 0 before the first
	// withdrawn: another entity tells what is known of it.
	withdrawn bool
}

// number returns the number of the entity's rows.
func (r *report[R]) number(numbers *Numbers) uint64 {
	if r.entity == 0 {
		r.entity = numbers.next()
	}
	return r.entity
}

// withdraw keeps the entity from telling more, because another one goes on telling under the number that it returns.
func (r *report[R]) withdraw() uint64 {
	r.withdrawn = true
	return r.entity
}

// replace takes over from an entity that was found by a scan before its initialization was known.
func (r *report[R]) replace(former telling, time int64) {
	r.entity = former.withdraw()
	former.finish(time)
}

// change queues an entity whose row may have changed. It reports whether it was not queued already.
func (r *report[R]) change() bool {
	r.waits = 0
	fresh := !r.waiting
	r.waiting = true
	return fresh
}

// tell returns the row if it is time to tell it, and whether the entity remains queued.
func (r *report[R]) tell(complete, final bool) (row R, due, queued bool) {
	if r.withdrawn {
		r.waiting = false
		return row, false, false
	}
	if !complete && !final && r.waits < patience {
		r.waits++
		return row, false, true
	}
	r.waiting = false
	if r.current == r.told {
		return row, false, false
	}
	r.told = r.current
	return r.current, true, false
}

// tell holds the row of a subscription without an object back until a scan has looked for that: no event announces
// those of generic subscriptions on Humble, and the object's row is another one.
func (s *subscription) tell(complete, final bool) (row trace.Subscription, due, queued bool) {
	if !complete && !final && !s.scanned && !s.withdrawn && s.waits < scanPatience {
		s.waits++
		return row, false, true
	}
	return s.report.tell(complete, final)
}

// tell holds the row of an object back whose subscription is unknown: that may have a row already, which the object's
// is to continue.
func (o *object) tell(complete, final bool) (row trace.Subscription, due, queued bool) {
	if o.subscription == nil && !final && !o.ended && !o.withdrawn {
		return row, false, true
	}
	return o.report.tell(complete, final)
}

// tell holds the row of a publisher back that was copied elsewhere after its initialization, until a scan has found it
// there.
func (p *publisher) tell(complete, final bool) (row trace.Publisher, due, queued bool) {
	if p.announced != 0 && p.current.PublisherHandle == 0 && !p.withdrawn {
		if !final {
			return row, false, true
		}
		p.current.PublisherHandle = p.announced
	}
	return p.report.tell(complete, final)
}
