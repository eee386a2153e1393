package analyze

import "github.com/caret-bpf/caret-bpf/trace"

// partSum adds up latencies of which the parts are known, and counts the others.
type partSum struct {
	count, unknown uint64
	latency        int64
	parts          HopParts
	by             preempters
	longest        int64
	behind         ranBehind
}

func (s *partSum) add(latency int64, spent *spentTime) {
	s.count++
	s.latency += latency
	s.parts.add(&spent.parts)
	s.by.add(spent.by)
	if s.count == 1 || latency > s.longest {
		s.longest, s.behind = latency, spent.behind
	}
}

// mean is that of a sum over all that are known, of which there are some.
func (s *partSum) mean(sum int64) trace.Optional[int64] {
	return trace.Some(meanOf(sum, int64(s.count)))
}

func (s *partSum) delayMeans() DelayMeans {
	p := &s.parts
	return DelayMeans{s.mean(p.OtherCallbacks), s.mean(p.Executor), s.mean(p.PreemptedTime), s.mean(p.BlockedTime), s.mean(p.WakeupLatency)}
}

func (s *partSum) longestDelay() LongestDelay {
	name, time := s.behind.report()
	return LongestDelay{trace.Some(s.longest), name, time}
}

// spentTime is how a time was spent: its parts, the callback that ran longest in it, and who preempted the thread.
type spentTime struct {
	parts  HopParts
	behind ranBehind
	by     preemptions
}

// add adds another time.
func (s *spentTime) add(other *spentTime) {
	s.parts.add(&other.parts)
	if other.behind.time > s.behind.time {
		s.behind = other.behind
	}
	for _, one := range other.by {
		s.by.add(one.by, one.time)
	}
}
