package main

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestASessionByCtl drives a recording by nothing but ctl, by each of its commands: the datasets agree with the calls,
// to the row.
func TestASessionByCtl(t *testing.T) {
	requireRecording(t)
	start := func() *standin.Process {
		return standin.StartReady(t, standin.Config{
			Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: strings.Fields("--nodes 2 --topics 2 --rate 100 --threads 2"),
		})
	}
	leaves, comes := start(), start()
	folder := t.TempDir()
	dir, copied, moved := filepath.Join(folder, "rec"), filepath.Join(folder, "copied"), filepath.Join(folder, "moved")
	c := newCtl(t)
	if code, out, _ := c.run(t.Context(), "ctl", "list"); code != exitSuccess || !strings.Contains(out, "no recording") {
		t.Errorf("before: exit code %d: %s", code, out)
	}
	done := c.record("-p", strconv.Itoa(leaves.PID()), "-o", dir, "--deferred-start",
		"--trigger", "manual name=hand before=1h after=0s do=snapshot,run:/none/such")
	armed := c.waitFor("armed", func(s control.Status) bool { return s.State == string(trace.StateArmed) })
	if armed.BeganNs != 0 || armed.Rows[trace.TableCallback] != 0 {
		t.Errorf("before the start: %+v", armed)
	}
	if code, out, _ := c.run(t.Context(), "ctl", "list"); code != exitSuccess || !strings.HasPrefix(out, c.sockets) || !strings.Contains(out, "armed") || !strings.Contains(out, dir) {
		t.Errorf("list: exit code %d: %s", code, out)
	}
	more := func() {
		t.Helper()
		rows := c.waitFor("a status", func(control.Status) bool { return true }).Rows[trace.TableCallback]
		c.waitFor("more rows", func(s control.Status) bool { return s.Rows[trace.TableCallback] >= rows+100 })
	}

	var status control.Status
	_, started := c.ask(&status, "start")
	if status.State != string(trace.StateRecording) || status.BeganNs == 0 {
		t.Errorf("after the start: %+v", status)
	}
	more()
	var probed control.Probes
	c.ask(&probed, "probes")
	var settings control.Settings
	if c.ask(&settings, "settings"); settings.Profile != "standard" || len(settings.IgnoreNodes) != 0 {
		t.Errorf("the settings are %+v", settings)
	}
	filtering, filtered := c.ask(&settings, "set", "--ignore-node", "standin0$")
	if !slices.Equal(settings.IgnoreNodes, []string{"standin0$"}) {
		t.Errorf("the settings are %+v", settings)
	}
	more()
	clearing, cleared := c.ask(&settings, "set", "--ignore-node", "")
	more()
	targets := func(arguments ...string) (pids []int, before, after uint64) {
		t.Helper()
		var all control.Targets
		before, after = c.ask(&all, arguments...)
		for _, target := range all.Targets {
			pids = append(pids, int(target.PID))
		}
		return pids, before, after
	}
	if pids, _, _ := targets("targets"); !slices.Equal(pids, []int{leaves.PID()}) {
		t.Errorf("recorded are %v", pids)
	}
	var sources control.Sources
	c.ask(&sources, "sources")
	for _, node := range []*standin.Process{leaves, comes} {
		if !slices.ContainsFunc(sources.Sources, func(s control.Source) bool { return int(s.PID) == node.PID() && s.Events > 0 }) {
			t.Errorf("process %d could be recorded, and the sources are %+v", node.PID(), sources.Sources)
		}
		if code, out, _ := c.run(t.Context(), "ctl", "sources"); code != exitSuccess || !strings.Contains(out, strconv.Itoa(node.PID())) {
			t.Errorf("exit code %d: %d is not among %s", code, node.PID(), out)
		}
	}
	both, adding, added := targets("add", strconv.Itoa(comes.PID()))
	if len(both) != 2 {
		t.Errorf("recorded are %v", both)
	}
	more()
	var snapshot control.Snapshot
	copying, _ := c.ask(&snapshot, "snapshot", "-o", copied, "--reason", "a test")
	pids, removing, removed := targets("remove", strconv.Itoa(leaves.PID()))
	if !slices.Equal(pids, []int{comes.PID()}) {
		t.Errorf("recorded are %v", pids)
	}
	more()
	var rotated control.Snapshot
	rotating, _ := c.ask(&rotated, "rotate", "-o", moved)
	more()
	var triggers control.Triggers
	firing, _ := c.ask(&triggers, "fire", "hand", "--reason", "the driver braked")
	for deadline := time.Now().Add(time.Minute); triggers.Triggers[0].Failed == 0; time.Sleep(20 * time.Millisecond) {
		if c.ask(&triggers, "triggers"); time.Now().After(deadline) {
			t.Fatalf("the trigger is %+v", triggers)
		}
	}
	flushing, _ := c.ask(&status, "flush")
	flushed := endedBefore(t, dir, flushing)
	more()
	stopping, _ := c.ask(&status, "stop")
	done()

	data, part := oracle.ReadDataset(t, dir), oracle.ReadDataset(t, moved)
	whole := *data
	whole.Callbacks = slices.Concat(part.Callbacks, data.Callbacks)
	all := func(string) bool { return true }
	oracle.RequirePhases(t, &whole, oracle.NewTruth(t, leaves.Stop()), []oracle.Phase{
		{From: started, To: filtering}, {From: filtered, To: clearing, Drops: func(node string) bool { return strings.HasSuffix(node, "standin0") }},
		{From: cleared, To: removing}, {From: removed, To: stopping, Drops: all},
	})
	oracle.RequirePhases(t, &whole, oracle.NewTruth(t, comes.Stop()), []oracle.Phase{{From: started, To: adding, Drops: all}, {From: added, To: stopping}})
	if early := endedBefore(t, dir, rotating); early != 0 || rotated.Rows[trace.TableCallback] != uint64(len(part.Callbacks)) {
		t.Errorf("%d callbacks before the rotation are still there; of %d that were moved %v are told", early, len(part.Callbacks), rotated.Rows)
	}
	if got, want := endedBefore(t, copied, copying), endedBefore(t, moved, copying); got != want || got == 0 || snapshot.Output != copied {
		t.Errorf("the snapshot %s has %d callbacks, of %d until then", snapshot.Output, got, want)
	}
	if got := endedBefore(t, dir, flushing); flushed != got || got == 0 {
		t.Errorf("after the flush %d callbacks were on disk, in the end there are %d of that time", flushed, got)
	}
	fired := triggers.Triggers[0]
	if fired.Fired != 1 || fired.Failed != 1 || !strings.HasPrefix(fired.Output, dir+"-") || !strings.HasSuffix(fired.Output, "-hand") {
		t.Errorf("the trigger is %+v", fired)
	}
	if got, want := endedBefore(t, fired.Output, firing), endedBefore(t, dir, firing); got != want || got == 0 {
		t.Errorf("the trigger's snapshot has %d callbacks, of %d until then", got, want)
	}
	session := data.Session
	if len(session.Triggers) != 1 || session.Triggers[0].Output != fired.Output || session.Triggers[0].Failed != 1 {
		t.Errorf("session.json has %+v", session.Triggers)
	}
	var changes []string
	for _, change := range session.Changes {
		changes = append(changes, change.What)
	}
	if want := []string{"ignore-node", "ignore-node", trace.ChangeAdded, trace.ChangeRemoved, trace.ChangeRotated}; !slices.Equal(changes, want) || session.Ending != trace.EndingRequest {
		t.Errorf("session.json tells of %v, ended by %s", changes, session.Ending)
	}
	requireListed(t, probed.Probes, session)
}

// requireListed requires that session.json lists what was probed, for whom, and that callbacks are seen by it.
func requireListed(t *testing.T, probed []control.Probe, session *trace.Session) {
	t.Helper()
	events := map[string]bool{}
	for _, probe := range probed {
		events[probe.Event] = true
		if probe.CostNs <= 0 || probe.Symbol == "" {
			t.Errorf("of a probe too little is told: %+v", probe)
		}
		if !slices.ContainsFunc(session.Plan.Sites, func(site trace.Site) bool {
			return site.Event == probe.Event && site.File == probe.File && site.BuildID == probe.BuildID && site.Offset == probe.Offset &&
				site.Symbol == probe.Symbol && site.Class == probe.Class && site.Role == probe.Role && slices.Equal(site.PIDs, probe.PIDs)
		}) {
			t.Errorf("session.json does not list %+v", probe)
		}
	}
	for _, event := range []string{"callback_start", "callback_end", "rmw_take", "rmw_publish", "rcl_node_init"} {
		if !events[event] {
			t.Errorf("%s is not probed: %v", event, events)
		}
	}
}
