package analyze

import (
	"cmp"
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// HopParts are the parts of the time of a hop, in nanoseconds, which add up to it. In a node: CPUTime ran in the
// callback, and the thread was off the CPU for the last three. Between nodes: what the thread did that took the message
// in the end, so CPUTime is 0.
type HopParts struct {
	CPUTime int64 `report:"cpu_time,duration,short=ON CPU"`
	DelayParts
}

func (p *HopParts) add(other *HopParts) {
	p.CPUTime += other.CPUTime
	p.DelayParts.add(&other.DelayParts)
}

// PathParts is where the time of a path, or of one of its hops, went.
type PathParts struct {
	Path string `report:"path,heading"`
	// Hop counts from 1; 0 is the path as a whole.
	Hop  int     `report:"hop"`
	Kind HopKind `report:"kind,drop=9"`
	Name string  `report:"name"`
	// Count is the number of ways of which it is known; of the path as a whole, on all of its hops. All but Unknown is of
	// these, and null if there are none.
	Count uint64 `report:"count,drop=6"`
	// Mean is their mean latency; then come the means of its parts.
	Mean    trace.Optional[int64] `report:"mean,duration,short=MEAN"`
	CPUTime trace.Optional[int64] `report:"cpu_time,duration,short=ON CPU"`
	DelayMeans
	Preempter
	LongestDelay
	// Unknown is the number of the other ways.
	Unknown uint64 `report:"unknown,drop=5"`
}

// PartedHop is one hop of one way along a path, with the parts of its time.
type PartedHop struct {
	Path     string  `report:"path,heading"`
	Instance uint64  `report:"instance,drop=8"`
	Hop      int     `report:"hop"`
	Kind     HopKind `report:"kind,drop=9"`
	Name     string  `report:"name"`
	// PathBegin is when the path began for the message, or for that of which it was made.
	PathBegin int64 `report:"path_begin_timestamp,time,detail"`
	Begin     int64 `report:"begin_timestamp,time"`
	Latency   int64 `report:"latency,duration,short=LATENCY"`
	HopParts
	Preempter
	// Behind is the callback that ran longest meanwhile, for BehindTime.
	Behind     string                `report:"behind,below=behind,drop=1"`
	BehindTime trace.Optional[int64] `report:"behind_time,duration,below=for,drop=1"`
}

// PathParts answers where the time of messages went on paths. each, if not nil, gets the hops of which it is known, in
// the order of PathLatency. In a node it is known where the callback that took the message made the next one. It takes
// 312 bytes of memory for each message on a path. The error wraps ErrNoTimesOffCPU if no time off the CPU is
// recorded within a callback.
func (q *Query) PathParts(ctx context.Context, paths []*system.Path, options PathOptions, each func([]PartedHop) error) ([]PathParts, error) {
	p := &pathParts{known: newKnownParts(), sums: make(map[*trackedPath][]partSum)}
	p.instances = newSeries(each, func(h *PartedHop) int64 { return h.PathBegin })
	t, err := newPathTracker(q, paths, options, p.add)
	if err != nil {
		return nil, err
	}
	for _, path := range t.paths {
		p.sums[path] = make([]partSum, 1+len(path.hops))
		for _, hop := range path.hops {
			p.known.want(hop)
		}
	}
	if err := q.eachPast(ctx, p.known.add); err != nil {
		return nil, err
	}
	if err := t.track(ctx, p.instances.flush); err != nil {
		return nil, err
	}
	if err := p.instances.end(q); err != nil {
		return nil, err
	}
	return p.results(t.paths), nil
}

// pathParts gathers what PathParts answers.
type pathParts struct {
	known     *knownParts
	sums      map[*trackedPath][]partSum // of the path, then of its hops
	instances series[PartedHop]
}

// add adds a way that a message went.
func (p *pathParts) add(w *way) {
	sums := p.sums[w.path]
	whole, allKnown := spentTime{}, true
	for i, hop := range w.path.hops {
		begin, end := w.times[i], w.times[i+1]
		spent, known := p.known.between(hop, begin, end)
		if !known {
			allKnown = false
			sums[i+1].unknown++
			continue
		}
		sums[i+1].add(end-begin, &spent)
		whole.add(&spent)
		if p.instances.wanted() {
			name, time := spent.behind.report()
			p.instances.add(PartedHop{
				Path: w.path.name, Instance: w.path.total.count, Hop: i + 1, Kind: hop.kind, Name: hop.name, PathBegin: w.begin(),
				Begin: begin, Latency: end - begin, HopParts: spent.parts, Preempter: spent.by.preempter(), Behind: name, BehindTime: time,
			})
		}
	}
	if !allKnown {
		sums[0].unknown++
		return
	}
	sums[0].add(w.end()-w.begin(), &whole)
}

func (p *pathParts) results(paths []*trackedPath) (results []PathParts) {
	for _, path := range paths {
		for i := range p.sums[path] {
			r := PathParts{Path: path.name, Hop: i, Kind: HopPath, Name: path.name}
			if i > 0 {
				r.Kind, r.Name = path.hops[i-1].kind, path.hops[i-1].name
			}
			s := &p.sums[path][i]
			if r.Count, r.Unknown = s.count, s.unknown; s.count > 0 {
				r.Mean, r.CPUTime = s.mean(s.latency), s.mean(s.parts.CPUTime)
				r.DelayMeans, r.Preempter, r.LongestDelay = s.delayMeans(), s.by.preempter(s.count), s.longestDelay()
			}
			results = append(results, r)
		}
	}
	return results
}

// knownParts is where the time went before and in the callbacks that messages on paths started, and until they
// published. Everything is in the order of time.
type knownParts struct {
	received  map[*system.Subscription][]receivedParts
	published map[*system.Publisher][]publishedParts
}

// receivedParts are those of an execution that a message started.
type receivedParts struct {
	published, start, end        int64
	before, within               spentTime
	isBeforeKnown, isWithinKnown bool
}

// publishedParts are those from the start of a callback until it published.
type publishedParts struct {
	start, at int64
	spent     spentTime
}

func newKnownParts() *knownParts {
	return &knownParts{received: make(map[*system.Subscription][]receivedParts), published: make(map[*system.Publisher][]publishedParts)}
}

// want has noted what tells of a hop.
func (k *knownParts) want(hop *trackedHop) {
	if hop.subscription != nil {
		k.received[hop.subscription] = nil
	}
	if hop.publisher != nil {
		k.published[hop.publisher] = nil
	}
}

// add notes what a window tells.
func (k *knownParts) add(pasts *threadPasts, w *TimelineWindow) error {
	pasts.each(w, func(e *Execution, past *threadPast) {
		if of, wanted := k.received[e.arrival.subscription]; wanted && e.Start.Valid {
			k.received[e.arrival.subscription] = append(of, partsOfReceived(e, pasts, past))
		}
	})
	for _, p := range w.Publications {
		of, wanted := k.published[p.Publisher]
		if !wanted {
			continue
		}
		past := pasts.of(threadOf{p.Publisher.Node.Process, p.TID})
		outermost, known := past.callbackAt(p.At)
		start := p.departure.start // of the callback that published
		if !known || p.departure.callback == nil || start < outermost || pasts.isLost(start, p.At) {
			continue
		}
		if spent, known := past.inside(start, p.At); known {
			k.published[p.Publisher] = append(of, publishedParts{start, p.At, spent})
		}
	}
	return nil
}

func partsOfReceived(e *Execution, pasts *threadPasts, past *threadPast) receivedParts {
	r := receivedParts{published: noTime, start: e.Start.Value, end: noTime}
	if !e.Parts.Valid {
		return r
	}
	if published := pasts.publishOf(e); e.Depth == 0 && published.Valid && !pasts.isLost(published.Value, r.start) {
		r.published = published.Value
		r.before, r.isBeforeKnown = past.between(r.published, r.start)
	}
	if e.End.Valid {
		r.end, r.isWithinKnown = e.End.Value, true
		parts := &r.within.parts
		parts.CPUTime, parts.PreemptedTime = e.Parts.Value.CPUTime, e.Parts.Value.PreemptedTime
		parts.BlockedTime, parts.WakeupLatency = e.Parts.Value.BlockedTime, e.Parts.Value.WakeupLatency
		if within, known := past.inside(r.start, r.end); known && within.parts.PreemptedTime == parts.PreemptedTime {
			r.within.by = within.by
		}
	}
	return r
}

// between are the parts of a hop that a message passed.
func (k *knownParts) between(hop *trackedHop, begin, end int64) (spent spentTime, known bool) {
	switch {
	case hop.kind == HopCommunication:
		r := only(k.received[hop.subscription], end, func(r *receivedParts) int64 { return r.start })
		if r == nil || !r.isBeforeKnown || r.published != begin {
			return spent, false
		}
		return r.before, true
	case hop.publisher == nil: // until the end of the last callback
		r := only(k.received[hop.subscription], begin, func(r *receivedParts) int64 { return r.start })
		if r == nil || !r.isWithinKnown || r.end != end {
			return spent, false
		}
		return r.within, true
	}
	p := only(k.published[hop.publisher], end, func(p *publishedParts) int64 { return p.at })
	if p == nil || p.start != begin {
		return spent, false // it was published by another callback, later
	}
	return p.spent, true
}

// only is the one that is of an instant; nil if there is none, or several.
func only[T any](all []T, at int64, of func(*T) int64) *T {
	first, found := slices.BinarySearchFunc(all, at, func(one T, at int64) int { return cmp.Compare(of(&one), at) })
	if !found || first+1 < len(all) && of(&all[first+1]) == at {
		return nil
	}
	return &all[first]
}
