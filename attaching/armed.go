package attaching

import (
	"cmp"
	"maps"
	"slices"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// Armed are events of a file that are recorded of a process from an instant on. What the file raises before, once the
// process has mapped it, is not.
type Armed struct {
	File target.FileID
	// Path is where the process has the file.
	Path string
	// Events are in ascending order.
	Events []abi.Event
	// Since is when the file was last recorded before, 0 if never. Both are CLOCK_MONOTONIC in nanoseconds; At is Never
	// for what is not recorded any more.
	Since, At int64
}

// Never is the instant at which what could not be attached is armed.
const Never = int64(1<<63 - 1)

// counted are the sites without which rows are missing. Functions whose callers are probed are seen there. Of an
// exception that is not seen, only the end of its callback is late, the executor's step only tells of exceptions, and
// what the linker tells debuggers only says when to look.
func (m SiteMode) counted(sites []probes.Site) []probes.Site {
	others, _ := m.separateBodies(sites)
	return slices.DeleteFunc(slices.Clone(others), func(site probes.Site) bool {
		return site.Event == abi.EventExceptionCaught || site.Event == abi.EventLibraryLoad ||
			site.Event == abi.EventExecutorExecute && !site.ShowsIntraProcess()
	})
}

// anywhere is the offset of calls of which it is not known where in a file they are.
const anywhere = ^uint64(0)

// counted are the sites of a process's plan without which rows are missing, and what stands for calls of their
// functions that cannot be probed: these are seen in the functions only.
func (a *Attacher) counted(p *Process) []probes.Site {
	sites := a.options.Sites.counted(p.plan.Sites)
	_, bodies := a.options.Sites.separateBodies(p.plan.Sites)
	for _, uncertain := range p.plan.Uncertain {
		for _, call := range bodies {
			if call.Event == uncertain.Event {
				call.Role, call.File, call.Library, call.Offset = abi.RoleCaller, uncertain.File, uncertain.Library, anywhere
				sites = append(sites, call)
			}
		}
	}
	return sites
}

// tellArmed tells what of a process's plan is recorded and was not told yet.
func (a *Attacher) tellArmed(p *Process) {
	sites := a.counted(p)
	a.tellReinstated(p, sites)
	fresh := a.armed(p, sites, func(site probes.Site) bool { return !p.told[keyOf(site)] && a.armedAt(p, site) != Never })
	for _, armed := range fresh {
		for _, site := range sites {
			if site.File == armed.File && a.armedAt(p, site) != Never {
				p.told[keyOf(site)] = true
			}
		}
	}
	if len(fresh) == 0 {
		return
	}
	for _, armed := range fresh {
		delete(p.lostSince, armed.File)
	}
	showing := a.showingIntraProcess(p)
	p.toldIntra = p.toldIntra || len(showing) > 0 && p.told[keyOf(showing[0])] && a.entities.HasIntraProcess(p)
	a.reporter.Armed(p, fresh)
}

// pathOf is where the process has the file of a site, the library's name if it has not mapped it.
func (p *Process) pathOf(site probes.Site) string {
	for _, module := range p.Target.Modules {
		if module.File == site.File {
			return module.Path
		}
	}
	return site.Library
}

// Unarmed is what is planned for a process and was never attached to it.
func (a *Attacher) Unarmed(p *Process) []Armed {
	if p.plan == nil {
		return nil
	}
	return a.armed(p, a.counted(p), func(site probes.Site) bool { return a.armedAt(p, site) == Never })
}

// armed gathers chosen sites by file. The events of one have the latest instant of their sites.
func (a *Attacher) armed(p *Process, sites []probes.Site, chosen func(probes.Site) bool) []Armed {
	type group struct {
		at     int64
		events map[abi.Event]bool
		path   string
	}
	groups := map[target.FileID]*group{}
	for _, site := range sites {
		if !chosen(site) {
			continue
		}
		g := groups[site.File]
		if g == nil {
			g = &group{events: map[abi.Event]bool{}, path: p.pathOf(site)}
			groups[site.File] = g
		}
		g.at = max(g.at, a.armedAt(p, site))
		g.events[site.Event] = true
	}
	var all []Armed
	for file, g := range groups {
		all = append(all, Armed{file, g.path, slices.Sorted(maps.Keys(g.events)), p.lostSince[file], g.at})
	}
	slices.SortFunc(all, func(a, b Armed) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Path, b.Path)) })
	return all
}

// armedAt is since when a site's event is recorded of a process. What a caller does is seen in the function that it
// calls, too, as long as that is probed.
func (a *Attacher) armedAt(p *Process, site probes.Site) int64 {
	at := Never
	for _, known := range []attachedSites{p.attached, a.attached} {
		if state := known[keyOf(site)]; state.at != 0 {
			at = min(at, state.at)
		}
	}
	if own := a.alone[p]; own != nil && own.isAttached(site) {
		at = min(at, own.attached[keyOf(site)].at)
	}
	if isCaller(site) && len(p.bodies.attachments) > 0 && p.bodies.probes(site.Event) {
		at = min(at, p.bodies.armed)
	}
	if isCaller(site) {
		at = min(at, a.bodySince(p, site.Event))
	}
	if a.options.isOccasional(site) && site.ShowsIntraProcess() {
		at = min(at, a.intraProcessArmedAt(p))
	}
	return at
}

// lose notes that links of a file, by which something was recorded of a process, are closed, and since when nothing is
// recorded by them: an instant of CLOCK_MONOTONIC in nanoseconds.
func (p *Process) lose(file target.FileID, since int64) {
	for key := range p.told {
		if key.file == file || key.offset == anywhere && p.bodyOf[key.event].file == file {
			delete(p.told, key)
			p.lostSince[key.file] = max(since, p.begun)
		}
	}
}

// lose does so for links for every process.
func (a *Attacher) lose(file target.FileID, since int64) {
	for _, p := range a.processes {
		p.lose(file, since)
	}
}
