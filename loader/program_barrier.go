package loader

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// programBarrier waits for programs that run. A map of maps serves for that: when one of its entries is set, the kernel
// waits until no program can still use the former one (Linux 4.18, commit 1ae80cf31938), in a grace period of RCU. So
// preempted programs end, too, which a memory barrier would not wait for.
type programBarrier struct{ outer, inner *ebpf.Map }

func newProgramBarrier() (b programBarrier, err error) {
	entry := &ebpf.MapSpec{Name: "barrier_entry", Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1}
	if b.inner, err = ebpf.NewMap(entry); err == nil {
		b.outer, err = ebpf.NewMap(&ebpf.MapSpec{Name: "barrier", Type: ebpf.ArrayOfMaps, KeySize: 4, MaxEntries: 1, InnerMap: entry})
	}
	if err != nil {
		b.close()
		return programBarrier{}, fmt.Errorf("making what waits for programs: %w", err)
	}
	return b, nil
}

func (b programBarrier) wait() error {
	if err := b.outer.Put(uint32(0), b.inner); err != nil {
		return fmt.Errorf("waiting for programs: %w", err)
	}
	return nil
}

// close lets go of the maps. There is nothing to do about errors.
func (b programBarrier) close() {
	for _, m := range []*ebpf.Map{b.outer, b.inner} {
		if m != nil {
			_ = m.Close()
		}
	}
}

// AwaitPrograms returns when each program that ran at the call has ended: what its thread has open is in Threads,
// and its record is in the ring buffer. It takes about ten milliseconds.
func (l *Loader) AwaitPrograms() error {
	l.readerMutex.Lock()
	defer l.readerMutex.Unlock()
	if l.closed {
		return ErrClosed
	}
	return l.barrier.wait()
}
