package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// sharing says which files have links for every process, where processes are recorded that do not exist yet. All others are probed for each
// process alone. Only the session's own goroutine uses it.
type sharing struct {
	// users are trusted beside root.
	users []uint32
	// planned are the files with shared links, and the distribution that they were planned for: what is a site of them depends on nothing else.
	planned map[target.FileID]target.Distro
	// contested are files that processes of several distributions map. Nothing tells whose they are.
	contested map[target.FileID]bool
	// apart are the files that were probed for single processes, and why.
	apart map[target.FileID]error
}

func newSharing(options Options) sharing {
	return sharing{
		users:   append([]uint32{uint32(os.Geteuid())}, options.Trusted...),
		planned: map[target.FileID]target.Distro{}, contested: map[target.FileID]bool{}, apart: map[target.FileID]error{},
	}
}

// siteGroup are sites that are attached together, for a process or, if it is 0, for every one.
type siteGroup struct {
	process  int32
	attached map[siteKey]bool
	// file is the one that they are in; that of sites of single processes in a recording of such.
	file  target.FileID
	sites []probes.Site
}

var (
	errOtherDistro   = errors.New("it is of another distribution than the process that maps it")
	errUnknownDistro = errors.New("the distribution of the process that maps it is not known")
	errContested     = errors.New("processes of several distributions map it")
)

// groupSites sorts out which of a process's sites are attached, and for whom.
func (s *Session) groupSites(ctx context.Context, entry *process, planned []probes.Site) []siteGroup {
	if !s.configuration.systemWide() {
		return s.unattached(siteGroup{process: entry.row.PID, attached: entry.attached, sites: planned})
	}
	var order []target.FileID
	byFile := map[target.FileID][]probes.Site{}
	sortForAttaching(planned)
	for _, site := range planned {
		if byFile[site.File] == nil {
			order = append(order, site.File)
		}
		byFile[site.File] = append(byFile[site.File], site)
	}
	s.contest(ctx, entry)
	var groups []siteGroup
	for _, file := range order {
		group := siteGroup{process: entry.row.PID, attached: entry.attached, file: file, sites: byFile[file]}
		_, known := s.sharing.planned[file]
		// The C++ runtime is mapped by most programs: a link for all of them would slow down those that are not recorded.
		if !known && group.sites[0].Event != probes.EventExceptionCaught {
			err := s.shareable(ctx, entry, file, group.sites[0].Opened)
			if err == nil {
				s.share(entry, file)
				known = true
			} else {
				s.tellApart(entry, group.sites[0], err)
			}
		}
		if known {
			if s.sharing.planned[file] != entry.target.Distro {
				continue // it is hit as its own processes have planned it
			}
			group.process, group.attached = 0, s.attached
			for i := range group.sites {
				group.sites[i] = shareable(group.sites[i])
			}
		}
		groups = append(groups, s.unattached(group)...)
	}
	return groups
}

// unattached is the group without what is attached, none if that is all.
func (s *Session) unattached(group siteGroup) []siteGroup {
	group.sites = slices.DeleteFunc(group.sites, func(site probes.Site) bool { return group.attached[keyOf(site)] })
	if len(group.sites) == 0 {
		return nil
	}
	return []siteGroup{group}
}

// shareable returns why a file may not be probed for every process by the plan of one, nil if it may.
func (s *Session) shareable(ctx context.Context, entry *process, file target.FileID, opened *target.OpenFile) error {
	if s.sharing.contested[file] {
		return errContested
	}
	if err := entry.target.CheckTrusted(opened, s.sharing.users); err != nil {
		return err
	}
	if entry.target.Distro == target.DistroUnknown {
		return errUnknownDistro
	}
	if says := entry.target.Contradiction(ctx, opened); says != "" {
		return fmt.Errorf("%w, which is of %s: %s", errOtherDistro, entry.target.Distro, says)
	}
	return nil
}

// share notes that a file is probed for every process from now on. What processes have probed of it for themselves would record twice.
func (s *Session) share(by *process, file target.FileID) {
	s.sharing.planned[file] = by.target.Distro
	for _, entry := range s.entries() {
		entry.attachments = s.detachFile(file, entry.attachments)
		maps.DeleteFunc(entry.attached, func(key siteKey, _ bool) bool { return key.file == file })
	}
}

// contest ends the sharing of files that a process maps and that were planned for another distribution, though what they say fits this one as
// well: each process is probed by its own plan then.
func (s *Session) contest(ctx context.Context, entry *process) {
	var contested []target.FileID
	for _, module := range entry.target.Modules {
		planned, shared := s.sharing.planned[module.File]
		opened, err := module.Opened()
		if !shared || err != nil || planned == entry.target.Distro || entry.target.Distro == target.DistroUnknown ||
			entry.target.Contradiction(ctx, opened) != "" {
			continue
		}
		contested = append(contested, module.File)
		s.warn(fmt.Errorf("%w: %s was planned for %s, and PID %d, which is of %s, maps it too: it is probed for each process alone from now on",
			loader.ErrConflictingSite, module.Path, planned, entry.row.PID, entry.target.Distro))
	}
	for _, file := range contested {
		delete(s.sharing.planned, file)
		s.sharing.contested[file] = true
		s.budget.shared = s.detachFile(file, s.budget.shared)
		maps.DeleteFunc(s.attached, func(key siteKey, _ bool) bool { return key.file == file })
	}
	if len(contested) == 0 {
		return
	}
	for _, other := range s.entries() {
		if other != entry && other.target != nil && other.plan != nil && !other.ended {
			if err := s.attachPlan(ctx, other, planning{plan: other.plan}); !errors.Is(err, loader.ErrProcessGone) {
				s.warn(err)
			}
		}
	}
}

// leaveWritten detaches files from every process that were written in place, so that their sites are not what was proven. They are not probed again.
func (s *Session) leaveWritten() {
	for _, attachment := range slices.Clone(s.budget.shared) {
		if err := attachment.Verify(); err != nil {
			s.budget.shared = s.detachFile(attachment.file, s.budget.shared)
			s.warn(fmt.Errorf("a file is probed no more: %w", err))
		}
	}
}

// entries are the processes as they are now.
func (s *Session) entries() []*process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.processes), func(a, b *process) int { return cmp.Compare(a.row.PID, b.row.PID) })
}

// detachFile closes the attachments to a file and returns the others.
func (s *Session) detachFile(file target.FileID, attachments []unitAttachment) []unitAttachment {
	return slices.DeleteFunc(attachments, func(attachment unitAttachment) bool {
		if attachment.file != file {
			return false
		}
		s.warn(attachment.Close())
		return true
	})
}

// tellApart says of the first file that is not probed for every process what that means. How many they were is said in the end.
func (s *Session) tellApart(entry *process, site probes.Site, why error) {
	if s.sharing.apart[site.File] != nil {
		return
	}
	s.sharing.apart[site.File] = why
	if len(s.sharing.apart) == 1 {
		s.warn(fmt.Errorf("%s of PID %d is not probed for all processes: %w. It is probed for each process alone: what processes that begin later "+
			"do before they are noticed is not recorded, and each of them makes the hits of all dearer", site.Library, entry.row.PID, why))
	}
}

// warnOfApart says how many files were probed for single processes, and why.
func (s *Session) warnOfApart() {
	for _, kind := range []error{target.ErrUntrusted, errOtherDistro, errUnknownDistro, errContested} {
		count := 0
		for _, why := range s.sharing.apart {
			if errors.Is(why, kind) {
				count++
			}
		}
		if count > 0 {
			s.warn(fmt.Errorf("files that were probed for each process alone: %d, because %w", count, kind))
		}
	}
}
