package attaching

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// sharing says which files have links for every process, where links are shared. All others are probed for each process
// alone.
type sharing struct {
	// toCome says that processes may come for which links for every process are of use.
	toCome   bool
	reporter Reporter
	// users are trusted beside root.
	users []uint32
	// planned are the files with shared links.
	planned map[target.FileID]sharedPlan
	// unshareable are files that have no shared links again, and why.
	unshareable map[target.FileID]error
	// apart are the files that are probed for single processes, and why. apartTold says that the user knows of one.
	apart     map[target.FileID]error
	apartTold bool
	// examined are files in which the callers of tracepoints are known, and attached for every process.
	examined map[target.FileID]bool
}

// sharedPlan is what a file with shared links was planned for. What is a site of it depends on the distribution alone.
type sharedPlan struct {
	distro distros.Distro
	// trusted says that a process of a trusted user was planned for. Where files do not say themselves of which
	// distribution they are, what processes of others seem to be does not count against it.
	trusted bool
}

func planFor(p *Process) sharedPlan {
	return sharedPlan{p.Target.Distro, p.Target.IsTrusted()}
}

func newSharing(options Options, reporter Reporter) sharing {
	return sharing{
		toCome: options.ToCome, reporter: reporter, users: append([]uint32{uint32(os.Geteuid())}, options.Trusted...),
		planned: map[target.FileID]sharedPlan{}, unshareable: map[target.FileID]error{}, apart: map[target.FileID]error{},
		examined: map[target.FileID]bool{},
	}
}

// maxExamined bounds the memory of an Attacher that runs for months while programs are built anew.
const maxExamined = 1 << 16

// siteGroup are sites that are attached together, for a process or, if pid is 0, for every one.
type siteGroup struct {
	pid      int32
	attached attachedSites
	// file is the one that they are in; that of sites of single processes in a recording of such.
	file  target.FileID
	sites []probes.Site
}

var (
	errOtherDistro   = errors.New("it is of another distribution than the process that maps it")
	errUnknownDistro = errors.New("the distribution of the process that maps it is not known")
	errContested     = errors.New("processes of several distributions map it") // nothing tells whose it is
	// errStrangersContest is errContested where none of the processes was of a trusted user. One that is decides.
	errStrangersContest = fmt.Errorf("%w, none of them of a trusted user", errContested)
	errNotShared        = errors.New("attaching to it for all processes failed")
)

// groupSites sorts out which of a process's sites are attached, and for whom.
func (a *Attacher) groupSites(ctx context.Context, p *Process, planned []probes.Site) []siteGroup {
	if !a.options.Shared {
		return siteGroup{pid: p.Target.PID, attached: p.attached, sites: planned}.unattached()
	}
	sortForAttaching(planned)
	a.contest(ctx, p)
	var groups []siteGroup
	for _, sites := range byFile(planned) {
		group := siteGroup{pid: p.Target.PID, attached: p.attached, file: sites[0].File, sites: sites}
		switch a.shares(ctx, p, sites[0]) {
		case otherDistros:
			continue // it is hit as its own processes have planned it
		case sharedAsPlanned:
			group.pid, group.attached = 0, a.attached
			for i := range group.sites {
				group.sites[i] = shareable(group.sites[i])
			}
		}
		groups = append(groups, group.unattached()...)
	}
	return groups
}

// byFile gathers sites by file, in the order in which files and sites come.
func byFile(sites []probes.Site) [][]probes.Site {
	var groups [][]probes.Site
	place := map[target.FileID]int{}
	for _, site := range sites {
		index, known := place[site.File]
		if !known {
			index = len(groups)
			place[site.File] = index
			groups = append(groups, nil)
		}
		groups[index] = append(groups[index], site)
	}
	return groups
}

// sharedFor says for whom the sites of a file are attached.
type sharedFor int

const (
	apart           sharedFor = iota // for each process alone
	sharedAsPlanned                  // for every process, as this one's plan says
	otherDistros                     // for every process, as the plan of one of another distribution said
)

