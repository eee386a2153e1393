package oracle

import (
	"cmp"
	"slices"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/trace"
)

// linkRaw finds the publishes and takes of serialized and loaned messages. rcl's function is observed when it is
// entered: where no tracepoint follows, or none is reached, that is the layer rcl.
func (t *threadTruth) linkRaw(rawPublishes []groundtruth.RawPublish) {
	publishes := map[uint64]*publishTruth{}
	for _, p := range t.publishes {
		publishes[p.Number] = p
	}
	for i := range rawPublishes {
		raw := &rawPublishes[i]
		p := publishes[raw.PublishNumber]
		if raw.TID != int(t.tid) || p == nil || p.Publisher != raw.Publisher {
			continue
		}
		p.raw, p.Message = raw, raw.Message
		if !p.RCL.Happened() {
			p.RCL = groundtruth.Bracket{Before: raw.Bracket.Before, After: cmp.Or(p.RMW.Before, p.Stamp.Before, raw.Bracket.After)}
		}
	}
	for _, take := range t.takes {
		take.raw = t.rawTakeAt(take.Bracket)
		take.dropped = !take.Polled && (take.raw == nil || take.raw.Kind == groundtruth.RawLoaned)
	}
	for _, e := range t.executions {
		e.take = takeTruth{in: e.parent, feeds: e, raw: t.rawTakeAt(e.Take), Take: groundtruth.Take{
			TID: e.TID, RMWSubscription: e.RMWSubscription, Message: e.Message, SourceTimestamp: e.SourceTimestamp,
			HeaderStamp: e.HeaderStamp, InfoGID: e.InfoGID, Bracket: e.Take,
		}}
	}
	t.sorted = nil
}

// rawTakeAt returns the call that a take happened in, nil if it was an ordinary one.
func (t *threadTruth) rawTakeAt(take groundtruth.Bracket) *groundtruth.RawTake {
	i := slices.IndexFunc(t.rawTakes, func(raw groundtruth.RawTake) bool {
		return raw.Bracket.Before <= take.Before && take.After <= raw.Bracket.After
	})
	if i < 0 || !take.Happened() {
		return nil
	}
	return &t.rawTakes[i]
}

// needed encloses all that a recorder must have seen to know of a take: of one that has no tracepoint the whole call.
func (t *takeTruth) needed(traced bool) groundtruth.Bracket {
	if t.raw == nil || traced {
		return t.Bracket
	}
	return t.raw.Bracket
}

// kinds returns what a row may call a take. Where rcl's function was entered before the recording, its tracepoint does
// not tell the form.
func (t *takeTruth) kinds(s Span) []trace.TakeKind {
	if t.raw == nil {
		return []trace.TakeKind{trace.TakeRMW}
	}
	kind := trace.TakeSerialized
	if t.raw.Kind == groundtruth.RawLoaned {
		kind = trace.TakeLoaned
	}
	if s.holds(t.raw.Bracket) == present {
		return []trace.TakeKind{kind}
	}
	return []trace.TakeKind{kind, trace.TakeRMW}
}

// kind is what was handed to rcl.
func (p *publishTruth) kind() trace.PublishKind {
	switch {
	case p.raw == nil:
		return trace.PublishMessage
	case p.raw.Kind == groundtruth.RawLoaned:
		return trace.PublishLoaned
	}
	return trace.PublishSerialized
}

// isGeneric reports whether the callback is that of a generic subscription.
func (e *execution) isGeneric() bool {
	return e.take.raw != nil && e.take.raw.Kind == groundtruth.RawSerialized
}
