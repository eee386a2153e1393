package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

func rowsOf[T any](rows ...T) []record {
	var records []record
	for _, row := range rows {
		r := record{}
		addColumns(r, reflect.ValueOf(row))
		records = append(records, r)
	}
	return records
}

func TestNullsAreCountedAndExplained(t *testing.T) {
	r := &recording{distro: "jazzy", rmw: "rmw_test_cpp", tables: map[string][]record{
		trace.TableCallback: rowsOf(
			trace.Callback{Callback: 1, CallbackStartTimestamp: trace.Some(int64(5)), IsIntraProcess: trace.Some(false), Kind: "timer", NodeName: "/n", Symbol: "f()"},
			trace.Callback{Callback: 2, CallbackStartTimestamp: trace.Some(int64(6)), IsIntraProcess: trace.Some(false), Kind: "timer", NodeName: "/n"},
			trace.Callback{Callback: 3, Status: trace.CallbackStartMissing},
		),
		trace.TableTimer: rowsOf(trace.Timer{TimerHandle: 1, Provenance: trace.FromMemory}),
	}}
	late := &recording{distro: "jazzy", rmw: "rmw_test_cpp", late: true}
	f := evaluate([]*recording{r, late})
	page := string(f.markdown())
	for _, want := range []string{
		"| `callback_start` | callback, is_intra_process | 2 tracepoint / 0 |",
		"| callbacks with node, kind and function | kind, node_name, symbol | 2 tracepoint / 0; null: symbol (1) |",
		"| `rcl_timer_init` | timer_handle, period | 1 memory / 0; null: period (always) |",
		"| `add_callback_group` | executor, callback_group, group_type_name | – |",
		"- `add_callback_group`: only in humble, iron; in others\n  `callback_group_to_executor_entity_collector`.",
		"- `callback_group_to_executor_entity_collector`: only in iron, jazzy, kilted, lyrical; in others\n  `add_callback_group`.",
		"- `executor_entity_collector_to_executor`: only in iron, jazzy, kilted, lyrical; in others none\n  needed.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if err := f.unexplained(); err == nil || err.Error() != "period of rcl_timer_init is null 1 times, and there is no reason" {
		t.Errorf("unexplained: %v", err)
	}
}

func TestEntitiesCountOnce(t *testing.T) {
	rows := rowsOf(
		trace.Node{NodeHandle: 1, Provenance: trace.FromMemory},
		trace.Node{NodeHandle: 2, Provenance: trace.FromMemory},
		trace.Node{NodeHandle: 1, NodeName: "known", Provenance: trace.FromMemory},
		trace.Node{NodeHandle: 1, NodeName: "next", InitTimestamp: trace.Some(int64(7)), Provenance: trace.FromTracepoint},
	)
	got := latest(rows, identities[trace.TableNode])
	if len(got) != 3 || got[0].text("node_name") != "known" || got[2].text("node_name") != "next" {
		t.Errorf("rows %v", got)
	}
}
