package attaching

import (
	"slices"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// What all processes share for intra-process communication is detached when all do without, and comes back for the
// first one that does not. Where processes are to come it stays.
func TestSharedIntraProcessComesAndGoes(t *testing.T) {
	first, second, intra := startSharers(t)
	intra.Event, intra.Optional, intra.Form = abi.EventRclcppRingBufferEnqueue, true, abi.FormDerived
	attached := func(told *told) bool { return slices.Contains(told.kernel.events(0), intra.Event) }
	for _, toCome := range []bool{false, true} {
		a, told := newUnopened(Options{Shared: true, ToCome: toCome})
		settle := func() {
			a.intraProcess.since = time.Now().Add(-IntraProcessPatience)
			a.Settle(t.Context(), first)
			a.Settle(t.Context(), second)
		}
		attach(t, a, first, intra)
		attach(t, a, second, intra)
		a.Open()
		told.noIntra, told.withIntra = true, map[*Process]bool{second: true}
		if settle(); !attached(told) {
			t.Errorf("to come %v: it was detached though a process needs it", toCome)
		}
		told.withIntra = nil
		if settle(); attached(told) != toCome {
			t.Errorf("to come %v: attached %v", toCome, told.kernel.events(0))
		}
		told.withIntra = map[*Process]bool{second: true}
		if settle(); !attached(told) {
			t.Errorf("to come %v: it does not come back", toCome)
		}
		told.withIntra = nil
		settle()
		if a.LibrariesChange(t.Context(), first, monotonicNow()); !attached(told) {
			t.Errorf("to come %v: it does not come back for libraries to come", toCome)
		}
		if n := len(told.kernel.events(first.Target.PID)) + len(told.kernel.events(second.Target.PID)); n != 0 {
			t.Errorf("to come %v: %d sites of single processes", toCome, n)
		}
		settle()
		told.withIntra = map[*Process]bool{first: true}
		third := NewProcess(second.Target)
		attach(t, a, third, intra)
		if !attached(told) {
			t.Errorf("to come %v: it does not come back for another process", toCome)
		}
		first.sharesIntra, second.sharesIntra = false, false // as they were
	}
}
