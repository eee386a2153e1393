package merge_test

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/trace"
)

const offset = int64(1_000_000)

// feed merges init events and records, in order, and returns the rows.
func feed(t *testing.T, options merge.Options, records ...[]byte) trace.Batch {
	t.Helper()
	options.RealtimeOffset = offset
	m := newMerger(options)
	for _, record := range records {
		if err := m.Record(record); err != nil {
			t.Fatal(err)
		}
	}
	return take(t, m)
}

func take(t *testing.T, m *merge.Merger) trace.Batch {
	t.Helper()
	var rows trace.Batch
	if err := m.Take(func(r *trace.Batch) error {
		rows.Append(r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return rows
}

func header(kind abi.Kind, status, flags uint8) abi.RecordHeader {
	return abi.RecordHeader{Kind: kind, Status: status, Flags: flags, CPU: 1, PID: 7, TID: 8}
}

func initEvent(event abi.Event, at uint64, text1, text2 string, arguments ...uint64) []byte {
	record := abi.InitRecord{Header: header(abi.KindInit, uint8(event), 0), TimeNs: at}
	copy(record.Arguments[:], arguments)
	copy(record.Strings[:], text1)
	copy(record.Strings[abi.InitStringSize:], text2)
	return encode(record)
}

// announcedEntities announces a node with a subscription (callback 0x30), a timer (callback 0x50) and a publisher.
func announcedEntities() [][]byte {
	return [][]byte{
		initEvent(abi.EventRclNodeInit, 1, "node", "/ns", 0x10, 0x11),
		initEvent(abi.EventRclSubscriptionInit, 2, "/in", "", 0x20, 0x10, 0x21, 0, 10),
		initEvent(abi.EventRclcppSubscriptionInit, 3, "", "", 0x20, 0x22),
		initEvent(abi.EventRclcppSubscriptionCallbackAdded, 4, "", "", 0x22, 0x30),
		initEvent(abi.EventRclTimerInit, 5, "", "", 0x40, 100),
		initEvent(abi.EventRclcppTimerCallbackAdded, 6, "", "", 0x40, 0x50),
		initEvent(abi.EventRclcppTimerLinkNode, 7, "", "", 0x40, 0x10),
		initEvent(abi.EventRclPublisherInit, 8, "/out", "", 0x60, 0x10, 0x61, 0, 10),
	}
}

func fedCallback(callback uint64) []byte {
	return encode(abi.CallbackRecord{
		Header: header(abi.KindCallback, abi.CallbackComplete, abi.FlagFedByTake), Callback: callback, StartNs: 100, EndNs: 200, OverheadNs: 30,
		Feed: abi.Feed{Source: 0x21, Message: 0x99, Stamp: 12345, TimeNs: 90, CallbackEndCPU: 2},
	})
}

// tracedProcess is the process of all records that header makes.
var tracedProcess = trace.ProcessKey{BootID: "boot", PID: 7, ProcessStart: 1}

func TestCallbackIsNamedAndFed(t *testing.T) {
	rows := feed(t, merge.Options{}, append(announcedEntities(), fedCallback(0x30))...)
	if len(rows.Callbacks) != 1 || len(rows.Takes) != 0 {
		t.Fatalf("rows %+v", rows)
	}
	want := trace.Callback{
		ProcessKey: tracedProcess, TID: 8, CPU: 1, Callback: 0x30,
		CallbackStartTimestamp: trace.Some(100 + offset), CallbackEndTimestamp: trace.Some(200 + offset),
		Status: trace.CallbackComplete, IsIntraProcess: trace.Some(false), Kind: trace.KindSubscription, Message: 0x99,
		SourceTimestamp: trace.Some(int64(12345)), RMWSubscriptionHandle: 0x21, RMWTakeTimestamp: trace.Some(90 + offset),
		SubscriptionHandle: 0x20, TopicName: "/in", NodeName: "/ns/node", Provenance: trace.FromTracepoint, Overhead: trace.Some(int64(30)),
		EndCPU: trace.Some(int32(2)),
	}
	if got := rows.Callbacks[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestCPUAtTheEndOfCallbacks: it is known where the end is, CPU 0 like any other.
func TestCPUAtTheEndOfCallbacks(t *testing.T) {
	for name, test := range map[string]struct {
		start, end uint64
		cpu        uint32
		want       trace.Optional[int32]
	}{
		"complete":           {100, 200, 3, trace.Some(int32(3))},
		"complete, on CPU 0": {100, 200, 0, trace.Some(int32(0))},
		"start missing":      {0, 200, 3, trace.Some(int32(3))},
		"no end":             {100, 0, 0, trace.Optional[int32]{}},
	} {
		rows := feed(t, merge.Options{}, encode(abi.CallbackRecord{
			Header: header(abi.KindCallback, abi.CallbackComplete, 0), Callback: 1, StartNs: test.start, EndNs: test.end,
			Feed: abi.Feed{CallbackEndCPU: test.cpu},
		}))
		if got := rows.Callbacks[0].EndCPU; got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// TestSchedulingOfCallbacks: parts add up to the duration. Where clocks of two CPUs make them more than the whole, they
// are not known.
func TestSchedulingOfCallbacks(t *testing.T) {
	for name, test := range map[string]struct {
		off  abi.Scheduling
		want [4]trace.Optional[int64]
	}{
		"on the CPU": {abi.Scheduling{}, [4]trace.Optional[int64]{trace.Some[int64](100), trace.Some[int64](0), trace.Some[int64](0), trace.Some[int64](0)}},
		"off it": {
			abi.Scheduling{PreemptedNs: 20, BlockedNs: 40, WakeupNs: 10, Preemptions: 2, Migrations: 1},
			[4]trace.Optional[int64]{trace.Some[int64](30), trace.Some[int64](20), trace.Some[int64](40), trace.Some[int64](10)},
		},
		"more than there is": {abi.Scheduling{BlockedNs: 101}, [4]trace.Optional[int64]{}},
	} {
		rows := feed(t, merge.Options{}, encode(abi.ScheduledCallbackRecord{
			Callback: abi.CallbackRecord{
				Header: header(abi.KindScheduledCallback, abi.CallbackComplete, 0), Callback: 1, StartNs: 100, EndNs: 200,
			},
			Scheduling: test.off,
		}))
		row := rows.Callbacks[0]
		if got := [4]trace.Optional[int64]{row.CPUTime, row.PreemptedTime, row.BlockedTime, row.WakeupLatency}; got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
		if row.Preemptions.Valid != test.want[0].Valid || row.Preemptions.Valid && (row.Preemptions.Value != int32(test.off.Preemptions) || row.Migrations.Value != int32(test.off.Migrations)) {
			t.Errorf("%s: preemptions %+v, migrations %+v", name, row.Preemptions, row.Migrations)
		}
	}
}

// TestIntraProcessIsTold: of a subscription when it is created, and once of a callback that shows that there is one.
func TestIntraProcessIsTold(t *testing.T) {
	intra := encode(abi.CallbackRecord{
		Header: header(abi.KindCallback, abi.CallbackComplete, abi.FlagIntraProcess), Callback: 0x30, StartNs: 100, EndNs: 200,
	})
	created := initEvent(abi.EventRclcppSubscriptionCallbackAdded, 4, "", "", 0x22, 0x30, 0x70, 10, 0x80)
	for name, test := range map[string]struct {
		records [][]byte
		want    []int64
	}{
		"none":         {[][]byte{fedCallback(0x30)}, nil},
		"callbacks":    {[][]byte{intra, fedCallback(0x30), intra}, []int64{0}},
		"subscription": {[][]byte{initEvent(abi.EventRclcppIPBToSubscription, 3, "", "", 0x80, 0x22), created, intra}, []int64{4}},
	} {
		t.Run(name, func(t *testing.T) {
			var told []int64
			feed(t, merge.Options{OnIntraProcess: func(pid int32, at int64) { told = append(told, at) }}, test.records...)
			if !slices.Equal(told, test.want) {
				t.Errorf("told at %v, want %v", told, test.want)
			}
		})
	}
}

// A take before a timer's callback fed nothing: it is a row of its own.
func TestTakeThatCannotFeedIsPolled(t *testing.T) {
	rows := feed(t, merge.Options{}, append(announcedEntities(), fedCallback(0x50))...)
	if len(rows.Callbacks) != 1 || len(rows.Takes) != 1 {
		t.Fatalf("%d callbacks, %d takes", len(rows.Callbacks), len(rows.Takes))
	}
	timer, polled := rows.Callbacks[0], rows.Takes[0]
	if timer.Kind != trace.KindTimer || timer.Period != trace.Some(int64(100)) || timer.SourceTimestamp.Valid || timer.Message != 0 {
		t.Errorf("timer %+v", timer)
	}
	if polled.Kind != trace.TakeRMW || polled.TopicName != "/in" || polled.SourceTimestamp != trace.Some(int64(12345)) {
		t.Errorf("take %+v", polled)
	}
}

func TestPublishLayers(t *testing.T) {
	record := abi.PublishRecord{
		Header: header(abi.KindPublish, abi.PublishComplete, 0), Number: 3, Publisher: 0x60, Message: 0x99,
		RclcppNs: 100, RclNs: 101, RMWNs: 102, StampNs: 103, SourceTimestamp: 55, Callback: 0x30, CallbackStartNs: 50,
		Layers: abi.LayerRclcpp | abi.LayerRcl | abi.LayerRMW | abi.LayerStamp,
	}
	got := feed(t, merge.Options{}, append(announcedEntities(), encode(record))...).Publishes[0]
	want := trace.Publish{
		ProcessKey: tracedProcess, TID: 8, CPU: 1, PublishNumber: 3,
		PublisherHandle: 0x60, RMWPublisherHandle: 0x61, Message: 0x99, RclcppPublishTimestamp: trace.Some(100 + offset),
		RclPublishTimestamp: trace.Some(101 + offset), RMWPublishTimestamp: trace.Some(102 + offset),
		DDSBindAddrToStampTimestamp: trace.Some(103 + offset), SourceTimestamp: trace.Some(int64(55)), Status: trace.PublishComplete, Kind: trace.PublishMessage, Provenance: trace.FromTracepoint,
		Callback: 0x30, CallbackStartTimestamp: trace.Some(50 + offset), TopicName: "/out", NodeName: "/ns/node",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestCloseThreadEmitsWhatWasOpen(t *testing.T) {
	m := newMerger(merge.Options{RealtimeOffset: offset})
	state := abi.ThreadState{PID: 7, TID: 8, Depth: 2, PublishOpen: 1, TakePending: 1}
	state.Frames[0] = abi.CallbackFrame{Callback: 0x1, StartNs: 10}
	state.Frames[1] = abi.CallbackFrame{Callback: 0x2, StartNs: 20}
	state.Publish = abi.PublishRecord{Header: header(abi.KindPublish, 0, 0), RclcppNs: 30, Layers: abi.LayerRclcpp}
	state.Take = abi.TakeRecord{Header: header(abi.KindTake, 0, abi.FlagFedByTake), Feed: abi.Feed{TimeNs: 25}}
	if err := m.CloseThread(encode(state)); err != nil {
		t.Fatal(err)
	}
	rows := take(t, m)
	if len(rows.Callbacks) != 2 || len(rows.Publishes) != 1 || len(rows.Takes) != 1 {
		t.Fatalf("rows %+v", rows)
	}
	inner, outer := rows.Callbacks[0], rows.Callbacks[1]
	if inner.Callback != 2 || inner.ParentCallback != 1 || inner.Depth != 1 || outer.Callback != 1 || outer.Depth != 0 {
		t.Errorf("inner %+v, outer %+v", inner, outer)
	}
	for _, c := range rows.Callbacks {
		if c.Status != trace.CallbackRecordingEnd || c.CallbackEndTimestamp.Valid {
			t.Errorf("%+v", c)
		}
	}
	if rows.Publishes[0].Status != trace.PublishRecordingEnd {
		t.Errorf("%+v", rows.Publishes[0])
	}
}

func TestFilter(t *testing.T) {
	re := func(texts ...string) (list []*regexp.Regexp) {
		for _, text := range texts {
			list = append(list, regexp.MustCompile(text))
		}
		return list
	}
	publish := encode(abi.PublishRecord{Header: header(abi.KindPublish, 0, 0), Publisher: 0x60, RclNs: 100, Layers: abi.LayerRcl})
	unknown := encode(abi.PublishRecord{Header: header(abi.KindPublish, 0, 0), Publisher: 0x666, RclNs: 100, Layers: abi.LayerRcl})
	timer := encode(abi.CallbackRecord{Header: header(abi.KindCallback, 0, 0), Callback: 0x50, StartNs: 100, EndNs: 200})
	for name, test := range map[string]struct {
		filter                        merge.Filter
		callbacks, publishes, ignored int
	}{
		"nothing":                        {merge.Filter{}, 2, 2, 0},
		"ignore the topic in":            {merge.Filter{IgnoreTopics: re("^/in$")}, 1, 2, 1},
		"ignore the topic out":           {merge.Filter{IgnoreTopics: re("/out")}, 2, 1, 1},
		"ignore the node":                {merge.Filter{IgnoreNodes: re("^/ns/")}, 0, 1, 3},
		"select the node":                {merge.Filter{SelectNodes: re("^/ns/node$")}, 2, 1, 0},
		"select another node":            {merge.Filter{SelectNodes: re("^/other$")}, 0, 0, 3},
		"select overrides ignore":        {merge.Filter{SelectNodes: re("/ns"), IgnoreNodes: re(".")}, 2, 1, 0},
		"select a topic, timers have no": {merge.Filter{SelectTopics: re("/in")}, 2, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			ignored := 0
			options := merge.Options{Filter: &test.filter, OnIgnored: func(int32, uint64, bool) bool { ignored++; return true }}
			records := append(announcedEntities(), fedCallback(0x30), timer, publish, unknown)
			rows := feed(t, options, records...)
			if len(rows.Callbacks) != test.callbacks || len(rows.Publishes) != test.publishes || ignored != test.ignored {
				t.Errorf("%d callbacks, %d publishes, %d ignored, want %d, %d, %d",
					len(rows.Callbacks), len(rows.Publishes), ignored, test.callbacks, test.publishes, test.ignored)
			}
		})
	}
}

func TestWithheldRowsAreTold(t *testing.T) {
	unknown := encode(abi.CallbackRecord{Header: header(abi.KindCallback, abi.CallbackComplete, 0), Callback: 0x77, StartNs: 300, EndNs: 400})
	for name, test := range map[string]struct {
		filter merge.Filter
		told   bool
	}{
		"selected": {merge.Filter{SelectNodes: []*regexp.Regexp{regexp.MustCompile("/ns")}}, true},
		"ignored":  {merge.Filter{IgnoreNodes: []*regexp.Regexp{regexp.MustCompile("/ns")}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMerger(merge.Options{Filter: &test.filter})
			if err := m.Record(unknown); err != nil {
				t.Fatal(err)
			}
			rows := take(t, m)
			told := slices.ContainsFunc(m.Unresolved(), func(line string) bool { return strings.HasPrefix(line, "1 rows were withheld") })
			if told != test.told || len(rows.Callbacks) == 1 == test.told {
				t.Errorf("told %v of %d kept callbacks: %q", told, len(rows.Callbacks), m.Unresolved())
			}
		})
	}
}

// What is known of a process goes when it is forgotten, but not what has to be told of it.
func TestForgottenProcesses(t *testing.T) {
	var decisions []bool
	m := newMerger(merge.Options{
		Filter:    &merge.Filter{IgnoreTopics: []*regexp.Regexp{regexp.MustCompile("^/out$")}},
		OnIgnored: func(_ int32, _ uint64, ignored bool) bool { decisions = append(decisions, ignored); return true },
	})
	unknown := encode(abi.CallbackRecord{Header: header(abi.KindCallback, abi.CallbackComplete, 0), Callback: 0x77, StartNs: 300, EndNs: 400})
	ignored := encode(abi.PublishRecord{Header: header(abi.KindPublish, 0, 0), Publisher: 0x60, RclNs: 100, Layers: abi.LayerRcl})
	for _, record := range append(announcedEntities(), ignored, unknown) {
		if err := m.Record(record); err != nil {
			t.Fatal(err)
		}
	}
	before := m.Unresolved()
	key := take(t, m).Callbacks[0].ProcessKey
	if err := m.Forget(key); err != nil {
		t.Fatal(err)
	}
	nodes := 0
	if err := m.Take(func(rows *trace.Batch) error {
		nodes = len(rows.Nodes)
		return nil
	}); err != nil || nodes == 0 {
		t.Errorf("its entities were not told (%v)", err)
	}
	if after := m.Unresolved(); len(before) == 0 || !slices.Equal(before, after) {
		t.Errorf("unresolved were %q, and are %q", before, after)
	}
	if !slices.Equal(decisions, []bool{true, false}) {
		t.Errorf("decisions about addresses: %v", decisions)
	}
	known := true
	m.AddIfAbsent(key.PID, func() *merge.Process {
		known = false
		return &merge.Process{Key: key, Graph: entities.New(key)}
	})
	if known {
		t.Error("it is known still")
	}
}

// A slot that the kernel side is not certain of is null, not a number.
func TestUncertainSlotsAreNull(t *testing.T) {
	dequeue := abi.Feed{Source: 0x80, Message: abi.UnknownSlot, Stamp: 3, TimeNs: 100}
	rows := feed(t, merge.Options{}, append(announcedEntities(),
		encode(abi.EnqueueRecord{Header: header(abi.KindEnqueue, 0, abi.FlagDerived), Buffer: 0x80, Index: abi.UnknownSlot, Size: 2, TimeNs: 90}),
		encode(abi.EnqueueRecord{Header: header(abi.KindEnqueue, 0, abi.FlagDerived), Buffer: 0x80, Index: 4, Size: 2, TimeNs: 95}),
		encode(abi.TakeRecord{Header: header(abi.KindTake, 0, abi.FlagFedByDequeue|abi.FlagDerived), Feed: dequeue}))...)
	unknown := trace.Optional[uint64]{}
	if len(rows.Enqueues) != 2 || rows.Enqueues[0].Index != unknown || rows.Enqueues[1].Index != trace.Some(uint64(4)) {
		t.Errorf("enqueues %+v", rows.Enqueues)
	}
	if len(rows.Takes) != 1 || rows.Takes[0].DequeueIndex != unknown || rows.Takes[0].DequeueSize != trace.Some(uint64(3)) {
		t.Errorf("takes %+v", rows.Takes)
	}
}

func TestIgnoredAddressIsRegardedAgainWhenReused(t *testing.T) {
	var decisions []bool
	options := merge.Options{
		Filter:    &merge.Filter{IgnoreTopics: []*regexp.Regexp{regexp.MustCompile("^/out$")}},
		OnIgnored: func(_ int32, _ uint64, ignored bool) bool { decisions = append(decisions, ignored); return true },
	}
	publish := func(at uint64) []byte {
		return encode(abi.PublishRecord{Header: header(abi.KindPublish, 0, 0), Publisher: 0x60, RclNs: at, Layers: abi.LayerRcl})
	}
	rows := feed(t, options, append(announcedEntities(), publish(100), publish(110),
		initEvent(abi.EventRclPublisherInit, 200, "/kept", "", 0x60, 0x10, 0x61, 0, 10), publish(300))...)
	if !reflect.DeepEqual(decisions, []bool{true, false}) {
		t.Errorf("decisions %v", decisions)
	}
	if len(rows.Publishes) != 1 || rows.Publishes[0].TopicName != "/kept" {
		t.Errorf("publishes %+v", rows.Publishes)
	}
}

func TestForeignBytesAreRefused(t *testing.T) {
	m := newMerger(merge.Options{})
	for name, encoded := range map[string][]byte{
		"empty":      {},
		"short":      {1, 2, 3},
		"no kind":    make([]byte, 64),
		"cut short":  fedCallback(1)[:40],
		"too long":   append(fedCallback(1), make([]byte, 8)...),
		"wrong kind": append([]byte{200}, make([]byte, 63)...),
	} {
		t.Run(name, func(t *testing.T) {
			if err := m.Record(encoded); !errors.Is(err, abi.ErrRecord) {
				t.Errorf("error %v, want %v", err, abi.ErrRecord)
			}
		})
	}
}
