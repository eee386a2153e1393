package loader

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf/btf"
)

// checkRingLock returns ErrUnsupportedKernel where a record cannot be made while the scheduler switches threads: the
// ring buffer's lock is one that sleeps. It is on real-time kernels of before 6.12, and before the correction ("bpf:
// Use raw_spinlock_t in ringbuf") was taken over into their branch.
func checkRingLock() error {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return fmt.Errorf("%w: the kernel's types cannot be read: %w", ErrUnsupportedKernel, err)
	}
	var ring *btf.Struct
	if err := kernel.TypeByName("bpf_ringbuf", &ring); err != nil {
		return fmt.Errorf("%w: the type of its ring buffers: %w", ErrUnsupportedKernel, err)
	}
	if ringLockSleeps(ring) {
		return fmt.Errorf("%w: %w", ErrUnsupportedKernel, errRingLockSleeps)
	}
	return nil
}

var errRingLockSleeps = errors.New("times off the CPU cannot be recorded on this real-time kernel, whose ring buffers have a lock that sleeps: " +
	"use --sched, or a newer kernel")

// ringLockSleeps reports whether the lock of a kernel's ring buffer is a spinlock_t that is a mutex, as on PREEMPT_RT.
func ringLockSleeps(ring *btf.Struct) bool {
	for _, member := range ring.Members {
		lock, isStruct := btf.UnderlyingType(member.Type).(*btf.Struct)
		if !isStruct || lock.Name != "spinlock" {
			continue
		}
		for _, part := range lock.Members {
			if mutex, isStruct := btf.UnderlyingType(part.Type).(*btf.Struct); isStruct && mutex.Name == "rt_mutex_base" {
				return true
			}
		}
	}
	return false
}
