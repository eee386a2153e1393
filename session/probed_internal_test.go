package session

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
)

// A site is told of once for all processes that have it alone, and apart where it is for every process.
func TestProbesAreGathered(t *testing.T) {
	site := func(event abi.Event, library string, offset uint64, process int32) loader.AttachedSite {
		return loader.AttachedSite{Site: probes.Site{Event: event, Library: library, Offset: offset, Cost: time.Microsecond}, Process: process}
	}
	got := []string{}
	for _, probe := range gather([]loader.AttachedSite{
		site(abi.EventCallbackEnd, "b", 2, 9), site(abi.EventCallbackStart, "b", 1, 9), site(abi.EventCallbackStart, "a", 3, 7),
		site(abi.EventCallbackStart, "b", 1, 7), site(abi.EventCallbackStart, "b", 1, 0),
	}) {
		got = append(got, fmt.Sprint(probe.Event, probe.File, probe.Offset, probe.PIDs, probe.Cost))
	}
	want := []string{
		fmt.Sprint(abi.EventCallbackStart, "a", 3, []int{7}, time.Microsecond), fmt.Sprint(abi.EventCallbackStart, "b", 1, []int(nil), time.Microsecond),
		fmt.Sprint(abi.EventCallbackStart, "b", 1, []int{7, 9}, time.Microsecond), fmt.Sprint(abi.EventCallbackEnd, "b", 2, []int{9}, time.Microsecond),
	}
	if !slices.Equal(got, want) {
		t.Errorf("gathered\n%q, want\n%q", got, want)
	}
}
