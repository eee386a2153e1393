package trace_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// Datasets that recorders of formats 1 and 2 have written: they have unsigned columns, that of format 1 has no
// offsets, and neither has numbers of entities.
func TestFormerFormatsAreRead(t *testing.T) {
	for format := 1; format < trace.FormatVersion; format++ {
		t.Run(fmt.Sprint("format ", format), func(t *testing.T) {
			d := open(t, filepath.Join("testdata", fmt.Sprint("format", format)))
			if s := d.Session(); s == nil || s.FormatVersion != format {
				t.Fatalf("session %+v, %s", s, d.Warning())
			}
			checkRows(t, d, formerCallbacks)
			checkRows(t, d, formerPublishes)
			checkRows(t, d, formerEnqueues)
			checkRows(t, d, []trace.Event{{
				ProcessKey: formerProcess, TID: 43, CPU: 1, Event: "rclcpp_publish", EventTimestamp: formerBegin,
				Argument1: trace.Some(uint64(formerPublisher)), Argument2: trace.Some(^uint64(0)),
			}})
			checkRows(t, d, []trace.Node{
				{ProcessKey: formerProcess, NodeHandle: formerNode, NodeName: "talker", Namespace: "/", Provenance: trace.FromMemory},
			})
			checkRows(t, d, []trace.Publisher{{
				ProcessKey: formerProcess, PublisherHandle: formerPublisher, NodeHandle: formerNode, TopicName: "/chatter",
				QueueDepth: trace.Some(uint64(10)), Provenance: trace.FromMemory,
			}})
			checkRows(t, d, []trace.Loss{
				{Kind: trace.LostTake, Reason: trace.LossRingFull, Count: 7, FromTimestamp: formerBegin, ToTimestamp: formerBegin + 1},
			})
			checkSelected(t, d, trace.TablePublish, "publisher_handle", formerPublisher, formerPublishes)
			checkSelected(t, d, trace.TablePublish, "publisher_handle", formerPublisher+1, []trace.Publish(nil))
		})
	}
}

const (
	formerBegin     = int64(1_760_000_000_123_456_789)
	formerNode      = trace.Address(0x55d0c3a00000)
	formerPublisher = trace.Address(0x55d0c3a10340)
	formerMessage   = trace.Address(0x7f3e1c000150)
)

var (
	formerProcess   = trace.ProcessKey{BootID: "2b6c1f0e-6d0a-4a3e-9b57-3f1d0c9a7e11", PID: 42, ProcessStart: 860_000_000}
	formerCallbacks []trace.Callback
	formerPublishes []trace.Publish
	formerEnqueues  []trace.Enqueue
)

func init() {
	for i := range int64(3) {
		at := formerBegin + i
		formerPublishes = append(formerPublishes, trace.Publish{
			ProcessKey: formerProcess, TID: 43, CPU: 1, PublishNumber: uint64(i), PublisherHandle: formerPublisher, Message: formerMessage,
			RclcppPublishTimestamp: trace.Some(at), RclPublishTimestamp: trace.Some(at + 800), SourceTimestamp: trace.Some(at + 900),
			Status: trace.PublishComplete, EnqueueCount: 1, TopicName: "/chatter", Provenance: trace.FromTracepoint,
		})
		formerCallbacks = append(formerCallbacks, trace.Callback{
			ProcessKey: formerProcess, TID: 44, Callback: 0x55d0c3a12300, CallbackStartTimestamp: trace.Some(at + 5000),
			CallbackEndTimestamp: trace.Some(at + 9000), Status: trace.CallbackComplete, IsIntraProcess: trace.Some(false),
			Kind: trace.KindSubscription, Message: formerMessage, SourceTimestamp: trace.Some(at + 900),
			RMWTakeTimestamp: trace.Some(at + 4000), TopicName: "/chatter", Provenance: trace.FromTracepoint,
		})
		formerEnqueues = append(formerEnqueues, trace.Enqueue{
			ProcessKey: formerProcess, TID: 43, CPU: 1, Buffer: 0x55d0c3a20080, Index: trace.Some(uint64(i)), Size: 1, EnqueueTimestamp: at + 300,
			PublishNumber: trace.Some(uint64(i)), Provenance: trace.Derived,
		})
	}
}

func checkRows[T comparable](t *testing.T, d *trace.Dataset, want []T) {
	t.Helper()
	if got := scanAll[T](t, d); !slices.Equal(got, want) {
		t.Errorf("table %s has\n%+v, want\n%+v", trace.TableOf[T]().Name, got, want)
	}
}

// checkSelected wants these of a table's rows to have the address in a column.
func checkSelected[T comparable](t *testing.T, d *trace.Dataset, table, column string, address trace.Address, want []T) {
	t.Helper()
	groups, err := trace.Groups(t.Context(), d, table)
	if err != nil {
		t.Fatal(err)
	}
	var got []T
	for _, group := range groups {
		err := trace.ScanGroup(t.Context(), table, group, trace.Selection{{Column: column, Addresses: trace.Addresses{address: true}}}, func(rows []T) error {
			got = append(got, rows...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s = %v selects\n%+v, want\n%+v", column, address, got, want)
	}
}

// Bounds of the columns of formats 1 and 2 are unsigned: an argument of 2⁶⁴−1 is the greatest there. It is found all
// the same.
func TestBoundsOfFormerFormats(t *testing.T) {
	d := open(t, filepath.Join("testdata", "format2"))
	groups, err := trace.Groups(t.Context(), d, trace.TableEvent)
	if err != nil || len(groups) != 1 {
		t.Fatal(groups, err)
	}
	if !groups[0].MayHold(trace.Selection{{Column: "argument2", Addresses: trace.Addresses{^trace.Address(0): true}}}) {
		t.Error("the greatest argument is not found")
	}
	if groups[0].MayHold(trace.Selection{{Column: "argument2", Addresses: trace.Addresses{1: true}}}) {
		t.Error("the statistics do not rule out what is not there")
	}
}

func TestUnsignedColumns(t *testing.T) {
	current := t.TempDir()
	tracetest.AddSegment(t, current, 0, []trace.Event{{EventTimestamp: formerBegin, Argument2: trace.Some(^uint64(0))}})
	for _, test := range []struct {
		dir  string
		want []string
	}{
		{filepath.Join("testdata", "format1"), []string{"argument1", "argument2", "argument3", "argument4", "argument5"}},
		{filepath.Join("testdata", "format2"), []string{"argument1", "argument2", "argument3", "argument4", "argument5"}},
		{current, nil},
	} {
		groups, err := trace.Groups(t.Context(), open(t, test.dir), trace.TableEvent)
		if err != nil || len(groups) != 1 {
			t.Fatal(groups, err)
		}
		var got []string
		for _, c := range trace.TableByName(trace.TableEvent).Columns {
			if groups[0].IsUnsigned(c.Name) {
				got = append(got, c.Name)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: columns %v are unsigned, want %v", test.dir, got, test.want)
		}
	}
}
