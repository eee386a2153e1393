package loader

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// unread knows at which addresses entities begin or end by records that were made and not handled yet: those that wait
// in the ring buffer, and those of the batch that was taken out of it. Who reads the memory of a process for a record
// sees it as it is after these.
type unread struct {
	mu     sync.Mutex
	ring   ringView
	count  uint64           // of records that were taken out
	taken  uint64           // where in the ring buffer they end
	batch  map[place]uint64 // by place, which record of the present batch names it last; they are counted from 1
	looked uint64           // until where the ring buffer was looked through
	pruned uint64           // up to where waiting was pruned last
	// waiting are the places that records name which were looked at in the ring buffer, with where the last one ends.
	waiting map[place]uint64
}

// place is an address in a process.
type place struct {
	pid     int32
	address uint64
}

// busyLooks is how often it is looked at a record that is being written, which takes the kernel a fraction of a
// microsecond.
const busyLooks = 1000

// maxPlaces is how many places of records that were taken out since may stay in waiting.
const maxPlaces = 1 << 12

func newUnread(records *ebpf.Map) (*unread, error) {
	ring, err := mapRing(records)
	if err != nil {
		return nil, err
	}
	return &unread{ring: ring, batch: map[place]uint64{}, waiting: map[place]uint64{}}, nil
}

// begin says that everything that was taken out has been handled.
func (u *unread) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	clear(u.batch)
}

// take notes a record that was taken out of the ring buffer a moment ago, and no other one since.
func (u *unread) take(record []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count++
	eachPlace(record, func(p place) { u.batch[p] = u.count })
	u.taken = u.ring.consumed()
}

// eachPlace calls do with the places that a record names.
func eachPlace(record []byte, do func(place)) {
	if kind, err := abi.KindOf(record); err != nil || kind != abi.KindInit {
		return
	}
	var init abi.InitRecord
	if abi.Decode(record, &init) != nil {
		return
	}
	for _, address := range init.Places() {
		if address != 0 {
			do(place{int32(init.Header.PID), address})
		}
	}
}

// waits reports whether something is in the ring buffer.
func (u *unread) waits() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ring.produced() != u.ring.consumed()
}

// names reports whether a record names a place, or may do so, that is not among the first ones that were taken out.
func (u *unread) names(p place, handled uint64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.batch[p] > handled {
		return true
	}
	if !u.look() {
		return true
	}
	return u.waiting[p] > u.taken
}

// look looks through what has come into the ring buffer since it did so last. It reports whether it could see
// everything: not what is still being written.
func (u *unread) look() bool {
	begin := u.taken
	if u.looked <= begin {
		clear(u.waiting)
		u.looked = begin
	} else if len(u.waiting) > maxPlaces && begin > u.pruned {
		u.pruned = begin
		maps.DeleteFunc(u.waiting, func(_ place, end uint64) bool { return end <= begin })
	}
	produced := u.ring.produced()
	for u.looked < produced {
		record, end, written := u.ring.record(u.looked)
		for again := 0; !written && again < busyLooks; again++ {
			record, end, written = u.ring.record(u.looked)
		}
		if !written {
			return false
		}
		eachPlace(record, func(p place) { u.waiting[p] = end })
		u.looked = end
	}
	if u.ring.closed() || u.ring.produced()-begin > u.ring.size {
		u.looked = 0 // what was taken out meanwhile may have been written over before it was looked at
		return false
	}
	return true
}

func (u *unread) close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ring.close()
}

// Of the first word before a record (linux/bpf.h); the rest of it is the record's length.
const (
	ringHeaderSize = 8
	busyBit        = 1 << 31
	discardBit     = 1 << 30
)

// ringView reads a ring buffer without taking anything out, as BPF_MAP_TYPE_RINGBUF maps it (Linux 5.8,
// kernel/bpf/ringbuf.c): a page with the consumer's position, one with the producer's, and the data twice in a row.
type ringView struct {
	consumer, producer, data []byte
	size                     uint64 // a power of two
}

func mapRing(records *ebpf.Map) (ringView, error) {
	page, size := os.Getpagesize(), int(records.MaxEntries())
	consumer, err := unix.Mmap(records.FD(), 0, page, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return ringView{}, fmt.Errorf("mapping the ring buffer's consumer: %w", err)
	}
	producer, err := unix.Mmap(records.FD(), int64(page), page+2*size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		_ = unix.Munmap(consumer) // it was mapped a moment ago
		return ringView{}, fmt.Errorf("mapping the ring buffer's data: %w", err)
	}
	return ringView{consumer, producer, producer[page:], uint64(size)}, nil
}

// consumed and produced are positions that only grow: how much was taken out, and put in. Both are 0 when it is closed.
func (v *ringView) consumed() uint64 { return position(v.consumer) }
func (v *ringView) produced() uint64 { return position(v.producer) }

func position(page []byte) uint64 {
	if page == nil {
		return 0
	}
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&page[0])))
}

// record returns the record at a position, nil for one that was discarded, and where it ends; false if it is still
// being written.
func (v *ringView) record(at uint64) (record []byte, end uint64, written bool) {
	offset := at & (v.size - 1)
	header := atomic.LoadUint32((*uint32)(unsafe.Pointer(&v.data[offset])))
	if header&busyBit != 0 {
		return nil, 0, false
	}
	length := uint64(header &^ discardBit)
	end = at + (length+ringHeaderSize+7)&^7
	if header&discardBit != 0 || length > v.size {
		return nil, end, true
	}
	return v.data[offset+ringHeaderSize:][:length], end, true
}

func (v *ringView) closed() bool { return v.data == nil }

func (v *ringView) close() error {
	if v.closed() {
		return nil
	}
	consumer, producer := v.consumer, v.producer
	*v = ringView{size: v.size}
	return errors.Join(unix.Munmap(consumer), unix.Munmap(producer))
}
