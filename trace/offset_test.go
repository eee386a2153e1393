package trace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// layerTimes are two columns of publish, of which the second is stored as an offset from the first where there is one.
type layerTimes struct {
	Rclcpp trace.Optional[int64] `column:"rclcpp_publish_timestamp"`
	RMW    trace.Optional[int64] `column:"rmw_publish_timestamp"`
}

var someLayerTimes = []layerTimes{
	{trace.Some(int64(1_000)), trace.Some(int64(1_250))},
	{trace.Some(int64(2_000)), trace.Some(int64(1_999))}, // an offset may be negative,
	{trace.Some(int64(3_000)), trace.Some(int64(3_000))}, // or 0, which is not null
	{trace.Some(int64(4_000)), trace.Optional[int64]{}},
	{trace.Optional[int64]{}, trace.Some(int64(5_250))},
	{},
}

// TestOffsetsAreTimesAgain writes times and offsets, and reads times.
func TestOffsetsAreTimesAgain(t *testing.T) {
	dir := t.TempDir()
	var rows []trace.Publish
	for _, times := range someLayerTimes {
		rows = append(rows, trace.Publish{RclcppPublishTimestamp: times.Rclcpp, RMWPublishTimestamp: times.RMW})
	}
	tracetest.AddSegment(t, dir, 0, rows)
	if got := scanLayerTimes(t, dir); !slices.Equal(got, someLayerTimes) {
		t.Errorf("got  %+v\nwant %+v", got, someLayerTimes)
	}
	groups, err := trace.Groups(t.Context(), open(t, dir), trace.TablePublish)
	if err != nil || len(groups) != 1 {
		t.Fatal(groups, err)
	}
	g := groups[0]
	if values := g.Values("rmw_publish_timestamp"); values != 4 || g.HasOnlyNull("rmw_publish_timestamp") {
		t.Errorf("%d values", values)
	}
	if span, ok := g.Span("rmw_publish_timestamp"); !ok || span.First > 1_250 || span.Last < 5_250 {
		t.Errorf("span %+v", span)
	}
	if stored, ok := g.Span("rmw_publish_offset"); !ok || stored != (trace.Span{First: -1, Last: 250}) {
		t.Errorf("the offsets are %+v", stored)
	}
}

// TestSegmentWithoutOffsetsReads: datasets of format 1 have times only.
func TestSegmentWithoutOffsetsReads(t *testing.T) {
	type row struct {
		Rclcpp *int64 `parquet:"rclcpp_publish_timestamp,optional"`
		RMW    *int64 `parquet:"rmw_publish_timestamp,optional"`
	}
	pointer := func(o trace.Optional[int64]) *int64 {
		if !o.Valid {
			return nil
		}
		return &o.Value
	}
	var rows []row
	for _, times := range someLayerTimes {
		rows = append(rows, row{pointer(times.Rclcpp), pointer(times.RMW)})
	}
	var segment bytes.Buffer
	if err := parquet.Write(&segment, rows); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, trace.TablePublish), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, trace.TablePublish, "00000000.parquet"), segment.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := scanLayerTimes(t, dir); !slices.Equal(got, someLayerTimes) {
		t.Errorf("got  %+v\nwant %+v", got, someLayerTimes)
	}
}

// TestScanOfATimeNeedsWhatItIsStoredFrom refuses a struct that has a time without the one that its offset is from.
func TestScanOfATimeNeedsWhatItIsStoredFrom(t *testing.T) {
	type alone struct {
		RMW trace.Optional[int64] `column:"rmw_publish_timestamp"`
	}
	if err := trace.Scan(t.Context(), open(t, t.TempDir()), trace.TablePublish, func([]alone) error { return nil }); err == nil {
		t.Error("no error")
	}
}

func scanLayerTimes(t *testing.T, dir string) (all []layerTimes) {
	t.Helper()
	err := trace.Scan(t.Context(), open(t, dir), trace.TablePublish, func(rows []layerTimes) error {
		all = append(all, rows...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