// shares decides for whom the sites are attached that are in the file of one of them.
func (a *Attacher) shares(ctx context.Context, p *Process, first probes.Site) sharedFor {
	file := first.File
	_, known := a.sharing.planned[file]
	// The C++ runtime and the dynamic linker are mapped by most programs: a link for all of them would slow down those
	// that are not recorded.
	if !known && !isOfEveryProgram(first) {
		err := a.sharing.check(ctx, p, file, first.Opened)
		if err == nil {
			a.share(p, file)
			known = true
		} else {
			a.sharing.tellApart(p, first, err)
		}
	}
	switch {
	case !known:
		return apart
	case a.sharing.planned[file].distro != p.Target.Distro:
		return otherDistros
	}
	if !a.sharing.planned[file].trusted {
		a.sharing.planned[file] = planFor(p)
	}
	return sharedAsPlanned
}

// unattached is the group without what is attached, none if that is all.
func (group siteGroup) unattached() []siteGroup {
	group.sites = slices.DeleteFunc(group.sites, func(site probes.Site) bool { return group.attached.settled(site) })
	if len(group.sites) == 0 {
		return nil
	}
	return []siteGroup{group}
}

// check returns why a file may not be probed for every process by the plan of one, nil if it may.
func (s *sharing) check(ctx context.Context, p *Process, file target.FileID, opened *target.OpenFile) error {
	err := s.unshareable[file]
	if isLifted := errors.Is(err, errStrangersContest) && planFor(p).trusted; err != nil && !isLifted {
		return err
	}
	if err := p.Target.CheckTrusted(ctx, opened, s.users); err != nil {
		return err
	}
	if p.Target.Distro == distros.Unknown {
		return errUnknownDistro
	}
	if says := p.Target.Contradiction(ctx, opened); says != "" {
		return fmt.Errorf("%w, which is of %s: %s", errOtherDistro, p.Target.Distro, says)
	}
	return nil
}

// tellApart says of the first file that is not probed for every process what that means. How many they were is said in
// the end; also of those of processes of no known distribution, which is that of most while they map their libraries.
func (s *sharing) tellApart(p *Process, site probes.Site, why error) {
	if s.apart[site.File] != nil {
		return
	}
	s.apart[site.File] = why
	if !s.apartTold && !errors.Is(why, errUnknownDistro) {
		s.apartTold = true
		consequence := "each of them makes the hits of all dearer"
		if s.toCome {
			consequence = "what processes that begin later do before they are noticed is not recorded, and " + consequence
		}
		s.reporter.Warn(fmt.Errorf("%s of PID %d is not probed for all processes: %w. It is probed for each process alone: %s",
			site.Library, p.Target.PID, why, consequence))
	}
}

// noteExamined notes that all callers in files are known and attached, but those in files that are probed for each
// process alone.
func (s *sharing) noteExamined(files []target.FileID) {
	if len(s.examined) > maxExamined {
		clear(s.examined)
	}
	for _, file := range files {
		if s.apart[file] == nil {
			s.examined[file] = true
		}
	}
}

// CheckTrusted returns target.ErrUntrusted if others than root and trusted users could have written a module of a
// process.
func (a *Attacher) CheckTrusted(ctx context.Context, p *Process, module target.Module) error {
	opened, err := module.Opened()
	if err != nil {
		return err
	}
	return p.Target.CheckTrusted(ctx, opened, a.sharing.users)
}

// share notes that a file is probed for every process from now on. What processes have probed of it for themselves
// would record twice.
func (a *Attacher) share(by *Process, file target.FileID) {
	a.sharing.planned[file] = planFor(by)
	delete(a.sharing.unshareable, file)
	delete(a.sharing.apart, file)
	var lists []*[]unitAttachment
	for _, p := range a.processes {
		lists = append(lists, p.attachmentLists()...)
		p.lose(file, monotonicNow())
		p.attached.forget(file)
		p.sharesOccasional = p.sharesOccasional || slices.ContainsFunc(p.occasional.sites, func(site probes.Site) bool { return site.File == file })
		for _, group := range p.detachables() {
			group.forget(file)
		}
	}
	a.prober.closeIf(ofFile(file), lists...)
}

