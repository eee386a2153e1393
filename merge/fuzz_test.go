package merge_test

import (
	"bytes"
	"errors"
	"testing"
	"unsafe"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/trace"
)

// encode returns a record as the kernel side would write it.
func encode[T any](record T) []byte {
	return bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(&record)), unsafe.Sizeof(record)))
}

func newMerger(options merge.Options) *merge.Merger {
	if options.Identify == nil {
		options.Identify = func(pid int32) *merge.Process {
			key := trace.ProcessKey{BootID: "boot", PID: pid, ProcessStart: 1}
			return &merge.Process{Key: key, Graph: entities.New(key)}
		}
	}
	options.EventName = func(uint8) (string, int) { return "event", 5 }
	return merge.New(options)
}

// FuzzRecord feeds arbitrary bytes: a record is merged into one row of its table or refused, never a panic.
func FuzzRecord(f *testing.F) {
	for kind := abi.Kind(0); kind < 9; kind++ {
		header := abi.RecordHeader{Kind: kind, Status: 1, Flags: 0xff, PID: 1, TID: 2}
		f.Add(encode(abi.CallbackRecord{Header: header, Callback: 1, StartNs: 2, EndNs: 3}))
		f.Add(encode(abi.PublishRecord{Header: header, Layers: 31}))
		f.Add(encode(abi.TakeRecord{Header: header}))
		f.Add(encode(abi.EnqueueRecord{Header: header}))
		f.Add(encode(abi.InitRecord{Header: header}))
		f.Add(encode(abi.RawRecord{Header: header}))
		f.Add(encode(abi.ProcessRecord{Header: header}))
	}
	f.Add(encode(abi.ThreadState{Depth: 0xffffffff, PublishOpen: 1, TakePending: 1, DequeuePending: 1}))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		m := newMerger(merge.Options{})
		if err := m.Record(encoded); err != nil && !errors.Is(err, abi.ErrRecord) {
			t.Fatal(err)
		}
		if err := m.CloseThread(encoded); err != nil && !errors.Is(err, abi.ErrRecord) {
			t.Fatal(err)
		}
		if err := m.Take(func(*trace.Batch) error { return nil }); err != nil {
			t.Fatal(err)
		}
	})
}
