package session

import (
	"errors"
	"fmt"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestSessionListsSoMuch: however many processes come and go, session.json stays of a size that can be read again, and
// it takes time in proportion.
func TestSessionListsSoMuch(t *testing.T) {
	const processes = 100_000
	j := newJournal(Observer{})
	for i := range int32(processes) {
		row := trace.Process{ProcessKey: trace.ProcessKey{PID: i, ProcessStart: int64(i)}, Command: "named", Executable: "/usr/bin/named"}
		j.noteTarget(row)
		row.Distro = "jazzy"
		j.noteTarget(row)
		j.noteMissing(i, []probes.Missing{
			{Event: abi.EventCallbackStart, Reason: "as others"},
			{Event: abi.EventCallbackEnd, Reason: fmt.Sprint("of its own: ", i)},
		})
		j.noteUnstamped(i, "a/msg/A", fmt.Errorf("PID %d: a/msg/A: none", i))
		j.noteUnstamped(i, fmt.Sprint("a/msg/A", i), errors.New("none"))
		j.noteSites(i, []probes.Site{{Event: abi.EventCallbackStart, Library: "librclcpp.so"}})
	}
	j.report.Plan.Missing = j.missing.missingEvents()
	targets, sites, missing := j.report.Targets, j.report.Plan.Sites, j.report.Plan.Missing
	if len(targets) != listedTargets || targets[listedTargets-1].Distro != "jazzy" || len(sites) != listedSites || len(missing) != listedLacks ||
		len(missing[0].PIDs) != listedPIDs {
		t.Errorf("%d targets, %d sites, %d missing events, %d PIDs", len(targets), len(sites), len(missing), len(missing[0].PIDs))
	}
	j.report.Unstamped = j.unstamped.unstampedTypes()
	if types := j.report.Unstamped; len(types) != listedLacks || types[0].Reason != "none" || len(types[0].PIDs) != listedPIDs ||
		j.unstamped.unlisted != 2*processes-listedPIDs-(listedLacks-1) {
		t.Errorf("%d types, the first %+v, %d unlisted", len(types), types[0], j.unstamped.unlisted)
	}
	text, err := trace.EncodeSession(j.report)
	if err != nil || len(text) > 16<<20 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if j.listed.targetsLeftOut < processes-listedTargets || j.listed.sitesLeftOut != processes-listedSites ||
		j.missing.unlisted != 2*processes-listedPIDs-(listedLacks-1) {
		t.Errorf("%+v, %d", j.listed, j.missing.unlisted)
	}
}
