package main

import (
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// TestWhatWasNotProbedIsShown: wherever a reader looks, it is said that files were mapped while they were not probed.
func TestWhatWasNotProbedIsShown(t *testing.T) {
	dir := relayDataset(t)
	var losses []trace.Loss
	for i := range int64(shownUnarmed + 5) {
		losses = append(losses, trace.Loss{
			Kind: trace.LostEvent, Reason: trace.LossUnarmed, FromTimestamp: 1e9, ToTimestamp: 1e9 + (i+1)*1e6,
			PID: 77, ProcessStart: 1, File: "/opt/ros/lib/librcl.so", Events: "rcl_publish,rmw_take,sim_time,rcl_node_fini,rcl_timer_fini",
		})
	}
	losses = append(losses, trace.Loss{ // whatever it has mapped
		Kind: trace.LostEvent, Reason: trace.LossUnarmed, FromTimestamp: 1e9, ToTimestamp: 1e9 + 1e6*shownUnarmed*2, PID: 78, ProcessStart: 1,
	})
	tracetest.AddSegment(t, dir, 0, losses)
	for name, test := range map[string]struct {
		command []string
		says    []string
	}{
		"the summary": {[]string{"info", dir}, []string{
			"FILE NOT PROBED", "librcl.so 25.00 ms", "rcl_publish, rmw_take, sim_time and 2 more", "and 6 more: `info --part unarmed` shows all", "78 - all 40.00 ms", "warning: 26 files were mapped",
		}},
		"all of it":            {[]string{"info", dir, "--part", "unarmed", "--csv"}, []string{"77", "/opt/ros/lib/librcl.so", "rcl_node_fini,rcl_timer_fini"}},
		"in JSON":              {[]string{"info", dir, "--json"}, []string{`"unarmed": [`, `"duration": 25000000`, `"losses": []`}},
		"a question about it":  {[]string{"latency", "communication", dir}, []string{"26 files were mapped by processes while they were not probed"}},
		"a question about all": {[]string{"period", dir}, []string{"26 files were mapped by processes while they were not probed"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, problems := runCommand(test.command...)
			if code != exitSuccess {
				t.Fatalf("exit code %d: %s", code, problems)
			}
			for _, want := range test.says {
				if !strings.Contains(squeeze(out+problems), squeeze(want)) {
					t.Errorf("no %q in\n%s%s", want, out, problems)
				}
			}
			if strings.Contains(out, "nothing was lost") {
				t.Errorf("nothing is said to be lost:\n%s", out)
			}
		})
	}
}
