package attaching

import (
	"errors"
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
			a.intraProcess.since, a.intraProcess.asked = time.Now().Add(-IntraProcessPatience), time.Time{}
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

// Where it cannot be attached for every process, each has links of its own.
func TestIntraProcessThatCannotBeShared(t *testing.T) {
	first, second, intra := startSharers(t)
	intra.Event, intra.Optional, intra.Form = abi.EventRclcppRingBufferEnqueue, true, abi.FormDerived
	a, told := newUnopened(Options{Shared: true})
	attach(t, a, first, intra)
	if len(told.kernel.events(0)) != 1 {
		t.Fatalf("attached for all: %v", told.kernel.events(0))
	}
	told.kernel.unable = errors.New("refused")
	another := intra
	another.Offset += 4096
	attach(t, a, second, intra, another)
	if own := told.kernel.events(second.Target.PID); len(own) != 2 || len(told.kernel.events(0)) != 0 {
		t.Errorf("attached for it %v, for all %v", own, told.kernel.events(0))
	}
	if own := told.kernel.events(first.Target.PID); len(own) != 1 {
		t.Errorf("attached for the other one %v", own)
	}
}

// A budget counts where intra-process communication is shared, also if it stays.
func TestBudgetBesideSharedIntraProcess(t *testing.T) {
	first, _, intra := startSharers(t)
	intra.Event, intra.Optional, intra.Form = abi.EventRclcppRingBufferEnqueue, true, abi.FormDerived
	a, told := newTestAttacher(Options{Shared: true})
	attach(t, a, first, intra)
	told.withIntra = map[*Process]bool{first: true}
	a.intraProcess.since = time.Now().Add(-IntraProcessPatience - NoticeTime)
	a.Settle(t.Context(), first)
	if a.settlesSoon(first.Target.PID) {
		t.Error("its costs are not believed yet")
	}
}
