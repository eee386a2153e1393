package loader

import (
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// AttachedSite is a site that is attached: for one process or, if Process is 0, for every one.
type AttachedSite struct {
	probes.Site
	Process int32
}

// Attached are the sites that are attached now, each once for whom it is.
func (l *Loader) Attached() (all []AttachedSite) {
	type key struct {
		siteKey
		event   abi.Event
		process int32
	}
	seen := map[key]bool{} // several attachments may hold one that is for every process
	l.attachMutex.Lock()
	defer l.attachMutex.Unlock()
	for a := range l.attachments {
		for _, site := range a.placed {
			k := key{site.key(), site.Event, a.process}
			if !seen[k] {
				seen[k] = true
				all = append(all, AttachedSite{site.Site, a.process})
			}
		}
	}
	return all
}
