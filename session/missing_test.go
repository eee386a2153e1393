package session

import (
	"reflect"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestMissingEventsAreThoseOfTheLastPlan: what a process lacked while it was still loading, or as another program, does
// not count.
func TestMissingEventsAreThoseOfTheLastPlan(t *testing.T) {
	start := probes.Missing{Event: abi.EventCallbackStart, Reason: "no library"}
	register := probes.Missing{Event: abi.EventRclcppCallbackRegister, Reason: "no such function"}
	var m missingEvents
	m.replace(1, []probes.Missing{start, register})
	m.replace(2, []probes.Missing{register})
	m.replace(1, []probes.Missing{register})
	m.replace(3, []probes.Missing{start})
	m.replace(3, nil)
	want := []trace.MissingEvent{{Event: "rclcpp_callback_register", Reason: "no such function", PIDs: []int{1, 2}}}
	if got := m.list(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
