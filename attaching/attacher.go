package attaching

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/target"
)

// Reporter is told what comes of attaching. Its methods are called by the goroutine that uses the Attacher.
type Reporter interface {
	// Warn tells what went wrong, which does not end the recording. The error may be nil: then nothing did.
	Warn(err error)
	// Message tells the user what was done.
	Message(text string)
	// Attached tells of sites that are probed from now on and never were before, in a process or, if pid is 0, in every
	// one.
	Attached(pid int32, sites []probes.Site)
	// Armed tells since when files that a process has mapped, or is expected to, are probed in it. Each call adds to
	// earlier ones: other events of the same file keep their times, and the same events have them until Armed.Since.
	Armed(p *Process, armed []Armed)
	// Missing tells what cannot be observed of a process, in place of what was told of it before.
	Missing(p *Process, missing []probes.Missing)
	// Retiring tells that a unit is about to be detached from all processes for the rest of the recording, for what it
	// costs a thread.
	Retiring(unit abi.Unit, cost ThreadShare)
}

// Entities are what is known of the entities of a process.
type Entities interface {
	// HasIntraProcess reports whether a process has a subscription with intra-process communication.
	HasIntraProcess(p *Process) bool
	// NoIntraProcess reports whether all entities of a process are known, none is such a subscription, and none has come
	// for IntraProcessPatience.
	NoIntraProcess(p *Process) bool
}

// kernel is the part of a loader.Loader that attaches.
type kernel interface {
	SharesLinks() bool
	MayChangeLinks() bool
	Attach(ctx context.Context, pid int32, sites []probes.Site) (attachment, []loader.SiteError, error)
	PreferOwnLinks(own bool) error
	AwaitHits() error
	RetireUnit(unit abi.Unit) error
	ReinstateUnits(units []abi.Unit) error
	Close(attachments []attachment) error
	BeginChange(filter bool) error
	CommitChange() error
	EndChange() error
}

// attachment is a *loader.Attachment.
type attachment interface {
	Verify() error
}

// Attacher attaches the sites of one recording. It is used by one goroutine.
type Attacher struct {
	options  Options
	prober   prober
	reporter Reporter
	entities Entities

	processes []*Process // those that were given to Attach and not to Release, in this order
	sharedLinks
	released []unitAttachment // of processes that are over
	// replaced are links of processes in whose place every process has others now.
	replaced []unitAttachment
	// prefersOwn says that links of single processes are newer than those for every process, where there are both.
	prefersOwn bool
	// aloneTries are attempts to attach for single processes what shows intra-process communication. aloneRefused is the
	// process for which the last one was in vain, if it was for one: without it, there is no reason to wait.
	aloneTries   tries
	aloneRefused *Process
	opened       bool // the recording has begun
	budget       *budget
	// reinstating are units that are attached again, which was not wanted before: nothing is missing of them.
	reinstating []abi.Unit
}

// sharedLinks is what is attached for every process, and what is known of that.
type sharedLinks struct {
	attached attachedSites    // sites that are attached
	shared   []unitAttachment // what holds them
	bodies   bodies
	// loading are the bodies that processes which load something have for themselves, in place of those of every one.
	loading    map[*Process]*detachable
	occasional occasional
	// alone is what processes with intra-process communication have of occasional for themselves, in place of every one.
	alone   map[*Process]*detachable
	sharing sharing
}

func newSharedLinks(sharing sharing) sharedLinks {
	return sharedLinks{attached: attachedSites{}, bodies: newBodies(), loading: map[*Process]*detachable{}, alone: map[*Process]*detachable{}, sharing: sharing}
}

// New makes an Attacher that attaches with l.
func New(l *loader.Loader, options Options, reporter Reporter, entities Entities) *Attacher {
	return newAttacher(loaderKernel{l}, options, reporter, entities)
}

func newAttacher(k kernel, options Options, reporter Reporter, entities Entities) *Attacher {
	budget := newBudget(options)
	return &Attacher{
		options: options, prober: prober{k, reporter, budget}, reporter: reporter, entities: entities,
		sharedLinks: newSharedLinks(newSharing(options, reporter)), budget: budget,
	}
}

