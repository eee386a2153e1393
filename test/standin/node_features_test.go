package standin

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
)

func TestLifecycle(t *testing.T) {
	labels := []string{
		"unconfigured", "configuring", "inactive", "activating", "active", "deactivating", "inactive", "cleaningup",
	}
	forEach(t, func(t *testing.T, config Config) {
		truth := run(t, config, "--lifecycle-rate 20")
		if len(truth.LifecycleStateMachineInits) != 1 || truth.LifecycleStateMachineInits[0].Node != truth.Nodes[0].Node {
			t.Fatalf("state machines %+v", truth.LifecycleStateMachineInits)
		}
		machine := truth.LifecycleStateMachineInits[0].StateMachine
		for i, transition := range truth.LifecycleTransitions {
			start, goal := labels[i%len(labels)], labels[(i+1)%len(labels)]
			if transition.StateMachine != machine || transition.Start != start || transition.Goal != goal {
				t.Errorf("transition %+v, want from %s to %s", transition, start, goal)
			}
		}
		if len(truth.LifecycleTransitions) < 2*len(labels) {
			t.Errorf("%d transitions", len(truth.LifecycleTransitions))
		}
	})
}

func TestSimTime(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		truth := run(t, config, "--sim-time-rate 50")
		latest := make(map[uint64]int64)
		for _, set := range truth.SimTimes {
			if set.Stamp <= latest[set.Clock] || !set.Bracket.Happened() {
				t.Errorf("%+v after %d", set, latest[set.Clock])
			}
			latest[set.Clock] = set.Stamp
		}
		received := 0
		for _, callback := range truth.Callbacks {
			if callback.Kind == groundtruth.KindSubscription && callback.HeaderStamp == 0 {
				received++
			}
		}
		if received == 0 || len(latest) != 2 || len(truth.SimTimes) != 2*received {
			t.Errorf("%d clocks were set %d times by %d messages", len(latest), len(truth.SimTimes), received)
		}
	})
}
