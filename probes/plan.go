package probes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/target"
)

// ErrRequiredMissing says that a plan lacks an event without which a recording says nothing.
var ErrRequiredMissing = errors.New("a required event cannot be observed")

// Plan says where the events of a process are observed, and which are not.
type Plan struct {
	Process target.Identity `json:"process"`
	Distro  target.Distro   `json:"distro"`
	// RMW is the RMW implementation, "" while it is not known.
	RMW     string    `json:"rmw"`
	Sites   []Site    `json:"sites"`
	Missing []Missing `json:"missing"`

	shadowStack bool
	results     map[sourceKey][]result
}

// Missing is an event that the process does not show.
type Missing struct {
	Event       Event  `json:"event"`
	Reason      string `json:"reason"`
	Consequence string `json:"consequence"`
	Required    bool   `json:"required,omitempty"`
}

// Options change what a plan contains.
type Options struct {
	// Expected also arms the libraries that the process is expected to map later.
	Expected bool
}

// NewPlan plans the sites of a process. When a required event is missing the error wraps ErrRequiredMissing, and the plan is
// returned nevertheless.
func NewPlan(process *target.Process, options Options) (*Plan, error) {
	files := mappedFiles(process.Modules)
	if options.Expected {
		expected, err := process.Expected()
		if err != nil {
			return nil, fmt.Errorf("find the libraries that process %d will map: %w", process.PID, err)
		}
		files = append(files, expectedFiles(expected)...)
	}
	return newPlan(process, files)
}

// newPlan plans the sites in files. Of files that are one and the same, the first counts.
func newPlan(process *target.Process, files []file) (*Plan, error) {
	status, err := process.Status()
	if err != nil {
		return nil, fmt.Errorf("read the status of process %d: %w", process.PID, err)
	}
	plan := &Plan{
		Process: process.Identity, Distro: process.Distro, RMW: process.RMW,
		shadowStack: status.ShadowStack, results: make(map[sourceKey][]result),
	}
	searched := make(map[target.FileID]bool)
	for _, f := range files {
		if !searched[f.id] {
			searched[f.id] = true
			plan.search(f)
		}
	}
	plan.assemble()
	return plan, plan.requirements()
}

// assemble chooses among what was found.
func (p *Plan) assemble() {
	for _, entry := range catalogue {
		sites, reason := p.choose(entry)
		p.Sites = append(p.Sites, sites...)
		if reason != "" && !p.observes(entry.Event) {
			p.Missing = append(p.Missing, Missing{
				Event: entry.Event, Reason: reason, Consequence: entry.Consequence, Required: entry.Required,
			})
		}
	}
	last := p.lastLayer()
	for i := range p.Sites {
		p.Sites[i].LastLayer = p.Sites[i].Event == last
	}
}

// choose returns the sites of an event, or the reason why there are none. An event whose fields another event carries has
// neither.
func (p *Plan) choose(entry Entry) (sites []Site, reason string) {
	sources := entry.sources(p.Distro)
	if len(sources) == 0 {
		return nil, entry.absence(p.Distro)
	}
	var reasons []string
	for _, source := range sources {
		switch {
		case source.CarriedBy != 0:
			if p.observes(source.CarriedBy) {
				return nil, ""
			}
			reasons = append(reasons, fmt.Sprintf("%s, which carries it, is missing", source.CarriedBy))
			continue
		case !p.serves(source):
			continue
		}
		results := p.results[sourceKey{entry.Event, source.name()}]
		for _, result := range results {
			if result.err != nil {
				reasons = append(reasons, result.err.Error())
				continue
			}
			sites = append(sites, result.site)
		}
		if len(results) == 0 {
			reasons = append(reasons, fmt.Sprintf("the process has not mapped %s", source.Library))
		}
		if len(sites) > 0 && source.RMW == "" {
			break // of sources that exclude each other the first is used
		}
	}
	switch {
	case len(sites) > 0:
		return sites, ""
	case len(reasons) == 0:
		return nil, fmt.Sprintf("no source is known for %s on %s", p.RMW, p.Distro)
	}
	return nil, strings.Join(reasons, "; ")
}

// observes reports whether the plan has a site of the event.
func (p *Plan) observes(event Event) bool {
	return slices.ContainsFunc(p.Sites, func(s Site) bool { return s.Event == event })
}

// lastLayer returns the event that ends every publish, 0 if that is not known because the process has yet to load the library that
// gives the source timestamp, or because its distribution is unknown; then a publish ends with the next one.
func (p *Plan) lastLayer() Event {
	if p.Distro == target.DistroUnknown {
		return 0
	}
	layers := []Event{EventDDSBindAddrToStamp, EventRMWPublish, EventRclPublish, EventRclcppPublish}
	if p.stampToCome() {
		layers = layers[:1]
	}
	for _, layer := range layers {
		if p.observes(layer) {
			return layer
		}
	}
	return 0
}

// stampToCome reports whether dds_bind_addr_to_stamp has a source in a library that was not seen yet.
func (p *Plan) stampToCome() bool {
	stamp, _ := Lookup(EventDDSBindAddrToStamp)
	return slices.ContainsFunc(stamp.sources(p.Distro), func(s Source) bool {
		return s.CarriedBy == 0 && p.serves(s) && len(p.results[sourceKey{stamp.Event, s.name()}]) == 0
	})
}

// serves reports whether a source fits the process's RMW implementation, as far as that is known.
func (p *Plan) serves(source Source) bool {
	return source.RMW == "" || p.RMW == "" || strings.HasPrefix(p.RMW, source.RMW)
}

// requirements returns an error if a required event is missing.
func (p *Plan) requirements() error {
	var problems []error
	for _, missing := range p.Missing {
		if missing.Required {
			problems = append(problems, fmt.Errorf("%w: %s: %s", ErrRequiredMissing, missing.Event, missing.Reason))
		}
	}
	return errors.Join(problems...)
}
