package session

import (
	"fmt"
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
	var m lacks
	m.replaceMissing(1, []probes.Missing{start, register})
	m.replaceMissing(2, []probes.Missing{register})
	m.replaceMissing(1, []probes.Missing{register})
	m.replaceMissing(3, []probes.Missing{start})
	m.replaceMissing(3, nil)
	want := []trace.MissingEvent{{Event: "rclcpp_callback_register", Reason: "no such function", PIDs: []int{1, 2}}}
	if got := m.missingEvents(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestLacksAreListedSoOften: many processes that each lack many things do not add up.
func TestLacksAreListedSoOften(t *testing.T) {
	const processes, things = 500, 1000
	var l lacks
	for pid := range int32(processes) {
		for thing := range things {
			l.note(pid, lack{fmt.Sprint(thing), "none"})
			l.note(pid, lack{fmt.Sprint(thing), "none"}) // which is nothing new
		}
	}
	listed := 0
	l.each(func(_ lack, pids []int) { listed += len(pids) })
	if listed != listedLackPIDs || listed+l.unlisted < processes*things {
		t.Errorf("%d are listed, %d are not", listed, l.unlisted)
	}
	for pid := range int32(processes) {
		l.forget(pid)
	}
	l.each(func(of lack, pids []int) { t.Fatalf("%v of %d is not forgotten", of, pids) })
	l.note(1, lack{"new", "none"})
	l.each(func(of lack, pids []int) { listed++ })
	if listed != listedLackPIDs+1 {
		t.Error("there is no room for a new one")
	}
}
