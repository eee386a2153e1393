package session

import (
	"context"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// chooseLinks decides for whom the links are. Of processes to come the first events are recorded by links for every
// process only.
func (s *Session) chooseLinks(ctx context.Context, found []*target.Process) trace.Links {
	if s.configuration.systemWide() {
		return trace.Links{Shared: true}
	}
	return ChooseLinks(ctx, s.finder, len(found), s.options.Costs)
}

// ChooseLinks decides for whom the links of a recording of so many processes are, which run. It counts the others that
// run ROS 2. Where processes may have shadow stacks, links for every process do not probe callers, which makes them
// dearer; they are not chosen then.
func ChooseLinks(ctx context.Context, finder *target.Finder, recorded int, costs *probes.Costs) trace.Links {
	if recorded < 2 || loader.MayHaveShadowStacks() {
		return trace.Links{}
	}
	others := max(0, finder.CountROS2(ctx)-recorded)
	return trace.Links{Shared: attaching.AreSharedLinksCheaper(recorded, others, costs), Recorded: recorded, Others: others}
}
