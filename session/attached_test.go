package session_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestLateAttachFindsTheSameEntities records a program from its start and, once it runs, with a second recording that
// attaches to it: the tables of entities are right in both, and equal but for provenance and times.
func TestLateAttachFindsTheSameEntities(t *testing.T) {
	programs := map[string]string{
		"threads": "--nodes 2 --topics 2 --rate 50 --intra-process --service-rate 30 --service-clients 2 --threads 3 --reentrant",
		"single": "--nodes 2 --rate 50 --chain --service-rate 30 --deferred-service-rate 20 --polled-rate 20 " +
			"--serialized-rate 20 --loaned-rate 20 --sim-time-rate 20",
		"static": "--static-executor --rate 50 --intra-process --callback-form shared --service-rate 30 --untaken-response-rate 10",
	}
	forEachLayout(t, func(t *testing.T, l layout) {
		for _, name := range slices.Sorted(maps.Keys(programs)) {
			if testing.Short() && name != "threads" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				n, first := recordFromTheBeginning(t, l, session.Configuration{}, programs[name])
				n.WaitReady()
				second := record(t, session.Configuration{PIDs: n.pidText()})
				second.waitForRows(trace.TableCallback, enough)
				attached := second.stop()
				fromStart := first.stop()
				truth := n.stop()
				requireEntities(t, attached, truth, second.span(attached, truth.Header.PID))
				requireEntities(t, fromStart, truth, first.span(fromStart, truth.Header.PID))
				requireSameEntities(t, truth.Header.PID, attached, fromStart)
			})
		}
	})
}

func requireSameEntities(t *testing.T, pid int, attached, fromStart *dataset) {
	t.Helper()
	requireSameRows(t, pid, "node", attached.Nodes, fromStart.Nodes, nodeKey)
	requireSameRows(t, pid, "publisher", attached.Publishers, fromStart.Publishers, publisherKey)
	requireSameRows(t, pid, "subscription", attached.Subscriptions, fromStart.Subscriptions, subscriptionKey)
	requireSameRows(t, pid, "timer", withoutChangingPeriods(attached.Timers), withoutChangingPeriods(fromStart.Timers), timerKey)
	requireSameRows(t, pid, "service_server", attached.ServiceServers, fromStart.ServiceServers, serviceKey)
	requireSameRows(t, pid, "client", attached.Clients, fromStart.Clients, clientKey)
	requireSameRows(t, pid, "callback_info", withoutSymbols(attached.CallbackInfos), withoutSymbols(fromStart.CallbackInfos), callbackKey)
	requireSameRows(t, pid, "callback_group", attached.CallbackGroups, fromStart.CallbackGroups, groupKey)
	requireSameRows(t, pid, "executor", attached.Executors, fromStart.Executors, executorKey)
	requireSameRows(t, pid, "context", attached.Contexts, fromStart.Contexts, contextKey)
	requireSameRows(t, pid, "lifecycle_state_machine", attached.LifecycleStateMachines, fromStart.LifecycleStateMachines, stateMachineKey)
}

// withoutSymbols leaves out what a tracepoint says of a function: it is another text than what memory tells.
func withoutSymbols(rows []trace.CallbackInfo) []trace.CallbackInfo {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Symbol = ""
	}
	return rows
}

// withoutChangingPeriods leaves out the periods of timers without a callback: those of action servers, which rcl sets
// anew each time.
func withoutChangingPeriods(rows []trace.Timer) []trace.Timer {
	rows = slices.Clone(rows)
	for i := range rows {
		if rows[i].Callback == 0 {
			rows[i].Period = trace.Optional[int64]{}
		}
	}
	return rows
}

// requireSameRows compares the rows of what lives, without provenance, times and numbers.
func requireSameRows[T comparable](t *testing.T, pid int, table string, attached, fromStart []T, key func(*T) entityKey) {
	t.Helper()
	living := func(rows []T) map[uint64]T {
		by := map[uint64]T{}
		for _, row := range rows {
			k := key(&row)
			if int(k.process.PID) != pid || k.end.Valid {
				continue
			}
			*k.init, *k.provenance, *k.telling = trace.Optional[int64]{}, "", trace.Telling{}
			by[k.address] = row
		}
		return by
	}
	found, told := living(attached), living(fromStart)
	for _, address := range slices.Sorted(maps.Keys(found)) {
		if found[address] != told[address] {
			t.Errorf("%s\nattached   %+v\nfrom start %+v", table, found[address], told[address])
		}
		delete(told, address)
	}
	for _, row := range told {
		t.Errorf("%s\nattached   nothing\nfrom start %+v", table, row)
	}
}
