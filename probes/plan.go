package probes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/target"
)

// ErrRequiredMissing says that a plan lacks an event without which a recording says nothing.
var ErrRequiredMissing = errors.New("a required event cannot be observed")

// Plan says where the events of a process are observed, and which are not.
type Plan struct {
	Process target.Identity `json:"process"`
	Distro  distros.Distro  `json:"distro"`
	// RMW is the RMW implementation, "" while it is not known.
	RMW     string    `json:"rmw"`
	Sites   []Site    `json:"sites"`
	Missing []Missing `json:"missing"`
	// Uncertain are the reasons why functions whose callers are probed may have other callers: their bodies must stay
	// probed.
	Uncertain []UncertainCallers `json:"uncertain,omitempty"`
	// Examined are the files, mapped or expected, all of whose calls that are to be probed are among the sites.
	Examined []target.FileID `json:"-"`
	// Unread says why libraries that the process will map could not all be looked for. It wraps target.ErrNotRead, or is
	// nil.
	Unread error `json:"-"`

	options     Options
	shadowStack bool
	results     map[sourceKey][]result
}

// Missing is an event that the process does not show.
type Missing struct {
	Event       abi.Event `json:"event"`
	Reason      string    `json:"reason"`
	Consequence string    `json:"consequence"`
	Required    bool      `json:"required,omitempty"`
	// Partial says that the event is observed, but not all instances or fields of it.
	Partial bool `json:"partial,omitempty"`
}

// UncertainCallers says that a file may call an event's function in ways that cannot be probed.
type UncertainCallers struct {
	Event   abi.Event     `json:"event"`
	Library string        `json:"library"`
	Reason  string        `json:"reason"`
	File    target.FileID `json:"-"` // of the library
}

// Choice says which instructions a plan may choose.
type Choice string

const (
	// ChooseCheapest chooses instructions that the kernel emulates where there are any: in the function, or the calls of
	// it.
	ChooseCheapest Choice = "cheapest"
	// ChooseEntries chooses the first instruction of every function.
	ChooseEntries Choice = "entries"
)

// Options change what a plan contains.
type Options struct {
	// Expected also arms the libraries that the process is expected to map later.
	Expected bool
	// Choice is ChooseCheapest if it is empty.
	Choice Choice
	// Callers allows sites at calls: in functions, and where tracepoints are called that have no emulated instruction. It
	// is for links of one process: whether a call may be probed depends on the process.
	Callers bool
	// Steps keeps the executor's step where exceptions are seen being caught: for processes whose site in the C++ runtime
	// comes later than others.
	Steps bool
	// Profile is ProfileStandard if it is empty.
	Profile Profile
	// Costs are what hits of sites cost, by which sites are chosen; nil means the defaults.
	Costs *Costs
	// Cache keeps what was found in files, for later plans; nil keeps nothing.
	Cache *Cache
}

func (o Options) costs() *Costs { return cmp.Or(o.Costs, DefaultCosts()) }

// NewPlan plans the sites of a process. When a required event is missing the error wraps ErrRequiredMissing, and the
// plan is returned nevertheless. When ctx ends there is no plan, and its error is returned. The process's user pays.
func NewPlan(ctx context.Context, process *target.Process, options Options) (*Plan, error) {
	ctx = process.PaidBy(ctx)
	files := mappedFiles(process.Modules)
	var unread error
	if options.Expected {
		expected, err := process.Expected(ctx)
		if err != nil {
			err = fmt.Errorf("find the libraries that process %d will map: %w", process.PID, err)
		}
		if err != nil && !errors.Is(err, target.ErrNotRead) {
			return nil, err
		}
		unread = err
		files = append(files, expectedFiles(expected)...)
	}
	plan, err := newPlan(ctx, process, files, options)
	if plan != nil {
		plan.Unread = unread
	}
	return plan, err
}

// newPlan plans the sites in files. Of files that are one and the same, the first counts.
func newPlan(ctx context.Context, process *target.Process, files []file, options Options) (*Plan, error) {
	status, err := process.Status()
	if err != nil {
		return nil, fmt.Errorf("read the status of process %d: %w", process.PID, err)
	}
	plan := &Plan{
		Process: process.Identity, Distro: process.Distro, RMW: process.RMW,
		options: options, shadowStack: status.ShadowStack, results: make(map[sourceKey][]result),
	}
	searched := make(map[target.FileID]bool)
	var distinct []file
	alike := crowd{}
	for _, f := range files {
		if !searched[f.id] {
			searched[f.id] = true
			if !alike.admit(f) {
				continue
			}
			distinct = append(distinct, f)
			plan.search(ctx, f)
		}
	}
	plan.assemble()
	plan.Missing = append(plan.Missing, alike.missing(plan.Distro)...)
	if options.Callers && options.Choice != ChooseEntries && !plan.shadowStack {
		plan.addCallers(ctx, distinct)
	} else {
		plan.examine(distinct...)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err() // what was not looked at is not missing
	}
	return plan, plan.requirements()
}

