package loader

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

func TestStopLosesAndDoublesNothing(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTargetWith(t, library)
		r := newRecording(t, w)
		r.attach(target.pid, target.callbackSites(library)...)
		target.do("open")
		target.callbacks(50, 4)

		if _, _, err := r.loader.CloseGate(); err != nil {
			t.Fatal(err)
		}
		if err := r.loader.Detach(); err != nil {
			t.Fatal(err)
		}
		threads, err := r.loader.Threads()
		if err != nil {
			t.Fatal(err)
		}
		// The threads that ended have closed their own; the main thread is in the callback that it opened.
		if len(threads) != 1 || threads[0].TID != uint32(target.pid) {
			t.Fatalf("%d threads have state: %v", len(threads), threads)
		}
		if pid := binary.NativeEndian.Uint32(threads[0].State); pid != uint32(target.pid) {
			t.Errorf("the state is of PID %d, want %d", pid, target.pid)
		}
		if err := r.loader.Flush(); err != nil {
			t.Fatal(err)
		}
		r.wait()
		kinds := map[abi.Kind]int{}
		for _, record := range r.records {
			kinds[abi.Kind(record[0])]++
		}
		if kinds[abi.KindCallback] != 200 || kinds[abi.KindRaw] != 401 {
			t.Errorf("records by kind: %v; want 200 callbacks and 401 hits", kinds)
		}
		statistics := r.loader.Statistics()
		if statistics.Records != uint64(len(r.records)) || statistics.RingPending != 0 || statistics.RingPeak == 0 {
			t.Errorf("%d records, statistics %+v", len(r.records), statistics)
		}
		if err := r.loader.Close(); err != nil {
			t.Error(err)
		}
		if statistics := r.loader.Statistics(); statistics != (Statistics{}) {
			t.Errorf("statistics after Close: %+v", statistics)
		}
	})
}

func TestRecordsAndLossesMakeTheWhole(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTargetWith(t, library)
		l := w.load(t, Options{Raw: true, RingBytes: 1})
		if _, _, err := l.Attach(t.Context(), target.pid, target.callbackSites(library)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.OpenGate(); err != nil {
			t.Fatal(err)
		}
		// Nobody reads while a ring of one page fills.
		target.callbacks(200, 2)
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		counts := map[abi.Kind]uint64{}
		err := l.Read(t.Context(), func(records [][]byte) error {
			for _, record := range records {
				counts[abi.Kind(record[0])]++
			}
			return nil
		}, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		losses, err := l.Losses()
		if err != nil {
			t.Fatal(err)
		}
		lost := map[abi.Kind]uint64{}
		for _, loss := range losses {
			if loss.Reason != abi.ReasonRingFull {
				t.Errorf("%d %v lost: %v", loss.Count, loss.Kind, loss.Reason)
			}
			lost[loss.Kind] += loss.Count
		}
		if lost[abi.KindRaw] == 0 || counts[abi.KindRaw]+lost[abi.KindRaw] != 800 || counts[abi.KindCallback]+lost[abi.KindCallback] != 400 {
			t.Errorf("records %v + lost %v; want 800 hits and 400 callbacks", counts, lost)
		}
	})
}

