package recording

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestProfilesAreExact compares what the profiles record that others do not with the ground truth, as far as they are
// to know it: standard is what all other tests record, and full has its hits, and waits.
func TestProfilesAreExact(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		for profile, names := range map[probes.Profile][]string{
			probes.ProfileMinimal: {"threads", "services", "intra_unique", "nested", "polled", "raw", "features", "fail_rcl", "static"},
			probes.ProfileFull:    {"threads", "nested", "static"},
		} {
			t.Run(string(profile), func(t *testing.T) {
				forEachBehaviour(t, names, func(t *testing.T, name string) { requireExactProfile(t, l, name, profile) })
			})
		}
	})
}

func requireExactProfile(t *testing.T, l layout, behaviour string, profile probes.Profile) {
	t.Helper()
	n := startReadyNode(t, l, behaviours[behaviour])
	r := record(t, session.Configuration{PIDs: n.pidText(), Profile: profile})
	r.waitForRows(trace.TableCallback, enough)
	data, truth := r.stop(), n.stop()
	if profile == probes.ProfileMinimal {
		truth.ReduceToMinimal()
		requireMinimal(t, data, l)
	}
	full := profile == probes.ProfileFull
	if raw := len(data.Events) > 0; raw != full {
		t.Errorf("%d raw events", len(data.Events))
	}
	// A static executor waits in another way.
	if waits := len(data.Waits) > 0; waits != (full && behaviour != "static") {
		t.Errorf("%d waits", len(data.Waits))
	}
	r.requireExact(data, truth, oracle.Circumstances{Found: true})
}

// requireMinimal requires that no more was probed than the profile needs, and that the plan says so.
func requireMinimal(t *testing.T, data *oracle.Dataset, l layout) {
	t.Helper()
	needed := map[string]bool{
		"callback_start": true, "callback_end": true, "rmw_take": true, "exception_caught": true, "executor_execute": false, "rmw_publish": l.distro != standin.Humble,
		"rcl_publish": l.distro == standin.Humble, "dds_bind_addr_to_stamp": l.distro == standin.Humble,
	}
	unneeded := []string{"rclcpp_publish", "rclcpp_intra_publish", "rclcpp_ring_buffer_enqueue", "rclcpp_ring_buffer_dequeue", "sim_time"}
	probed := map[string]bool{}
	for _, site := range data.Session.Plan.Sites {
		probed[site.Event] = true
	}
	for event, want := range needed {
		if probed[event] != want {
			t.Errorf("%s is probed: %v", event, probed[event])
		}
	}
	missing := map[string]bool{}
	for _, event := range data.Session.MissingEvents() {
		missing[event] = true
	}
	for _, event := range unneeded {
		if probed[event] || !missing[event] {
			t.Errorf("%s is probed: %v, missing: %v", event, probed[event], missing[event])
		}
	}
}
