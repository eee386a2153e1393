package merge_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// readerBatch is the number of records that the loader hands over at once.
const readerBatch = 4096

// steadyRecords are what a subscription's callback that publishes, and the publish, leave in the ring buffer, n times.
func steadyRecords(n int, from uint64) [][]byte {
	var records [][]byte
	for i := range uint64(n) {
		at := from + i*10_000 + i*i%997
		records = append(records,
			encode(abi.PublishRecord{
				Header: header(abi.KindPublish, abi.PublishComplete, 0), Number: i, Publisher: 0x60, RMWPublisher: 0x61, Message: 0x7f00_1000 + i%4*64,
				RclcppNs: at + 2000, RclNs: at + 2600 + i%50, RMWNs: at + 3300 + i%70, StampNs: at + 4100 + i%90, SourceTimestamp: int64(at) + 3900,
				Callback: 0x30, CallbackStartNs: at, Layers: abi.LayerRclcpp | abi.LayerRcl | abi.LayerRMW | abi.LayerStamp,
			}),
			encode(abi.CallbackRecord{
				Header: header(abi.KindCallback, abi.CallbackComplete, abi.FlagFedByTake), Callback: 0x30, StartNs: at, EndNs: at + 5000 + i%800,
				Feed: abi.Feed{
					Source: 0x21, Message: 0x7f00_2000 + i%4*64, Stamp: int64(at) - 9000, TimeNs: at - 900 - i%60, GID: [2]uint64{1, 2}, Details: abi.DetailGID,
				},
			}),
		)
	}
	return records
}

// TestMergingAllocatesNothingInTheSteadyState: the recorder must not spend the machine's time on collecting garbage.
func TestMergingAllocatesNothingInTheSteadyState(t *testing.T) {
	m := newMerger(merge.Options{})
	records := append(announcedEntities(), steadyRecords(readerBatch/2, 1000)...)
	round := func() {
		for _, record := range records[len(announcedEntities()):] {
			if err := m.Record(record); err != nil {
				t.Fatal(err)
			}
		}
		rows := 0
		if err := m.Take(func(r *trace.Batch) error { rows = len(r.Callbacks) + len(r.Publishes); return nil }); err != nil {
			t.Fatal(err)
		}
		if rows != readerBatch {
			t.Fatalf("%d rows", rows)
		}
	}
	for _, record := range announcedEntities() {
		if err := m.Record(record); err != nil {
			t.Fatal(err)
		}
	}
	if allocations := testing.AllocsPerRun(10, round); allocations > 10 {
		t.Errorf("%.0f allocations for %d records", allocations, readerBatch)
	}
}

// BenchmarkPipeline merges records, names them and writes their rows: all that is done with a record outside of the
// kernel but for reading it from the ring buffer. It measures processor time, of all goroutines and of the garbage
// collector too.
func BenchmarkPipeline(b *testing.B) {
	w, err := writer.Create(filepath.Join(b.TempDir(), "dataset"), writer.Options{})
	if err != nil {
		b.Fatal(err)
	}
	m := newMerger(merge.Options{})
	for _, record := range announcedEntities() {
		if err := m.Record(record); err != nil {
			b.Fatal(err)
		}
	}
	records := steadyRecords(readerBatch/2, 1_000_000)
	b.ReportAllocs()
	merged, before := 0, processorTime(b)
	for b.Loop() {
		for _, record := range records {
			if err := m.Record(record); err != nil {
				b.Fatal(err)
			}
		}
		merged += len(records)
		if err := m.Take(w.Write); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(processorTime(b)-before)/float64(merged), "cpu-ns/record")
	b.ReportMetric(float64(merged)/b.Elapsed().Seconds(), "records/s")
}

// processorTime is what the process has used, in nanoseconds.
func processorTime(b *testing.B) int64 {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