// Attach attaches what is planned for a process and not attached yet. Errors wrap the sentinels of package loader.
func (a *Attacher) Attach(ctx context.Context, p *Process, plan *probes.Plan) error {
	if !slices.Contains(a.processes, p) {
		a.processes = append(a.processes, p)
	}
	if err := a.attachPlan(ctx, p, plan); err != nil {
		a.tellArmed(p) // some of it may be attached
		return fmt.Errorf("attaching to PID %d: %w", p.Target.PID, err)
	}
	p.incomplete = false
	a.sharing.noteExamined(plan.Examined)
	p.examined = plan.Examined
	for _, other := range a.processes {
		if len(other.lostSince) > 0 && other.plan != nil {
			a.tellArmed(other) // by links for every process, which took the place of its own
		}
	}
	return nil
}

// Intend notes what should be attached to a process, so that Unarmed tells what is not.
func (a *Attacher) Intend(p *Process, plan *probes.Plan) {
	a.budget.omitRetired(plan)
	p.plan = plan
	p.bodyOf = map[abi.Event]siteKey{}
	for _, site := range plan.Sites {
		if site.Role == abi.RoleBody {
			p.bodyOf[site.Event] = keyOf(site)
		}
	}
}

func (a *Attacher) attachPlan(ctx context.Context, p *Process, plan *probes.Plan) error {
	if plan.Unread != nil {
		a.reporter.Warn(plan.Unread)
	}
	a.Intend(p, plan)
	planned, bodySites := a.options.Sites.separateBodies(plan.Sites)
	planned, occasionalSites := a.options.separateOccasional(planned)
	groups := a.groupSites(ctx, p, slices.Clone(planned))
	for _, group := range groups {
		a.warnOfLateCallers(p, group.sites)
	}
	own, shared := a.separateShared(ctx, p, bodySites)
	count, err := a.attachBodies(ctx, p, own, len(plan.Uncertain) > 0)
	if err != nil {
		return err
	}
	ownOccasional, sharedOccasional := a.separateShared(ctx, p, occasionalSites)
	sharedCount, err := a.attachSharedFor(ctx, p, shared, sharedOccasional, groups)
	if failed, ok := errors.AsType[failedFile](err); ok && ctx.Err() == nil {
		return a.attachApart(ctx, p, failed.site, plan, err)
	}
	if err != nil {
		return err
	}
	count += sharedCount
	occasionalCount, err := a.attachOwnOccasional(ctx, p, ownOccasional, len(sharedOccasional) > 0)
	if err != nil {
		return err
	}
	count += occasionalCount
	for _, group := range groups {
		attached, err := a.attachGroup(ctx, p, group)
		if err != nil && group.pid == 0 && ctx.Err() == nil {
			return a.attachApart(ctx, p, group.sites[0], plan, err)
		}
		if err != nil {
			p.bodies.stay = p.bodies.stay || slices.ContainsFunc(group.sites, isCaller)
			if p.bodies.stay { // until it is tried again
				_, bodyErr := a.attachRemembered(ctx, p, own, shared)
				a.reporter.Warn(bodyErr)
			}
			return err
		}
		count += attached
	}
	if p.bodies.stay { // a caller could not be attached
		bodyCount, err := a.attachRemembered(ctx, p, own, shared)
		if err != nil {
			return err
		}
		count += bodyCount
	}
	if len(groups) > 0 {
		a.reporter.Message(fmt.Sprintf("PID %d (%s): %d probes in %s", p.Target.PID, p.Target.Command, count, distroAndRMW(p.Target)))
	}
	a.reporter.Missing(p, plan.Missing)
	a.tellArmed(p)
	return nil
}

// attachSharedFor attaches, for every process, what a process needs of those sites that are detached when no process
// does. The error is a failedFile.
func (a *Attacher) attachSharedFor(
	ctx context.Context, p *Process, bodies, occasional []probes.Site, groups []siteGroup,
) (attached int, err error) {
	count, err := a.attachSharedBodiesFor(ctx, p, bodies, groups)
	if err != nil {
		return 0, err
	}
	occasionalCount, err := a.attachSharedOccasional(ctx, p, occasional)
	return count + occasionalCount, err
}

