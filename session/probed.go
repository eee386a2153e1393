package session

import (
	"cmp"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Probe is a site that is probed now.
type Probe struct {
	trace.Site
	// Cost is what a hit is expected to take from the thread, the recorder's program included.
	Cost time.Duration
}

// Probes are the sites that are probed now, by event, file and offset. One that is probed in several processes, in each
// alone, is there once, with all of them.
func (h *Handle) Probes() []Probe { return gather(h.session.loader.Attached()) }

func gather(attached []loader.AttachedSite) (all []Probe) {
	slices.SortFunc(attached, func(a, b loader.AttachedSite) int {
		return cmp.Or(cmp.Compare(a.Event, b.Event), cmp.Compare(a.Library, b.Library), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Process, b.Process))
	})
	type key struct {
		file   target.FileID
		offset uint64
		event  abi.Event
		role   abi.Role
		cost   time.Duration
		shared bool
	}
	places := map[key]int{}
	for _, site := range attached {
		k := key{site.File, site.Offset, site.Event, site.Role, site.Cost, site.Process == 0}
		at, known := places[k]
		if !known {
			at = len(all)
			places[k] = at
			all = append(all, Probe{describeSite(site.Site), site.Cost})
		}
		if site.Process != 0 {
			all[at].PIDs = append(all[at].PIDs, int(site.Process))
		}
	}
	return all
}
