package chart

// keptMoments is how many points of time the panels over time keep.
const keptMoments = 1 << 11

// TimeSeries draws values over time.
//
// It keeps up to 2,048 points. Where there are more, it joins neighbours to intervals and draws each from its least to
// its greatest value.
type TimeSeries struct {
	Name string
	// Axis is what the values are: "latency".
	Axis string
	Unit Unit
	// Of is what has the values: "executions".
	Of string
	// Missing is said below.
	Missing []Missing

	moments  bounded[moment]
	count    uint64
	absent   uint64
	min, max int64
	times    span
}

// moment is what there was at one time, or in one interval.
type moment struct {
	count, absent uint64
	min, max      int64 // of what has a value
}

// Add adds the value of an instance at a time.
func (s *TimeSeries) Add(at, value int64) {
	value = limitValue(value)
	if s.count == 0 {
		s.min, s.max = value, value
	}
	s.count++
	s.min, s.max = min(s.min, value), max(s.max, value)
	s.add(at, moment{count: 1, min: value, max: value})
}

// AddMissing marks an instance that has no value.
func (s *TimeSeries) AddMissing(at int64) {
	s.absent++
	s.add(at, moment{absent: 1})
}

func (s *TimeSeries) add(at int64, m moment) {
	at = limitTime(at)
	if s.moments.limit == 0 {
		s.moments = bounded[moment]{limit: keptMoments, round: roundTime, merge: mergeMoments}
		s.times = span{at, at}
	}
	s.times = s.times.with(span{at, at})
	s.moments.add(at, m)
}

func mergeMoments(into *moment, more moment) {
	switch {
	case into.count == 0:
		into.min, into.max = more.min, more.max
	case more.count > 0:
		into.min, into.max = min(into.min, more.min), max(into.max, more.max)
	}
	into.count += more.count
	into.absent += more.absent
}

func (s *TimeSeries) span() (span, bool) { return s.times, s.count+s.absent > 0 }

// eachMoment passes on what there was when. A time is that of an instance, or within its interval.
func (s *TimeSeries) eachMoment(each func(at int64, m moment)) {
	for _, kept := range s.moments.all() {
		each(min(max(kept.key, s.times.first), s.times.last), kept.what)
	}
}

// values returns the interval of the axis of values: from zero, unless all are far from it.
func (s *TimeSeries) values() (first, last int64) {
	first, last = s.min, s.max
	if room := last - first; room > 0 && first > 4*room {
		return first - room/10, last + room/10
	}
	return min(first, 0), max(last+(last-min(first, 0))/20, 1)
}

// notes say what the panel shows, in lines of that width.
func (s *TimeSeries) notes(width int) []string {
	text := summary(s.count, s.Of, s.Missing)
	if s.absent > 0 {
		text += "; × marks when those began"
	}
	if s.moments.coarseness > 0 {
		text += "; drawn from the least to the greatest value of intervals of " + Nanoseconds.show(1<<s.moments.coarseness)
	}
	return wrap(text, width)
}
