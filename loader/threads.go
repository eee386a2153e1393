package loader

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/cilium/ebpf"

	"github.com/caret-bpf/caret-bpf/bpf"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// ThreadState is what the kernel still knew of a thread: struct thread_state of bpf/src/thread_state.h.
type ThreadState struct {
	TID   uint32
	State []byte
}

// threadsAtOnce is of how many threads the kernel copies the states at once, into memory that a processor's cache
// holds. The kernel copies those of one of its buckets together: these are few, because there are as many buckets as
// there may be threads.
const threadsAtOnce = 64

// eachThread calls use with the state of each thread that has one, which is valid until use returns.
func eachThread(threads *ebpf.Map, use func(tid uint32, state *abi.ThreadState)) error {
	tids, states := make([]uint32, threadsAtOnce), make([]abi.ThreadState, threadsAtOnce)
	var cursor ebpf.MapBatchCursor
	for {
		count, err := threads.BatchLookup(&cursor, tids, states, nil)
		isLast := errors.Is(err, ebpf.ErrKeyNotExist)
		if err != nil && !isLast {
			return fmt.Errorf("reading the threads' state: %w", err)
		}
		for i, tid := range tids[:count] {
			use(tid, &states[i])
		}
		if isLast {
			return nil
		}
	}
}

// Threads returns the state of the threads that have one: their open callbacks and publishes and unconsumed takes.
// While programs go on, a state may be half of one event and half of the next, but each of its words is whole, and
// threads that begin or end meanwhile may be missing. After Detach it is complete and still.
func (l *Loader) Threads() (all []ThreadState, err error) {
	err = eachThread(l.collection.Maps[bpf.CaretMapThreads], func(tid uint32, state *abi.ThreadState) {
		encoded := unsafe.Slice((*byte)(unsafe.Pointer(state)), unsafe.Sizeof(*state))
		all = append(all, ThreadState{TID: tid, State: slices.Clone(encoded)})
	})
	return all, err
}

// Accounts calls use with what each thread that has a state was charged so far, while programs go on. Threads that
// begin or end meanwhile may be missing.
func (l *Loader) Accounts(use func(abi.ThreadRecord)) error {
	return eachThread(l.collection.Maps[bpf.CaretMapThreads], func(_ uint32, state *abi.ThreadState) { use(state.ThreadRecord()) })
}
