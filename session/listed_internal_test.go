package session

import (
	"errors"
	"fmt"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestSessionListsSoMuch: however many processes come and go, session.json stays of a size that can be read again, and
// it takes time in proportion.
func TestSessionListsSoMuch(t *testing.T) {
	const processes = 100_000
	session := &Session{report: trace.NewSession(), warnings: warnings{}}
	session.options.Observer.Message = func(string) {}
	for i := range int32(processes) {
		row := trace.Process{ProcessKey: trace.ProcessKey{PID: i, ProcessStart: int64(i)}, Command: "named", Executable: "/usr/bin/named"}
		session.listed.target(session.report, row)
		row.Distro = "jazzy"
		session.listed.target(session.report, row)
		session.missing.replaceMissing(i, []probes.Missing{
			{Event: abi.EventCallbackStart, Reason: "as others"},
			{Event: abi.EventCallbackEnd, Reason: fmt.Sprint("of its own: ", i)},
		})
		session.noteUnstamped(headerQuestion{row.ProcessKey, entities.KnownType{MessageType: "a/msg/A"}}, fmt.Errorf("PID %d: a/msg/A: none", i))
		session.noteUnstamped(headerQuestion{row.ProcessKey, entities.KnownType{MessageType: fmt.Sprint("a/msg/A", i)}}, errors.New("none"))
		attachReport{session}.Attached(i, []probes.Site{{Event: abi.EventCallbackStart, Library: "librclcpp.so"}})
	}
	session.report.Plan.Missing = session.missing.missingEvents()
	targets, sites, missing := session.report.Targets, session.report.Plan.Sites, session.report.Plan.Missing
	if len(targets) != listedTargets || targets[listedTargets-1].Distro != "jazzy" || len(sites) != listedSites || len(missing) != listedLacks ||
		len(missing[0].PIDs) != listedPIDs {
		t.Errorf("%d targets, %d sites, %d missing events, %d PIDs", len(targets), len(sites), len(missing), len(missing[0].PIDs))
	}
	session.report.Unstamped = session.unstamped.unstampedTypes()
	if types := session.report.Unstamped; len(types) != listedLacks || types[0].Reason != "none" || len(types[0].PIDs) != listedPIDs ||
		session.unstamped.unlisted != 2*processes-listedPIDs-(listedLacks-1) {
		t.Errorf("%d types, the first %+v, %d unlisted", len(types), types[0], session.unstamped.unlisted)
	}
	text, err := trace.EncodeSession(session.report)
	if err != nil || len(text) > 16<<20 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if session.listed.targetsLeftOut < processes-listedTargets || session.listed.sitesLeftOut != processes-listedSites ||
		session.missing.unlisted != 2*processes-listedPIDs-(listedLacks-1) {
		t.Errorf("%+v, %d", session.listed, session.missing.unlisted)
	}
}