func TestReadEnds(t *testing.T) {
	requireRoot(t)
	newIdle := func(t *testing.T) *Loader {
		l, err := New(t.Context(), Options{RingBytes: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	ignore := func([][]byte) error { return nil }

	t.Run("when its context ends", func(t *testing.T) {
		l := newIdle(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		expectError(t, l.Read(ctx, ignore, time.Hour), context.Canceled)
	})
	t.Run("with the handler's error", func(t *testing.T) {
		l := newIdle(t)
		full := errors.New("disk full")
		expectError(t, l.Read(t.Context(), func([][]byte) error { return full }, time.Millisecond), full)
	})
	t.Run("when the loader is closed", func(t *testing.T) {
		l := newIdle(t)
		batches := make(chan int)
		ended := make(chan error, 1)
		go func() {
			ended <- l.Read(t.Context(), func(records [][]byte) error {
				select {
				case batches <- len(records):
				default:
				}
				return nil
			}, time.Millisecond)
		}()
		if n := <-batches; n != 0 {
			t.Errorf("%d records of nothing", n)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		expectError(t, <-ended, ErrClosed)
		expectError(t, l.Read(t.Context(), ignore, time.Second), ErrClosed)
	})
}

func TestIgnoredAddressesAreNotRecorded(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTargetWith(t, library)
		w.options.FilterAddresses = true
		r := newRecording(t, w)
		r.attach(target.pid, target.callbackSites(library)...)
		callbacks := func() int {
			r.drain()
			count := 0
			for _, record := range r.records {
				if abi.Kind(record[0]) == abi.KindCallback {
					count++
				}
			}
			return count
		}
		const firstCallback = 0x1000 // what the target's first thread passes
		if err := r.loader.Ignore(target.pid, firstCallback); err != nil {
			t.Fatal(err)
		}
		target.callbacks(10, 3)
		if got := callbacks(); got != 20 {
			t.Errorf("%d callbacks, want 20 of the threads that are not ignored", got)
		}
		if err := r.loader.Unignore(target.pid, firstCallback); err != nil {
			t.Fatal(err)
		}
		target.callbacks(10, 3)
		if got := callbacks(); got != 50 {
			t.Errorf("%d callbacks, want 50", got)
		}
	})
	t.Run("without the option", func(t *testing.T) {
		requireRoot(t)
		r := newRecording(t, ways()[1])
		if err := r.loader.Ignore(1, 1); err == nil {
			t.Error("an address is ignored although nobody looks")
		}
	})
}

// TestForksAreReported requires that user space is told of a child before anything else happens in it, and only of
// children of listed processes, and not of those that are there only to exec.
func TestForksAreReported(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		listed, other := startTargetWith(t, library), startTargetWith(t, library)
		w.options.ReportAllExecs = true
		r := newRecording(t, w)
		if err := r.loader.AddProcess(listed.pid); err != nil {
			t.Fatal(err)
		}
		r.attach(0, listed.callbackSites(library)...)
		listed.do("fork 10")
		listed.do("spawn")
		other.do("fork 10")
		r.drain()
		const fork, parentPID = 1, 32 // PROCESS_FORK, and where struct process_record has the parent
		word := func(record []byte, offset int) uint32 { return binary.NativeEndian.Uint32(record[offset:]) }
		seen := map[uint32]int{}
		reported := 0
		for _, record := range r.records {
			pid := word(record, 8)
			if abi.Kind(record[0]) == abi.KindProcess && record[1] == fork {
				reported++
				if parent := word(record, parentPID); parent != uint32(listed.pid) {
					t.Errorf("a child of PID %d is reported", parent)
				}
				if seen[pid] > 0 {
					t.Errorf("%d records of PID %d came before it was reported", seen[pid], pid)
				}
			}
			seen[pid]++
		}
		if reported != 1 || seen[uint32(listed.pid)] == 0 {
			t.Errorf("%d forks are reported, want 1; records by PID: %v", reported, seen)
		}
	})
}

// startsByProcess counts the hits of callback_start.
func (r *recording) startsByProcess() map[int32]int {
	hits := map[int32]int{}
	for _, record := range r.records {
		if abi.Kind(record[0]) == abi.KindRaw && record[1] == uint8(abi.EventCallbackStart) {
			hits[abi.PIDOf(record)]++
		}
	}
	return hits
}

// startOf is when a process began, in nanoseconds since boot to the clock tick.
func startOf(t *testing.T, pid int32) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	ticks, err := strconv.ParseInt(fields[19], 10, 64) // starttime, of 100 a second
	if err != nil {
		t.Fatal(err)
	}
	return ticks * int64(time.Second/100)
}

// TestNewProcessesAreListed requires that a program that begins, or a child, is recorded before user space has decided
// about it, and until it takes it off the list: it, and not one that had its PID before.
func TestNewProcessesAreListed(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		former := startTargetWith(t, library)
		w.options.FilterProcesses, w.options.ReportAllExecs = true, true
		r := newRecording(t, w)
		r.attach(0, former.callbackSites(library)...)
		later := startTargetWith(t, library)
		former.callbacks(10, 1)
		later.callbacks(10, 1)
		later.do("fork 10")
		start := startOf(t, later.pid)
		if err := r.loader.RemoveProcess(later.pid, start-10_000_000); err != nil {
			t.Fatal(err)
		}
		later.callbacks(10, 1)
		if err := r.loader.RemoveProcess(later.pid, start); err != nil {
			t.Fatal(err)
		}
		later.callbacks(10, 1)
		r.drain()
		hits := r.startsByProcess()
		if hits[former.pid] != 0 || hits[later.pid] != 30 || len(hits) != 2 {
			t.Errorf("hits by process: %v; want 30 of %d and 10 of its child", hits, later.pid)
		}
	})
}

func TestProcessesAreFollowed(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTargetWith(t, library)
		w.options.FilterProcesses, w.options.FollowChildren = true, true
		r := newRecording(t, w)
		if err := r.loader.AddProcess(target.pid); err != nil {
			t.Fatal(err)
		}
		r.attach(0, target.callbackSites(library)...)
		target.do("fork 10")
		r.drain()
		byProcess := r.startsByProcess()
		if len(byProcess) != 2 || byProcess[target.pid] != 10 {
			t.Errorf("hits by process: %v; want 10 of %d and 10 of its child", byProcess, target.pid)
		}
		for pid, hits := range byProcess {
			if hits != 10 {
				t.Errorf("%d hits in PID %d, want 10", hits, pid)
			}
		}
	})
}
