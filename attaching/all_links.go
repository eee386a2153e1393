package attaching

import (
	"maps"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// allLinks are all links of a recording at one time, and what was told of processes by then.
type allLinks struct {
	isShared bool
	shared   sharedLinks
	of       map[*Process]processLinks
}

type processLinks struct {
	own       ownLinks
	plan      *probes.Plan
	told      map[siteKey]bool
	lostSince map[target.FileID]int64
	toldIntra bool
}

func (a *Attacher) copyLinks() allLinks {
	all := allLinks{isShared: a.options.Shared, shared: a.sharedLinks, of: map[*Process]processLinks{}}
	for _, p := range a.processes {
		all.of[p] = processLinks{p.ownLinks, p.plan, maps.Clone(p.told), maps.Clone(p.lostSince), p.toldIntra}
	}
	return all
}

func (l allLinks) restore(a *Attacher) {
	a.options.Shared, a.sharedLinks = l.isShared, l.shared
	for p, links := range l.of {
		p.ownLinks = links.own
	}
}

// restoreTold has what was told of processes as it was: nothing was lost.
func (l allLinks) restoreTold() {
	for p, links := range l.of {
		p.plan, p.told, p.lostSince, p.toldIntra = links.plan, links.told, links.lostSince, links.toldIntra
	}
}

// attachments are all that there are.
func (l allLinks) attachments() []unitAttachment {
	lists := l.shared.sharedLists()
	for _, links := range l.of {
		lists = append(lists, links.own.attachmentLists()...)
	}
	var all []unitAttachment
	for _, list := range lists {
		all = append(all, *list...)
	}
	return all
}

// keepGaps keeps when occasional sites were not attached by these links, which were replaced at an instant of
// CLOCK_MONOTONIC in nanoseconds by others that have them all.
func (l allLinks) keepGaps(at int64) {
	for p, links := range l.of {
		last := links.own.occasional.gaps
		if links.own.sharesOccasional {
			last = l.shared.occasional.gaps
		}
		p.formerGaps = p.formerGaps.followedBy(last)
		p.formerGaps.end(at)
	}
}

// attachedTo is a copy of a process with these links, by an Attacher that has them.
func (l allLinks) attachedTo(p *Process, a *Attacher) (*Attacher, *Process) {
	with, was := *a, *p
	with.options.Shared, with.sharedLinks, was.ownLinks = l.isShared, l.shared, l.of[p].own
	with.loading, with.alone = map[*Process]*detachable{&was: l.shared.loading[p]}, map[*Process]*detachable{&was: l.shared.alone[p]}
	return &with, &was
}
