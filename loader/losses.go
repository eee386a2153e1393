package loader

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf"

	"github.com/caret-bpf/caret-bpf/bpf"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// Loss counts the records of a kind that were lost for a reason since the loader was made.
type Loss struct {
	Kind   abi.Kind
	Reason abi.Reason
	Count  uint64
}

// LostInits returns how many records of initialization events have found no room in the ring buffer. It is cheap: one
// look at one counter. Call it before handling a batch of records: every loss older than the batch is counted then.
func (l *Loader) LostInits() (count uint64, err error) {
	index := uint32(abi.KindInit)*uint32(abi.ReasonCount) + uint32(abi.ReasonRingFull)
	if err := l.collection.Maps[bpf.CaretMapLosses].Lookup(index, &count); err != nil {
		return 0, fmt.Errorf("reading the loss counters: %w", err)
	}
	return count, nil
}

// Losses returns all losses so far that are not zero, by kind and reason.
func (l *Loader) Losses() ([]Loss, error) {
	counts := make(map[Loss]uint64) // by loss without count
	counters := l.collection.Maps[bpf.CaretMapLosses]
	indexes, values := make([]uint32, counters.MaxEntries()), make([]uint64, counters.MaxEntries())
	// All at once: it is done several times a second.
	read, err := counters.BatchLookup(new(ebpf.MapBatchCursor), indexes, values, nil)
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) { // which says that these were all
		return nil, fmt.Errorf("reading the loss counters: %w", err)
	}
	if read != len(values) {
		return nil, fmt.Errorf("of %d loss counters %d could be read", len(values), read)
	}
	for i, index := range indexes {
		count := values[i]
		counts[Loss{Kind: abi.Kind(index / uint32(abi.ReasonCount)), Reason: abi.Reason(index % uint32(abi.ReasonCount))}] += count
	}
	for name, program := range l.collection.Programs {
		if watchesScheduler(name) {
			continue // what these miss makes parts of callbacks unknown; they count themselves what records lack by it
		}
		stats, err := program.Stats()
		if err != nil {
			if errors.Is(err, ebpf.ErrNotSupported) {
				continue
			}
			return nil, fmt.Errorf("reading the statistics of %s: %w", name, err)
		}
		counts[Loss{Kind: kindOfProgram(name), Reason: abi.ReasonRecursion}] += stats.RecursionMisses
	}
	var losses []Loss
	for loss, count := range counts {
		if count > 0 {
			loss.Count = count
			losses = append(losses, loss)
		}
	}
	slices.SortFunc(losses, func(a, b Loss) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Reason, b.Reason))
	})
	return losses, nil
}

// kindOfProgram returns the kind of record that is incomplete or missing when a program does not run. A program that
// alone makes the records of a kind is called like them.
func kindOfProgram(name string) abi.Kind {
	for kind := range abi.KindCount {
		if name == "on_"+kind.String() {
			return kind
		}
	}
	switch name {
	case "on_init_event":
		return abi.KindInit
	case "on_request_sent", "on_request_taken", "on_response_sent", "on_response_taken":
		return abi.KindService
	case "on_rmw_take", "on_rclcpp_ring_buffer_dequeue":
		return abi.KindTake
	case "on_rclcpp_ring_buffer_enqueue":
		return abi.KindEnqueue
	case "on_callback_start", "on_callback_end", "on_executor_execute", "on_exception_caught", "on_service_executed":
		return abi.KindCallback
	}
	if name == "on_library_load" || strings.HasPrefix(name, "on_sched_process_") {
		return abi.KindProcess
	}
	return abi.KindPublish
}
