package perfetto

import (
	"context"
	"errors"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// wayParts are where the time of hops went, as far as it is known.
type wayParts map[hopOfWay]*hopParts

// hopOfWay is a hop, from 1, of a message that went all the way along a path.
type hopOfWay struct {
	path     string
	instance uint64
	hop      int
}

type hopParts struct {
	analyze.HopParts
	// by is not known of ways.
	by         analyze.Preempter
	behind     string
	behindTime trace.Optional[int64]
}

// readWayParts reads them all: paths are asked for in another order than that of time.
func readWayParts(ctx context.Context, query *analyze.Query, options *Options) (wayParts, error) {
	known := make(wayParts)
	_, err := query.PathParts(ctx, options.Paths, options.PathOptions, func(hops []analyze.PartedHop) error {
		for i := range hops {
			h := &hops[i]
			known[hopOfWay{h.Path, h.Instance, h.Hop}] = &hopParts{h.HopParts, h.Preempter, h.Behind, h.BehindTime}
		}
		return nil
	})
	if errors.Is(err, analyze.ErrNoTimesOffCPU) {
		return nil, nil
	}
	return known, err
}

// ofHop is where the time of a hop went, nil if it is not known.
func (p wayParts) ofHop(hop *analyze.PathHopInstance) *hopParts {
	return p[hopOfWay{hop.Path, hop.Instance.Value, hop.Hop}]
}

// ofWay is where the time of a way went, of which these are the hops, nil if it is not known of one of them.
func (p wayParts) ofWay(hops []analyze.PathHopInstance) *hopParts {
	whole := new(hopParts)
	for i := range hops {
		if hops[i].Hop == 0 {
			continue
		}
		part := p.ofHop(&hops[i])
		if part == nil {
			return nil
		}
		whole.CPUTime += part.CPUTime
		whole.OtherCallbacks += part.OtherCallbacks
		whole.Executor += part.Executor
		whole.PreemptedTime += part.PreemptedTime
		whole.BlockedTime += part.BlockedTime
		whole.WakeupLatency += part.WakeupLatency
		if part.behindTime.Value > whole.behindTime.Value {
			whole.behind, whole.behindTime = part.behind, part.behindTime
		}
	}
	return whole
}

// partsOf adds where the time of a hop, or of a way, went.
func (d *drawing) partsOf(b []byte, parts *hopParts) []byte {
	if parts == nil {
		return b
	}
	b = d.number(b, "cpu_time_ns", parts.CPUTime)
	return d.spent(b, "", &parts.DelayParts, &parts.by, parts.behind, parts.behindTime)
}