// assemble chooses among what was found.
func (p *Plan) assemble() {
	observed := make(map[abi.Event]bool)
	for _, entry := range catalogue {
		if p.options.Profile.leavesOut(entry) {
			continue
		}
		sites, reason := p.choose(entry)
		p.Sites = append(p.Sites, sites...)
		observed[entry.Event] = len(sites) > 0 && reason == ""
		if reason != "" {
			p.Missing = append(p.Missing, Missing{
				Event: entry.Event, Reason: reason, Consequence: entry.Consequence, Required: entry.Required,
			})
			continue
		}
		p.Missing = append(p.Missing, p.incomplete(entry)...)
	}
	p.preferExceptions(observed)
	p.markOptional(observed)
	if p.options.Profile == ProfileMinimal {
		p.leaveOutOptional(observed)
	}
	last := p.lastLayer(observed)
	for i := range p.Sites {
		p.Sites[i].LastLayer = p.Sites[i].Event == last
		p.Sites[i].Optional = p.Sites[i].Optional && !p.Sites[i].LastLayer // it ends every publish
		p.Sites[i].Cost = p.options.costs().Of(p.Sites[i])
	}
}

// choose returns the sites of an event, and the reason why there are none, or only some of the sources that are used
// besides others. An event whose fields another event carries has neither. Of sources that exclude each other, the
// first in order that has a site is used.
func (p *Plan) choose(entry Entry) (sites []Site, reason string) {
	sources := entry.sources(p.Distro)
	if len(sources) == 0 {
		return nil, entry.absence(p.Distro)
	}
	var reasons, besides []string
	observed, decided := false, false
	for _, source := range sources {
		switch {
		case source.CarriedBy != 0:
			carrier, _ := Lookup(source.CarriedBy)
			if sites, _ := p.choose(carrier); len(sites) > 0 {
				return nil, ""
			}
			reasons = append(reasons, fmt.Sprintf("%s, which carries it, is missing", source.CarriedBy))
		case !p.serves(source):
		case source.Besides:
			found, why := p.found(entry.Event, source)
			sites = append(sites, found...)
			besides = append(besides, why...)
		case !decided:
			found, why := p.found(entry.Event, source)
			sites = append(sites, found...)
			reasons = append(reasons, why...)
			observed = observed || len(found) > 0
			decided = len(found) > 0 && source.RMW == ""
		}
	}
	switch {
	case !observed && len(reasons) > 0:
		return sites, strings.Join(slices.Compact(reasons), "; ")
	case len(sites) > 0:
		return sites, ""
	case len(besides) > 0:
		return nil, strings.Join(slices.Compact(besides), "; ")
	}
	return nil, fmt.Sprintf("no source is known for %s on %s", p.RMW, p.Distro)
}

// found returns what the search for a source in all files has come to.
func (p *Plan) found(event abi.Event, source Source) (sites []Site, reasons []string) {
	results := p.results[sourceKey{event, source.name()}]
	for _, result := range results {
		if result.err != nil {
			reasons = append(reasons, result.err.Error())
		}
		sites = append(sites, result.sites...)
	}
	if len(results) == 0 {
		reasons = append(reasons, fmt.Sprintf("the process has not mapped %s", source.Library))
	}
	return sites, reasons
}

// incomplete lists the sources of an observed event that are to be used besides others and have no site.
func (p *Plan) incomplete(entry Entry) []Missing {
	var missing []Missing
	for _, source := range entry.sources(p.Distro) {
		if !source.Besides || !p.serves(source) {
			continue
		}
		if sites, reasons := p.found(entry.Event, source); len(sites) == 0 {
			missing = append(missing, Missing{
				Event: entry.Event, Reason: strings.Join(reasons, "; "), Consequence: source.Consequence, Partial: true,
			})
		}
	}
	return missing
}

// lastLayer returns the event that ends every publish, 0 if that is not known because the process has yet to load the
// library that gives the source timestamp, or because its distribution is unknown; then a publish ends with the next
// one.
func (p *Plan) lastLayer(observed map[abi.Event]bool) abi.Event {
	if p.Distro == distros.Unknown {
		return 0
	}
	layers := []abi.Event{abi.EventDDSBindAddrToStamp, abi.EventRMWPublish, abi.EventRclPublish, abi.EventRclcppPublish}
	if p.stampToCome() {
		layers = layers[:1]
	}
	for _, layer := range layers {
		if observed[layer] {
			return layer
		}
	}
	return 0
}

// stampToCome reports whether dds_bind_addr_to_stamp has a source in a library that was not seen yet. Releases of one
// DDS library are several sources of one RMW implementation, of which a process maps one.
func (p *Plan) stampToCome() bool {
	stamp, _ := Lookup(abi.EventDDSBindAddrToStamp)
	seen := map[string]bool{} // by RMW implementation
	for _, s := range stamp.sources(p.Distro) {
		if s.CarriedBy == 0 && !s.Besides && p.serves(s) {
			seen[s.RMW] = seen[s.RMW] || len(p.results[sourceKey{stamp.Event, s.name()}]) > 0
		}
	}
	return slices.Contains(slices.Collect(maps.Values(seen)), false)
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
