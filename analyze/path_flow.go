package analyze

import (
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// PathFlow is the way of a message along a path, as far as it came.
type PathFlow struct {
	Path string
	// Times are when the path began for the message, and the ends of the hops that it has passed, in Unix nanoseconds.
	Times []int64
	// Fate is Received for a message that came all the way, else what became of it on the next hop.
	Fate Fate
	// Again: the message was passed on before, with another way, because a node made several messages of it.
	Again bool
}

// PathFlows passes the ways of messages along paths on to each, of those that came all the way and of those that did
// not, in no certain order. It returns the same as PathLatency. Fewer messages may be passed on than set out: of some
// nothing more is known, because nobody subscribed to them, for instance.
func (q *Query) PathFlows(ctx context.Context, paths []*system.Path, options PathOptions, each func([]PathFlow) error) ([]PathHop, error) {
	flows := newSeries(each, nil)
	tell := func(p *trackedPath, from *pathBegin, times []int64, fate Fate) {
		flows.add(PathFlow{Path: p.name, Times: slices.Clone(times), Fate: fate, Again: from.told})
		from.told = true
	}
	t, err := newPathTracker(q, paths, options, func(w *way) { tell(w.path, w.from, w.times, Received) })
	if err != nil {
		return nil, err
	}
	t.stops = newPathStops(t.paths, func(stop *pathStop) {
		if stop.from != nil {
			tell(stop.path, stop.from, stop.times, stop.fate)
		}
	})
	if err := t.track(ctx, flows.flush); err != nil {
		return nil, err
	}
	if err := flows.end(q); err != nil {
		return nil, err
	}
	return t.results(ctx)
}