// attachGroup attaches a group of sites, and returns how many of them are.
func (a *Attacher) attachGroup(ctx context.Context, p *Process, group siteGroup) (attached int, err error) {
	sortForAttaching(group.sites)
	var account *quota.Account
	if group.pid != 0 {
		account = p.Target.Account()
	}
	attachments, failed, err := a.prober.attach(ctx, group.pid, account, group.sites, group.attached)
	if err != nil {
		return 0, err
	}
	p.bodies.judgeCallers(group.sites, failed)
	for i := range attachments {
		attachments[i].file = group.file
	}
	if group.pid != 0 {
		p.attachments = append(p.attachments, attachments...)
	} else {
		a.shared = append(a.shared, attachments...)
	}
	return len(group.sites) - len(failed), nil
}

// Release says that a process has ended, or runs another program now. What was attached for it alone is detached by the
// next Sweep.
func (a *Attacher) Release(p *Process) {
	for _, list := range p.attachmentLists() {
		a.released = append(a.released, *list...)
		*list = nil
	}
	for _, own := range []map[*Process]*detachable{a.loading, a.alone} {
		if own[p] != nil {
			a.released = append(a.released, own[p].attachments...)
			delete(own, p)
		}
	}
	a.processes = slices.DeleteFunc(a.processes, func(other *Process) bool { return other == p })
}

// Sweep detaches what was attached for processes that were released, or has others in its place. The kernel waits once
// for all of it. What was replaced stays until the hits that may need it are over.
func (a *Attacher) Sweep() {
	if len(a.replaced) > 0 {
		err := a.prober.kernel.AwaitHits()
		a.reporter.Warn(err)
		if err == nil {
			a.released, a.replaced = append(a.released, a.replaced...), nil
		}
	}
	a.reporter.Warn(a.prober.close(a.released))
	a.released = nil
}

// Verify detaches files from every process that were written in place, so that their sites are not what was proven.
// They are not probed again.
func (a *Attacher) Verify() {
	written := map[target.FileID]error{}
	proven := map[target.FileID]int64{} // since when nothing that was attached to a file need be what was proven
	for _, list := range a.sharedLists() {
		for i := range *list {
			held := &(*list)[i]
			began := monotonicNow()
			since, known := proven[held.file]
			proven[held.file] = held.proven
			if known {
				proven[held.file] = min(since, held.proven)
			}
			if err := held.Verify(); err != nil {
				written[held.file] = err
			} else {
				held.proven = began
			}
		}
	}
	for file, err := range written {
		a.detachShared(file, proven[file])
		for key, state := range a.attached {
			if key.file == file {
				a.attached[key] = siteState{settled: state.settled, unit: state.unit}
			}
		}
		a.reporter.Warn(fmt.Errorf("a file is probed no more: %w", err))
	}
}

// sharedDetachables are the sites in files with links for every process that are detached at times.
func (l *sharedLinks) sharedDetachables() []*detachable {
	all := slices.AppendSeq([]*detachable{&l.bodies.detachable, &l.occasional.detachable}, maps.Values(l.loading))
	return slices.AppendSeq(all, maps.Values(l.alone))
}

// sharedLists are all lists of what is attached to files with links for every process.
func (l *sharedLinks) sharedLists() []*[]unitAttachment {
	lists := []*[]unitAttachment{&l.shared}
	for _, group := range l.sharedDetachables() {
		lists = append(lists, &group.attachments)
	}
	return lists
}

// ofFile chooses the attachments to a file.
func ofFile(file target.FileID) func(unitAttachment) bool {
	return func(held unitAttachment) bool { return held.file == file }
}

func distroAndRMW(p *target.Process) string {
	text := string(p.Distro)
	if text == "" {
		text = "an unknown distribution"
	}
	if p.RMW != "" {
		text += " with " + p.RMW
	}
	return text
}

// loaderKernel is a loader as an Attacher sees it.
type loaderKernel struct{ *loader.Loader }

func (k loaderKernel) Attach(ctx context.Context, pid int32, sites []probes.Site) (attachment, []loader.SiteError, error) {
	attached, problems, err := k.Loader.Attach(ctx, pid, sites)
	if err != nil {
		return nil, problems, err
	}
	return attached, problems, nil
}

func (k loaderKernel) Close(attachments []attachment) error {
	held := make([]*loader.Attachment, 0, len(attachments))
	for _, a := range attachments {
		held = append(held, a.(*loader.Attachment))
	}
	return k.CloseEach(held)
}
