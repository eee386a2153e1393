package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
)

// SiteMode says at which instructions events are observed.
type SiteMode string

const (
	// SitesAuto chooses the cheapest: where a function has none, its callers, and the function itself only as long as callers may appear that
	// are not probed yet.
	SitesAuto SiteMode = ""
	// SitesEntries observes every function at its first instruction.
	SitesEntries SiteMode = "entries"
	// SitesCallers observes functions without a cheap instruction at their callers only. What other callers do is not recorded.
	SitesCallers SiteMode = "callers"
	// SitesBoth observes such functions at their callers and in themselves all the time.
	SitesBoth SiteMode = "both"
)

var siteModes = []SiteMode{SitesAuto, SitesEntries, SitesCallers, SitesBoth}

// bodiesPatience is how long after the last change of a process's mappings the bodies of functions stay probed whose callers are. Programs
// load their libraries one after the other.
const bodiesPatience = 5 * time.Second

// bodies is what a process has attached of functions whose callers are probed, too.
type bodies struct {
	leavableSites
	// stay says that not all callers are certain: the bodies stay attached.
	stay bool
}

// libraryLoad is the dynamic linker's word that a process changes its libraries.
type libraryLoad struct {
	pid int32
	at  int64 // CLOCK_MONOTONIC in nanoseconds
}

// planOptions are those of every plan of the session. Where processes share their links, which of them are certain is not known
// before they run: there only functions are probed, unless the mode says otherwise.
func (s *Session) planOptions() probes.Options {
	options := probes.Options{
		Expected: true, Cache: s.cache, Costs: s.options.Costs, Profile: s.configuration.Profile, Steps: s.configuration.systemWide(),
	}
	switch s.configuration.Sites {
	case SitesEntries:
		options.Choice = probes.ChooseEntries
	case SitesAuto:
		options.Callers = !s.configuration.systemWide()
	default:
		options.Callers = true
	}
	return options
}

// separateBodies takes out the bodies that are not attached like all other sites, because they can be detached again.
func (s *Session) separateBodies(sites []probes.Site) (others, bodies []probes.Site) {
	if s.configuration.Sites == SitesBoth {
		return sites, nil
	}
	for _, site := range sites {
		if site.Role == probes.RoleBody {
			bodies = append(bodies, site)
		} else {
			others = append(others, site)
		}
	}
	if s.configuration.Sites == SitesCallers {
		bodies = nil
	}
	return others, bodies
}

// attachBodies attaches the bodies of a process whose mappings have changed: whatever it loads now can call them. uncertain says that it
// has callers that cannot be probed. attached is how many are probed that were not.
func (s *Session) attachBodies(ctx context.Context, entry *process, sites []probes.Site, uncertain bool) (attached int, err error) {
	b := &entry.bodies
	b.since = time.Now()
	b.stay = b.stay || uncertain
	if len(b.attachments) > 0 || len(sites) == 0 {
		return 0, nil
	}
	sortForAttaching(sites)
	attachments, problems, err := s.attachTo(ctx, entry, sites)
	failed := s.warnOfSites(problems)
	if err != nil {
		return 0, fmt.Errorf("attaching to PID %d: %w", entry.row.PID, err)
	}
	b.attachments, b.sites = attachments, sites
	if b.left {
		b.comeBack()
	} else {
		s.noteSites(entry.row.PID, map[siteKey]bool{}, sites, failed)
	}
	return len(sites) - len(failed), nil
}

// returnToBodies attaches the bodies of a process again that changes its libraries: the dynamic linker says so before it maps them, and once more
// before they do anything. What it loads is looked for soon.
func (s *Session) returnToBodies(ctx context.Context, load libraryLoad) {
	s.mu.Lock()
	entry := s.processes[load.pid]
	gone := entry == nil || entry.ended || entry.target == nil
	s.mu.Unlock()
	if gone {
		return
	}
	s.returnToIntraProcess(ctx, entry)
	b := &entry.bodies
	switch {
	case b.left:
		_, err := s.attachBodies(ctx, entry, b.sites, false)
		if !errors.Is(err, loader.ErrProcessGone) {
			s.warn(err)
		}
	case load.at < b.returned:
		s.warn(fmt.Errorf("PID %d (%s) has loaded a library that was not expected; if it did something at once, %v of it are not recorded",
			load.pid, entry.row.Command, time.Duration(b.returned-load.at)))
	}
	b.since = time.Now()
	if entry.looks >= youngLooks {
		entry.looks = 0 // as of a process that has just begun: libraries are mapped one after the other
		s.askToLook(load.pid)
	}
}

// judgeCallers keeps the bodies for ever when a caller could not be attached.
func (s *Session) judgeCallers(entry *process, sites []probes.Site, failed map[siteKey]error) {
	entry.bodies.stay = entry.bodies.stay || slices.ContainsFunc(sites, func(site probes.Site) bool {
		return site.Role == probes.RoleCaller && failed[keyOf(site)] != nil
	})
}

// leaveBodies detaches the bodies of a process that has not mapped anything for a while, if all callers are probed.
func (s *Session) leaveBodies(entry *process) {
	b := &entry.bodies
	if len(b.attachments) == 0 || b.stay || time.Since(b.since) < bodiesPatience {
		return
	}
	s.leaveSites(&b.leavableSites, fmt.Sprintf("PID %d (%s): all callers of tracepoints are probed, their bodies no longer", entry.row.PID, entry.row.Command))
}

// warnOfLateCallers says which files were mapped while bodies were not probed: their first calls are not recorded. Files that were expected
// were armed before.
func (s *Session) warnOfLateCallers(entry *process, sites []probes.Site) {
	if !entry.bodies.left {
		return
	}
	warned := map[string]bool{}
	for _, site := range sites {
		if site.Role == probes.RoleCaller && !site.Armed && !warned[site.Library] {
			warned[site.Library] = true
			s.warn(fmt.Errorf("PID %d has mapped %s, which was not expected: what it did before the recorder noticed, within about %v, is not recorded",
				entry.row.PID, site.Library, tickInterval))
		}
	}
}
