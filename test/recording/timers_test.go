package recording

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestCallbacksOfTimersOfAllForms: wherever a timer keeps its function, late or from the beginning, the dataset has the
// address. That of a variable that two timers refer to is neither's.
func TestCallbacksOfTimersOfAllForms(t *testing.T) {
	const flags = "--timer-forms 50 --publish-only --nodes 2"
	for name, attach := range map[string]func(t *testing.T, l layout) (*node, *recording){
		"late": func(t *testing.T, l layout) (*node, *recording) {
			n := startReadyNode(t, l, flags)
			return n, record(t, session.Configuration{PIDs: n.pidText()})
		},
		"from the beginning": func(t *testing.T, l layout) (*node, *recording) {
			return recordFromTheBeginning(t, l, session.Configuration{}, flags)
		},
	} {
		t.Run(name, func(t *testing.T) {
			forEachLayout(t, func(t *testing.T, l layout) {
				t.Parallel()
				n, r := attach(t, l)
				r.waitForRows(trace.TableCallback, 20*enough)
				data := r.stop()
				truth := n.stop()
				r.requireExact(data, truth, oracle.Circumstances{Found: name == "late"})
				oracle.RequireEntities(t, data, truth, r.span(data, truth.Header.PID))
				requireCallbacksOfTimers(t, data, truth)
			})
		})
	}
}

func requireCallbacksOfTimers(t *testing.T, data *oracle.Dataset, truth *oracle.Truth) {
	t.Helper()
	const forms = 18
	if len(truth.Timers) < forms {
		t.Fatalf("%d timers", len(truth.Timers))
	}
	callbacks := map[trace.Address]trace.Address{}
	for _, row := range data.Timers {
		callbacks[row.TimerHandle] = row.Callback
	}
	owners := map[trace.Address]trace.CallbackInfo{}
	for _, row := range data.CallbackInfos {
		owners[row.Callback] = row
	}
	shared := 0
	for _, timer := range truth.Timers {
		address := trace.Address(timer.Callback)
		if got := callbacks[trace.Address(timer.Timer)]; got != address {
			t.Errorf("the callback of the timer %#x of %d ns is at %v, not %v", timer.Timer, timer.Period, got, address)
		}
		want := trace.Address(timer.Timer)
		if truth.SharesCallback(timer) {
			want = 0
			shared++
		}
		if row := owners[address]; row.OwnerHandle != want || row.Kind != trace.KindTimer || row.Symbol == "" {
			t.Errorf("the callback %v of the timer %#x: %+v", address, timer.Timer, row)
		}
	}
	if shared != 2 {
		t.Errorf("%d timers share a variable", shared)
	}
}
