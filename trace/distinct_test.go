package trace_test

import (
	"errors"
	"maps"
	"os"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// The columns of these types are coded by dictionaries, not so, and stored as offsets.
type (
	codedColumns struct {
		trace.ProcessKey
		PublisherHandle trace.Address       `column:"publisher_handle,null"`
		Callback        trace.Address       `column:"callback,null"`
		EnqueueCount    uint32              `column:"enqueue_count"`
		Depth           int32               `column:"depth"`
		Status          trace.PublishStatus `column:"status"`
		NodeName        string              `column:"node_name,null"`
	}
	deltaColumns struct {
		TopicName     string `column:"topic_name,null"`
		PublishNumber uint64 `column:"publish_number,delta"`
	}
	offsetColumns struct {
		Rclcpp trace.Optional[int64] `column:"rclcpp_publish_timestamp"`
		Rcl    trace.Optional[int64] `column:"rcl_publish_timestamp"`
	}
	manyColumns struct {
		PublisherHandle    trace.Address `column:"publisher_handle,null"`
		RMWPublisherHandle trace.Address `column:"rmw_publisher_handle,null"`
		Message            trace.Address `column:"message,null"`
		Callback           trace.Address `column:"callback,null"`
		IntraMessage       trace.Address `column:"intra_message,null"`
		TID                int32         `column:"tid"`
		CPU                int32         `column:"cpu"`
	}
)

func TestDistinct(t *testing.T) {
	for name, rows := range map[string][]trace.Publish{
		"synthetic": tracetest.Synthetic(20_000).Publishes,
		"random":    tracetest.Random[trace.Publish](12_345, 3),
		"null":      make([]trace.Publish, 100),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tracetest.AddSegment(t, dir, 0, rows)
			groups, err := trace.Groups(t.Context(), open(t, dir), trace.TablePublish)
			if err != nil {
				t.Fatal(err)
			}
			testDistinct[codedColumns](t, groups)
			testDistinct[deltaColumns](t, groups)
			testDistinct[offsetColumns](t, groups)
			testDistinct[manyColumns](t, groups)
		})
	}
}

func testDistinct[T comparable](t *testing.T, groups []*trace.Group) {
	t.Helper()
	for _, g := range groups {
		want, got := make(map[T]uint64), make(map[T]uint64)
		err := trace.ScanGroup(t.Context(), trace.TablePublish, g, nil, func(rows []T) error {
			for _, row := range rows {
				want[row]++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := trace.Distinct(t.Context(), trace.TablePublish, g, func(row *T, rows uint64) { got[*row] += rows }); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%T: %d distinct rows, want %d", *new(T), len(got), len(want))
		}
	}
}

// Whatever byte of a segment's pages is wrong, the rows that are passed on are no more than there are, and an error is
// a DamageError.
func TestDistinctOfDamagedSegment(t *testing.T) {
	dir := t.TempDir()
	rows := tracetest.Synthetic(300).Publishes
	path := tracetest.AddSegment(t, dir, 0, rows)
	groups, err := trace.Groups(t.Context(), open(t, dir), trace.TablePublish)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damages := 0
	for at := 4; at < len(content)/2; at += 37 {
		content[at] ^= 0x55
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		content[at] ^= 0x55
		var passed uint64
		err := trace.Distinct(t.Context(), trace.TablePublish, groups[0], func(_ *codedColumns, rows uint64) { passed += rows })
		var damage *trace.DamageError
		switch {
		case err == nil && passed != uint64(len(rows)):
			t.Errorf("byte %d: %d rows without an error, want %d", at, passed, len(rows))
		case err != nil && !errors.As(err, &damage):
			t.Errorf("byte %d: error %v", at, err)
		case err != nil:
			damages++
		}
	}
	if damages == 0 {
		t.Error("no damage was found")
	}
}
