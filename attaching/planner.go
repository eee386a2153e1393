package attaching

import (
	"context"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// Options say what is attached.
type Options struct {
	// Shared says that sites are attached for every process, where that is allowed, and the kernel side chooses.
	Shared bool
	// ToCome says that processes are recorded that do not exist yet.
	ToCome bool
	// ShadowStacks says that processes of this machine may have shadow stacks, with which calls may not be probed. Who has
	// one is known of a process that runs, not of those to come.
	ShadowStacks bool
	// Sites says at which instructions events are observed.
	Sites SiteMode
	// Profile trades what is recorded for what it costs.
	Profile probes.Profile
	// Driven says that the budget and the profile may be changed while recording.
	Driven bool
	// MaxOverhead is the share of a thread's time that the recording may cost; 0 means no limit.
	MaxOverhead float64
	// Costs are what hits of sites cost on this machine; nil means the built-in defaults.
	Costs *probes.Costs
	// Trusted are users who, like root and the recorder's own, may have written files that are probed for every process.
	Trusted []uint32
}

// Planner plans the sites of processes. It keeps what it has learned of files, and may be used by several goroutines.
type Planner struct {
	options probes.Options
}

// NewPlanner makes a planner. Where processes share their links, and may have shadow stacks, only functions are probed
// unless the mode says otherwise.
func NewPlanner(o Options) *Planner {
	options := probes.Options{Expected: true, Cache: probes.NewCache(), Costs: o.Costs, Profile: o.Profile, Steps: o.ToCome}
	switch o.Sites {
	case SitesEntries:
		options.Choice = probes.ChooseEntries
	case SitesAuto:
		options.Callers = !o.Shared || !o.ShadowStacks
	default:
		options.Callers = true
	}
	return &Planner{options}
}

// Plan plans the sites of a process. The errors are those of probes.NewPlan.
func (p *Planner) Plan(ctx context.Context, process *target.Process) (*probes.Plan, error) {
	return probes.NewPlan(ctx, process, p.options)
}
