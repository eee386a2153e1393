package entities

import (
	"debug/elf"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

// counting collects rows as a reader of the dataset does: by table and entity, the one with the greatest revision.
type counting struct {
	rows map[string]map[uint64]any
	last uint64 // revision
}

// add takes in what Rows returned.
func (c *counting) add(t *testing.T, rows trace.Batch) {
	t.Helper()
	var revisions []uint64
	tables := reflect.ValueOf(rows)
	for i := range tables.NumField() {
		table := tables.Type().Field(i).Name
		if c.rows[table] == nil {
			c.rows[table] = make(map[uint64]any)
		}
		for j := range tables.Field(i).Len() {
			row := reflect.New(tables.Field(i).Index(j).Type()).Elem()
			row.Set(tables.Field(i).Index(j))
			telling := row.FieldByName("Telling")
			numbers := telling.Interface().(trace.Telling)
			if numbers.Entity == 0 || numbers.Revision <= c.last {
				t.Fatalf("%s: row %+v after revision %d", table, numbers, c.last)
			}
			revisions = append(revisions, numbers.Revision)
			telling.SetZero()
			c.rows[table][numbers.Entity] = row.Interface()
		}
	}
	if len(revisions) > 0 {
		slices.Sort(revisions)
		if len(slices.Compact(slices.Clone(revisions))) != len(revisions) {
			t.Fatalf("revisions %v", revisions)
		}
		c.last = revisions[len(revisions)-1]
	}
}

// texts are the rows of each table, sorted.
func (c *counting) texts() map[string][]string {
	texts := make(map[string][]string)
	for table, rows := range c.rows {
		for _, row := range rows {
			texts[table] = append(texts[table], fmt.Sprintf("%+v", row))
		}
		slices.Sort(texts[table])
	}
	return texts
}

// happening is an event of one of few entities, which have the addresses of their kind.
func happening(random *rand.Rand, at int64) InitEvent {
	const nodes, publishers, subscriptions, objects, timers, services, clients, callbacks, groups, executors, others = 0x100, 0x200, 0x300,
		0x400, 0x500, 0x600, 0x700, 0x800, 0x900, 0xa00, 0xb00
	which := random.IntN(2)
	any := func(kind int) int { return kind + random.IntN(2) }
	script := []InitEvent{
		event(abi.EventRclInit, at, others+which),
		event(abi.EventRclNodeInit, at, nodes+which, others),
		event(abi.EventRclPublisherInit, at, publishers+which, any(nodes), publishers+which+0x10),
		event(abi.EventRclSubscriptionInit, at, subscriptions+which, any(nodes), subscriptions+which+0x10),
		event(abi.EventRclcppSubscriptionInit, at, subscriptions+which, objects+which),
		event(abi.EventRclcppSubscriptionInit, at, subscriptions+which, objects+which+0x10),
		event(abi.EventRclcppSubscriptionCallbackAdded, at, objects+which, callbacks+which),
		event(abi.EventRclcppSubscriptionCallbackAdded, at, objects+which+0x10, callbacks+which+0x10),
		event(abi.EventRclcppIPBToSubscription, at, others+0x10, objects+which),
		event(abi.EventRclTimerInit, at, timers+which, 100),
		event(abi.EventRclcppTimerCallbackAdded, at, timers+which, callbacks+which+0x20),
		event(abi.EventRclcppTimerLinkNode, at, timers+which, any(nodes)),
		event(abi.EventRclcppCallbackRegister, at, callbacks+which+0x10*random.IntN(4)),
		event(abi.EventRclServiceInit, at, services+which, any(nodes), services+which+0x10),
		event(abi.EventRclcppServiceCallbackAdded, at, services+which, callbacks+which+0x30),
		event(abi.EventRclClientInit, at, clients+which, any(nodes), clients+which+0x10),
		event(abi.EventRclLifecycleStateMachineInit, at, any(nodes), others+which+0x20),
		event(abi.EventConstructExecutor, at, executors+which, int(ExecutorSingleThreaded)),
		event(abi.EventAddCallbackGroup, at, executors+which, any(groups)),
		event(abi.EventCallbackGroupAddTimer, at, any(groups), timers+which),
		event(abi.EventCallbackGroupAddSubscription, at, any(groups), subscriptions+which),
		event(abi.EventRclPublisherFini, at, publishers+which),
		event(abi.EventRclSubscriptionFini, at, subscriptions+which),
		event(abi.EventRclTimerFini, at, timers+which),
		event(abi.EventRclServiceFini, at, services+which),
		event(abi.EventRclClientFini, at, clients+which),
		event(abi.EventRclNodeFini, at, nodes+which),
		event(abi.EventExecutorDestroy, at, executors+which),
	}
	e := script[random.IntN(len(script))]
	e.String1 = "/name"
	return e
}

// However often rows are asked for while things happen: what counts in the end is what the rows say that are asked for
// at the end only.
func TestOneRowOfEachEntityCounts(t *testing.T) {
	layout, err := layouts.For("humble", elf.EM_X86_64, nil)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(600) {
		random := rand.New(rand.NewPCG(seed, 1))
		often, once := New(testKey), New(testKey)
		often.NumberBy(new(Numbers))
		once.NumberBy(new(Numbers))
		often.SetMemory(nil, layout)
		once.SetMemory(nil, layout)
		told, want := counting{rows: make(map[string]map[uint64]any)}, counting{rows: make(map[string]map[uint64]any)}
		for i := range 1 + random.IntN(60) {
			e := happening(random, int64(1+i)*1e9)
			often.Init(e)
			once.Init(e)
			for range random.IntN(3) * random.IntN(25) {
				told.add(t, often.Rows(false))
			}
		}
		told.add(t, often.Rows(true))
		want.add(t, once.Rows(true))
		got, wanted := told.texts(), want.texts()
		for table := range maps.Keys(wanted) {
			if !slices.Equal(got[table], wanted[table]) {
				t.Errorf("seed %d: %s\n%q\nwant\n%q", seed, table, got[table], wanted[table])
			}
		}
		if t.Failed() {
			return
		}
	}
}