// contest ends the sharing of files that a process maps and that were planned for another distribution, though what
// they say fits this one as well: each process is probed by its own plan then. Where only one of the two is a process
// of a trusted user, its plan is the one that counts: nobody else can end the sharing of a file.
func (a *Attacher) contest(ctx context.Context, p *Process) {
	var contested []target.FileID
	own := planFor(p)
	for _, module := range p.Target.Modules {
		planned, shared := a.sharing.planned[module.File]
		opened, err := module.Opened()
		if !shared || err != nil || planned.distro == own.distro || own.distro == distros.Unknown ||
			p.Target.Contradiction(ctx, opened) != "" {
			continue
		}
		consequence := "it is probed for each process alone from now on"
		switch {
		case planned.trusted == own.trusted:
			contested = append(contested, module.File)
		case own.trusted:
			a.closeShared(module.File)
			a.sharing.planned[module.File] = own
			consequence = "it is probed as this process is from now on. What others do in it may be shown wrongly"
		default:
			consequence = "what this process of another user does in it may be shown wrongly"
		}
		a.reporter.Warn(fmt.Errorf("%w: %s was planned for %s, and PID %d, which is of %s, maps it too: %s",
			loader.ErrConflictingSite, module.Path, planned.distro, p.Target.PID, own.distro, consequence))
	}
	why := errContested
	if !own.trusted {
		why = errStrangersContest
	}
	for _, file := range contested {
		a.unshare(file, why)
	}
	if len(contested) > 0 {
		a.attachOthers(ctx, p)
	}
}

// unshare ends the shared links of a file for good.
func (a *Attacher) unshare(file target.FileID, why error) {
	delete(a.sharing.planned, file)
	a.sharing.unshareable[file] = why
	a.closeShared(file)
}

func (a *Attacher) closeShared(file target.FileID) {
	a.detachShared(file, monotonicNow())
	a.attached.forget(file)
}

// detachShared detaches a file from every process. Since an instant, CLOCK_MONOTONIC in nanoseconds, what was attached
// need not have recorded anything.
func (a *Attacher) detachShared(file target.FileID, since int64) {
	delete(a.sharing.examined, file)
	a.prober.closeIf(ofFile(file), append(a.sharedLists(), &a.replaced)...)
	for _, group := range a.sharedDetachables() {
		group.forget(file)
	}
	a.lose(file, since)
}

// attachOthers attaches in all processes but one what they have lost with shared links.
func (a *Attacher) attachOthers(ctx context.Context, p *Process) {
	for _, other := range slices.Clone(a.processes) {
		if other != p && other.plan != nil && other.Target.Alive() {
			err := a.Attach(ctx, other, other.plan)
			other.incomplete = err != nil
			if !errors.Is(err, loader.ErrProcessGone) {
				a.reporter.Warn(err)
			}
		}
	}
}

// attachApart probes the file of a site for each process alone, because attaching to it for all of them has failed. The
// links of single processes were closed for that.
func (a *Attacher) attachApart(ctx context.Context, p *Process, site probes.Site, plan *probes.Plan, failed error) error {
	a.reporter.Warn(fmt.Errorf("%s is probed for each process alone from now on: %w: %w", site.Library, errNotShared, failed))
	a.unshare(site.File, errNotShared)
	a.sharing.apart[site.File] = errNotShared
	a.attachOthers(ctx, p)
	return a.attachPlan(ctx, p, plan)
}

// WarnOfApart says how many files are probed for single processes, and why.
func (a *Attacher) WarnOfApart() {
	for _, kind := range []error{target.ErrUntrusted, errOtherDistro, errUnknownDistro, errContested, errNotShared} {
		count := 0
		for _, why := range a.sharing.apart {
			if errors.Is(why, kind) {
				count++
			}
		}
		if count > 0 {
			a.reporter.Warn(fmt.Errorf("files that were probed for each process alone: %d, because %w", count, kind))
		}
	}
}
