package attaching

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// Prepared is what came of Prepare.
type Prepared struct {
	// Attached are how many sites were attached that were not before.
	Attached int
	// Apart are the libraries that may not be probed for every process.
	Apart []string
}

// Prepare attaches, for every process, what is planned for one that stands for those to come: it will never map
// anything itself. What cannot be attached is left to those.
func (a *Attacher) Prepare(ctx context.Context, p *Process, plan *probes.Plan) (Prepared, error) {
	var done Prepared
	sites, bodies := a.options.Sites.separateBodies(plan.Sites)
	sites, occasional := a.options.separateOccasional(sites)
	groups := a.groupSites(ctx, p, sites)
	_, shared := a.separateShared(ctx, p, bodies)
	_, sharedOccasional := a.separateShared(ctx, p, occasional)
	count, err := a.attachSharedFor(ctx, p, shared, sharedOccasional, groups)
	done.Attached += count
	failed := []error{err}
	for _, group := range groups {
		if group.pid != 0 {
			if !slices.ContainsFunc(group.sites, isOfEveryProgram) {
				done.Apart = append(done.Apart, group.sites[0].Library)
			}
			continue
		}
		count, err := a.attachGroup(ctx, p, group)
		done.Attached += count
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", group.sites[0].Library, err))
			a.unshare(group.file, errNotShared)
		}
	}
	if err := errors.Join(failed...); err != nil {
		a.attachOthers(ctx, p) // what they had of their own was closed
		return done, err
	}
	a.sharing.noteExamined(plan.Examined)
	return done, nil
}

// isOfEveryProgram reports whether a site is in a file that most programs map, which is never probed for all of them.
func isOfEveryProgram(site probes.Site) bool {
	return site.Event == abi.EventExceptionCaught || site.Event == abi.EventLibraryLoad
}
