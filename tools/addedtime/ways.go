package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/tools/busy"
	"github.com/caret-bpf/caret-bpf/tools/tracers"
)

// way is one way to trace a program.
type way struct {
	name string
	// sites are those that are hit, nil if they are not uprobes.
	sites func(*plans) []probes.Site
	begin begin
}

// begin begins to trace a program.
type begin func(ctx context.Context, p *busy.Program, plans *plans) (end, error)

// end ends what begin began, and says how many hits of it got lost.
type end func() (lost uint64, err error)

// Names of the ways that ratios are made of.
const (
	nameFloor    = "empty program, sites of the record"
	nameStandard = "caret-bpf, standard"
	nameEntries  = "caret-bpf, standard, --sites entries"
	nameBpftrace = "bpftrace, function entries"
	nameLTTng    = "LTTng"
)

// ways are all that the system can be traced in.
func ways(s busy.System, hasDaemon bool) []way {
	minimal := func(p *plans) []probes.Site { return p.minimal }
	standard := func(p *plans) []probes.Site { return p.standard }
	entries := func(p *plans) []probes.Site { return p.entries }
	floor := func(p *plans) []probes.Site { return ofRecord(p.standard) }
	all := []way{
		{nameFloor, floor, empty(floor)},
		{"empty program, sites of minimal", minimal, empty(minimal)},
		{"empty program, sites of standard", standard, empty(standard)},
		{"caret-bpf, minimal", minimal, recording(session.Configuration{Profile: probes.ProfileMinimal})},
		{nameStandard, standard, recording(session.Configuration{Profile: probes.ProfileStandard})},
		{"caret-bpf, standard, --all", standard, recordingAll},
		{"caret-bpf, full", standard, recording(session.Configuration{Profile: probes.ProfileFull})},
		{nameEntries, entries, recording(session.Configuration{Sites: attaching.SitesEntries})},
		{nameBpftrace, func(p *plans) []probes.Site { return tracers.Printed(p.entries) }, bpftrace},
	}
	if hasDaemon && s.HasLTTng() {
		all = append(all, way{name: nameLTTng, begin: lttng})
	}
	return all
}

func empty(sites func(*plans) []probes.Site) begin {
	return func(_ context.Context, p *busy.Program, plans *plans) (end, error) {
		e, err := attachEmpty(p.PID(), sites(plans))
		if err != nil {
			return nil, err
		}
		return func() (uint64, error) { return 0, e.close() }, nil
	}
}

// ringBytes is so large that a recording loses nothing while a thread does nothing but execute callbacks: what is lost
// costs less.
const ringBytes = 256 << 20

// withoutIntraProcess is what the recorder says when it leaves what only intra-process communication needs.
const withoutIntraProcess = "there is no intra-process communication"

// withoutOccasional is how the recorder begins to say that all processes do without some probes.
const withoutOccasional = "all processes: "

// bodiesLinger is how much longer bodies of young processes may be probed.
const bodiesLinger = 2 * time.Second

// recordingAll records every process, once it has settled.
func recordingAll(ctx context.Context, p *busy.Program, _ *plans) (end, error) {
	end, err := record(ctx, session.Configuration{All: true, Output: filepath.Join(p.Scratch, "recording"), BufferBytes: ringBytes}, withoutOccasional)
	time.Sleep(bodiesLinger)
	return end, err
}

// recording records as the command does once it has settled: functions that are probed beside their callers in the
// first seconds are not.
func recording(configuration session.Configuration) begin {
	return func(ctx context.Context, p *busy.Program, plans *plans) (end, error) {
		configuration := configuration
		configuration.PIDs = fmt.Sprint(p.PID())
		configuration.Output = filepath.Join(p.Scratch, "recording")
		configuration.BufferBytes = ringBytes
		if configuration.Sites == attaching.SitesAuto {
			configuration.Sites = attaching.SitesBoth
			if plans.certain {
				configuration.Sites = attaching.SitesCallers
			}
		}
		settles := ""
		if plans.leaves && configuration.Profile != probes.ProfileMinimal {
			settles = withoutIntraProcess
		}
		return record(ctx, configuration, settles)
	}
}
