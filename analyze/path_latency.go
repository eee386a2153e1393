package analyze

import (
	"context"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// HopKind says what a hop of a path is.
type HopKind string

// The kinds of hops.
const (
	// HopPath is the path as a whole.
	HopPath HopKind = "path"
	// HopCommunication leads from a publish to the callback, or the poll, of the next node.
	HopCommunication HopKind = "communication"
	// HopNode leads from there to the node's publish.
	HopNode HopKind = "node"
)

// PathHop is the latency of a path or of one of its hops. The Statistics are of ways: of each output at the path's end
// that leads back to a begin. So the means of the hops add up to the path's. A message may be on several ways, or on
// none.
type PathHop struct {
	Path string `report:"path,heading"`
	// Hop counts from 1; 0 is the path as a whole.
	Hop  int     `report:"hop"`
	Kind HopKind `report:"kind,drop=9"`
	Name string  `report:"name"`
	// Context is how messages got through a node; empty for what is no hop in a node.
	Context system.ContextType `report:"context,detail"`
	Statistics
	// Messages is the number of messages that set out on the path or the hop, whether or not they came from its begin;
	// Dropped of them were lost or, in a node, led to no publish. For the path as a whole, those that led to no end are
	// Dropped.
	Messages uint64 `report:"messages,drop=8"`
	Dropped  uint64 `report:"dropped_messages"`
	// ClockAgreement is the worst of the durations'.
	ClockAgreement
}

// PathHopInstance is one hop of one message that went all the way along a path or, if that is asked for, of a message
// that was dropped on a hop.
type PathHopInstance struct {
	Path string `report:"path,heading"`
	// Instance numbers the messages of a path that went all the way, from 1. It is null for dropped ones.
	Instance trace.Optional[uint64] `report:"instance,drop=8"`
	Hop      int                    `report:"hop"`
	Kind     HopKind                `report:"kind,drop=9"`
	Name     string                 `report:"name"`
	// Fate is Received, or Lost or Unused for what was dropped on the hop.
	Fate Fate `report:"fate,drop=6"`
	// PathBegin is when the path began for the message, or for that of which it was made; null if it came from no begin.
	PathBegin trace.Optional[int64] `report:"path_begin_timestamp,time,detail"`
	Begin     int64                 `report:"begin_timestamp,time"`
	End       trace.Optional[int64] `report:"end_timestamp,time,drop=3"`
	Latency   trace.Optional[int64] `report:"latency,duration"`
	ClockAgreement
}

// at is when the way began, if that is known: its hops stay together so.
func (i *PathHopInstance) at() int64 {
	if i.PathBegin.Valid {
		return i.PathBegin.Value
	}
	return i.Begin
}

// PathLatency answers how long messages took along paths and where the time went. each, if not nil, gets the hops of
// every message that went all the way, those of a way one after the other: the way that began first comes first.
func (q *Query) PathLatency(ctx context.Context, paths []*system.Path, options PathOptions, each func([]PathHopInstance) error) ([]PathHop, error) {
	instances := newSeries(each, (*PathHopInstance).at)
	t, err := newPathTracker(q, paths, options, func(w *way) {
		if instances.wanted() {
			w.eachHop(instances.add)
		}
	})
	if err != nil {
		return nil, err
	}
	if options.Dropped && instances.wanted() {
		t.stops = newPathStops(t.paths, func(stop *pathStop) {
			if stop.isDrop() && q.filter.covers(stop.at) {
				instances.add(stop.instance())
			}
		})
	}
	if err := t.track(ctx, instances.flush); err != nil {
		return nil, err
	}
	if err := instances.end(q); err != nil {
		return nil, err
	}
	return t.results(ctx)
}

// isDrop tells whether the message is known not to get on.
func (s *pathStop) isDrop() bool { return s.fate == Lost || s.fate == Unused }

func (s *pathStop) instance() PathHopInstance {
	hop := s.path.hops[s.hop]
	i := PathHopInstance{Path: s.path.name, Hop: s.hop + 1, Kind: hop.kind, Name: hop.name, Fate: s.fate, Begin: s.at}
	if s.from != nil {
		i.PathBegin = trace.Some(s.from.at)
	}
	return i
}
