package loader

import (
	"encoding/binary"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

func TestThreads(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTargetWith(t, library)
		r := newRecording(t, w)
		r.attach(target.pid, target.callbackSites(library)...)
		target.do("open")
		threads, err := r.loader.Threads()
		if err != nil {
			t.Fatal(err)
		}
		if len(threads) != 1 || threads[0].TID != uint32(target.pid) || binary.NativeEndian.Uint32(threads[0].State) != uint32(target.pid) {
			t.Errorf("%d threads, want the main thread alone", len(threads))
		}
	})
}

func TestUnitsAreLeft(t *testing.T) {
	requireRoot(t)
	l, err := New(t.Context(), Options{RingBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, unit := range []abi.Unit{abi.UnitTakeDetails, 31} {
		if err := l.RetireUnit(unit); err != nil {
			t.Fatal(err)
		}
	}
	var left uint32
	if err := l.collection.Variables[bpf.CaretVarUnitsRetired].Get(&left); err != nil || left != 1<<20|1<<31 {
		t.Errorf("%#x, %v", left, err)
	}
}
