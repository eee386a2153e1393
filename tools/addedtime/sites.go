package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/tools/tracers"
)

// plans are the sites that recordings of a process probe while it runs.
type plans struct {
	// minimal and standard are those of the profiles, entries those at the first instructions of functions.
	minimal, standard, entries []probes.Site
	// certain says that all callers of tracepoints are known: functions whose callers are probed are then not probed
	// themselves, but for the first seconds.
	certain bool
	// leaves says that a recording has sites in its first seconds that are not among these: the program has no
	// intra-process communication.
	leaves bool
}

// planSites plans as a recording of one process does.
func planSites(pid int32) (*plans, error) {
	process, err := target.NewFinder().Open(context.Background(), pid)
	if err != nil {
		return nil, err
	}
	defer process.Close()
	result, cache := &plans{certain: true}, probes.NewCache()
	for _, kind := range []struct {
		into    *[]probes.Site
		options probes.Options
	}{
		{&result.minimal, probes.Options{Profile: probes.ProfileMinimal, Callers: true}},
		{&result.standard, probes.Options{Profile: probes.ProfileStandard, Callers: true}},
		{&result.entries, probes.Options{Choice: probes.ChooseEntries}},
	} {
		kind.options.Expected, kind.options.Cache = true, cache
		plan, err := probes.NewPlan(context.Background(), process, kind.options)
		if err != nil {
			return nil, fmt.Errorf("plan the probes of process %d: %w", pid, err)
		}
		certain := len(plan.Uncertain) == 0
		result.certain = result.certain && certain
		result.leaves = result.leaves || slices.ContainsFunc(plan.Sites, probes.Site.OnlyIntraProcess)
		*kind.into = slices.DeleteFunc(plan.Sites, func(s probes.Site) bool {
			return s.Event.IsInit() || s.Armed || s.OnlyIntraProcess() || s.Role == abi.RoleBody && certain
		})
	}
	return result, nil
}

// ofRecord keeps the sites of events that make the record.
func ofRecord(sites []probes.Site) []probes.Site {
	return slices.DeleteFunc(slices.Clone(sites), func(s probes.Site) bool { return !slices.Contains(tracers.Recorded(), s.Event) })
}
