package loader

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"time"
	"unsafe"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// TestUnread reads initialization events through a ring buffer that they go round many times.
func TestUnread(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTargetWith(t, library)
		l := w.load(t, Options{RingBytes: 4096})
		sites := []probes.Site{target.site(library, "ros_trace_callback_start", abi.EventRclTimerInit)}
		if _, _, err := l.Attach(t.Context(), target.pid, sites); err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.OpenGate(); err != nil {
			t.Fatal(err)
		}
		pid, timer, handled := int32(target.pid), uint64(0), uint64(0)
		expect := func(when string, after uint64, unread bool) {
			t.Helper()
			if got := l.Unread(pid, timer, after); got != unread {
				t.Fatalf("%s: unread %t, want %t", when, got, unread)
			}
		}
		const rounds, each = 40, 3
		for range rounds {
			target.callbacks(each, 1)
			if timer != 0 {
				expect("in the ring buffer", handled, true)
			}
			batch := newBatch()
			l.reader.SetDeadline(time.Now())
			if err := l.fill(batch); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal(err)
			}
			last := uint64(0) // of those that name the timer
			for i, record := range batch.records {
				if abi.Kind(record[0]) == abi.KindInit {
					timer = binary.NativeEndian.Uint64(record[unsafe.Offsetof(abi.InitRecord{}.Arguments):])
					last = handled + uint64(i) + 1
				}
			}
			if last < handled+each {
				t.Fatalf("%d records have not %d initialization events among them", len(batch.records), each)
			}
			expect("none was handled", handled, true)
			expect("all but one were handled", last-1, true)
			expect("all were handled", last, false)
			if l.Unread(pid+1, timer, handled) || l.Unread(pid, timer+1, handled) {
				t.Error("another process, or another address, is named")
			}
			handled += uint64(len(batch.records))
			l.unread.begin()
		}
		if passed := l.unread.taken; passed < 2*l.unread.ring.size {
			t.Errorf("%d bytes went through a ring buffer of %d", passed, l.unread.ring.size)
		}
		if len(l.unread.waiting) > 1 {
			t.Errorf("%d places are kept", len(l.unread.waiting))
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		expect("after the end", handled, true)
	})
}

// fakeRing is a ring buffer in memory of our own, to which records are added that need not be valid.
type fakeRing struct{ *unread }

func newFakeRing(size int) fakeRing {
	return fakeRing{&unread{
		ring:  ringView{consumer: make([]byte, 8), producer: make([]byte, 8), data: make([]byte, 2*size), size: uint64(size)},
		batch: map[place]uint64{}, waiting: map[place]uint64{},
	}}
}

// add adds a timer's record with bits of its header.
func (r fakeRing) add(timer uint64, bits uint32) {
	record := abi.InitRecord{Header: abi.RecordHeader{Kind: abi.KindInit, Status: uint8(abi.EventRclTimerInit), PID: 1}}
	record.Arguments[0] = timer
	at := r.ring.produced() & (r.ring.size - 1)
	length := int(unsafe.Sizeof(record))
	binary.NativeEndian.PutUint32(r.ring.data[at:], uint32(length)|bits)
	copy(r.ring.data[at+ringHeaderSize:], unsafe.Slice((*byte)(unsafe.Pointer(&record)), length))
	r.produce(uint64(length+ringHeaderSize+7) &^ 7)
}

func (r fakeRing) produce(bytes uint64) {
	binary.NativeEndian.PutUint64(r.ring.producer, r.ring.produced()+bytes)
}

func TestUnreadWhatCannotBeSeen(t *testing.T) {
	const timer, other = 0x1000, 0x2000
	for name, test := range map[string]struct {
		happen func(fakeRing)
		unread bool
	}{
		"nothing":                     {func(fakeRing) {}, false},
		"another timer":               {func(r fakeRing) { r.add(other, 0) }, false},
		"the timer":                   {func(r fakeRing) { r.add(other, 0); r.add(timer, 0); r.add(other, 0) }, true},
		"a discarded record of it":    {func(r fakeRing) { r.add(timer, discardBit); r.add(other, 0) }, false},
		"one that is being written":   {func(r fakeRing) { r.add(other, busyBit) }, true},
		"one behind it":               {func(r fakeRing) { r.add(other, busyBit); r.add(timer, 0) }, true},
		"more than the ring can hold": {func(r fakeRing) { r.add(other, 0); r.produce(2 * r.ring.size) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newFakeRing(1 << 16)
			test.happen(r)
			for range 2 { // it is not forgotten by looking
				if got := r.names(place{1, timer}, 0); got != test.unread {
					t.Errorf("unread %t, want %t", got, test.unread)
				}
			}
		})
	}
}

// TestUnreadIsBounded: what was taken out long ago is not kept, also if something waits all the time.
func TestUnreadIsBounded(t *testing.T) {
	r := newFakeRing(1 << 20)
	size := uint64(0)
	for timer := range uint64(10 * maxPlaces) {
		before := r.ring.produced()
		r.add(timer+1, 0)
		size = r.ring.produced() - before
		if !r.names(place{1, timer + 1}, 0) {
			t.Fatalf("timer %d is not seen", timer)
		}
		if timer > 0 { // all but the last are taken out
			r.taken = r.ring.produced() - size
		}
		if kept := len(r.waiting); kept > maxPlaces+1 {
			t.Fatalf("%d places are kept", kept)
		}
	}
}
