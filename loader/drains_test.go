package loader

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// When Drain returns, all that was recorded before has been handled, however many call it at once.
func TestDrain(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTargetWith(t, library)
		l := w.load(t, Options{RingBytes: 1 << 20})
		if _, _, err := l.Attach(t.Context(), target.pid, target.callbackSites(library)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.OpenGate(); err != nil {
			t.Fatal(err)
		}
		var callbacks atomic.Int64
		ended := make(chan error, 1)
		go func() {
			ended <- l.Read(context.Background(), func(records [][]byte) error {
				for _, record := range records {
					if abi.Kind(record[0]) == abi.KindCallback {
						callbacks.Add(1)
					}
				}
				return nil
			}, time.Hour) // nothing but a call wakes it
		}()
		const each = 100
		for round := int64(1); round <= 20; round++ {
			target.callbacks(each, 1)
			var calls sync.WaitGroup
			for range 8 {
				calls.Go(func() {
					if err := l.Drain(t.Context()); err != nil {
						t.Error(err)
					}
					if got := callbacks.Load(); got != round*each {
						t.Errorf("%d callbacks were handled, want %d", got, round*each)
					}
				})
			}
			calls.Wait()
		}
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := l.Drain(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestDrainIsCancelled(t *testing.T) {
	requireRoot(t)
	l, err := New(t.Context(), Options{RingBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expectError(t, l.Drain(ctx), context.Canceled) // nobody reads
}

// Who waits when the reader ends is told why.
func TestDrainFails(t *testing.T) {
	requireRoot(t)
	l, err := New(t.Context(), Options{RingBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	full := errors.New("disk full")
	drained := make(chan error, 1)
	expectError(t, l.Read(t.Context(), func([][]byte) error {
		go func() { drained <- l.Drain(context.Background()) }()
		for !l.drains.wanted() {
			time.Sleep(time.Millisecond)
		}
		return full
	}, time.Millisecond), full)
	expectError(t, <-drained, full)
}
