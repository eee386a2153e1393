package session_test

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestProfilesAreExact compares what the profiles record that others do not with the ground truth, as far as they are
// to know it: standard is what all other tests record, and full has its hits.
func TestProfilesAreExact(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		forEachBehaviour(t, []string{"threads", "services", "intra_unique", "nested", "polled", "raw", "features", "fail_rcl", "static"},
			func(t *testing.T, name string) { requireExactProfile(t, l, behaviours[name], probes.ProfileMinimal) })
		if l == oneLayout {
			t.Run("full", func(t *testing.T) { requireExactProfile(t, l, behaviours["threads"], probes.ProfileFull) })
		}
	})
}

func requireExactProfile(t *testing.T, l layout, flags string, profile probes.Profile) {
	t.Helper()
	n := startReadyNode(t, l, flags)
	r := record(t, session.Configuration{PIDs: n.pidText(), Profile: profile})
	r.waitForRows(trace.TableCallback, enough)
	data, truth := r.stop(), n.stop()
	if profile == probes.ProfileMinimal {
		truth.reduceToMinimal()
		requireMinimal(t, data, l)
	}
	if raw := len(data.Events) > 0; raw != (profile == probes.ProfileFull) {
		t.Errorf("%d raw events", len(data.Events))
	}
	r.requireExact(data, truth, circumstances{found: true})
}

// reduceToMinimal forgets what the profile minimal does not observe.
func (t *truth) reduceToMinimal() {
	stampIsRMW := t.Header.Distro != standin.Humble
	for _, thread := range t.threads {
		thread.enqueues, thread.dequeues, thread.simTimes, thread.sorted = nil, nil, nil, nil
		if stampIsRMW {
			thread.steps = nil
		}
		for _, e := range thread.executions {
			e.take.reduceToMinimal(stampIsRMW)
			e.fed, e.InfoGID, e.HeaderStamp = nil, e.take.InfoGID, 0
		}
		for _, take := range thread.takes {
			take.reduceToMinimal(stampIsRMW)
		}
		for _, publish := range thread.publishes {
			publish.Intra, publish.RCLCPP, publish.HeaderStamp, publish.enqueues = groundtruth.Bracket{}, groundtruth.Bracket{}, 0, nil
			if stampIsRMW {
				publish.RCL, publish.raw = groundtruth.Bracket{}, nil
			} else {
				publish.RMW = groundtruth.Bracket{}
			}
		}
	}
}

func (t *takeTruth) reduceToMinimal(stampIsRMW bool) {
	if t.raw != nil && t.raw.Kind != groundtruth.RawLoaned && stampIsRMW {
		t.raw = nil // its tracepoint does not tell its form
	}
	if t.raw == nil {
		t.InfoGID = "" // of others rcl's functions are probed
	}
	t.HeaderStamp = 0
}

// requireMinimal requires that no more was probed than the profile needs, and that the plan says so.
func requireMinimal(t *testing.T, data *dataset, l layout) {
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
