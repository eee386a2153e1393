package oracle

import (
	"maps"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// RequireSameEntities compares the entities of a process in a recording that attached to it with those in a recording
// from its start.
func RequireSameEntities(t *testing.T, pid int, attached, fromStart *Dataset) {
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
