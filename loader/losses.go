package loader

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
)

// Kind is a kind of kernel record: what was lost. The numbers are those of enum record_kind in bpf/src/records.h.
type Kind uint8

// Kinds of records.
const (
	KindCallback Kind = 1
	KindPublish  Kind = 2
	KindTake     Kind = 3
	KindEnqueue  Kind = 4
	KindInit     Kind = 5
	KindRaw      Kind = 6
	KindProcess  Kind = 7
	KindService  Kind = 8
	KindSimTime  Kind = 9
	KindThread   Kind = 10
)

// String returns the kind's name in the dataset's loss table.
func (k Kind) String() string {
	names := [...]string{"", "callback", "publish", "take", "enqueue", "init", "raw", "process", "service", "sim_time", "thread"}
	if k == 0 || int(k) >= len(names) {
		return fmt.Sprintf("kind_%d", uint8(k))
	}
	return names[k]
}

// Reason says why records were lost. The numbers are those of enum loss_reason in bpf/src/records.h, and one that the kernel counts itself.
type Reason uint8

// Reasons of losses.
const (
	ReasonRingFull      Reason = 0
	ReasonNoThreadState Reason = 1
	ReasonDepthExceeded Reason = 2
	ReasonMapFull       Reason = 3
	ReasonFault         Reason = 4
	lossReasons                = 16 // LOSS_REASON_COUNT
	// ReasonRecursion: the kernel did not run the program, because it was running on this CPU already (5.12).
	ReasonRecursion Reason = lossReasons
)

// String returns the reason's name in the dataset's loss table.
func (r Reason) String() string {
	names := [...]string{"ring_full", "no_thread_state", "depth_exceeded", "map_full", "fault"}
	switch {
	case r == ReasonRecursion:
		return "recursion"
	case int(r) >= len(names):
		return fmt.Sprintf("reason_%d", uint8(r))
	}
	return names[r]
}

// Loss counts the records of a kind that were lost for a reason since the loader was made.
type Loss struct {
	Kind   Kind
	Reason Reason
	Count  uint64
}

// LostInits returns how many records of initialization events have found no room in the ring buffer. It is cheap: one look at one counter. Who
// asks before he handles records that Read hands on knows of each that was lost before any of them was made.
func (l *Loader) LostInits() (count uint64, err error) {
	index := uint32(KindInit)*lossReasons + uint32(ReasonRingFull)
	if err := l.collection.Maps["losses"].Lookup(index, &count); err != nil {
		return 0, fmt.Errorf("reading the loss counters: %w", err)
	}
	return count, nil
}

// Losses returns all losses so far that are not zero, by kind and reason.
func (l *Loader) Losses() ([]Loss, error) {
	counts := make(map[Loss]uint64) // by loss without count
	counters := l.collection.Maps["losses"]
	for index := range counters.MaxEntries() {
		var count uint64
		if err := counters.Lookup(index, &count); err != nil {
			return nil, fmt.Errorf("reading the loss counters: %w", err)
		}
		counts[Loss{Kind: Kind(index / lossReasons), Reason: Reason(index % lossReasons)}] += count
	}
	for name, program := range l.collection.Programs {
		stats, err := program.Stats()
		if err != nil {
			if errors.Is(err, ebpf.ErrNotSupported) {
				continue
			}
			return nil, fmt.Errorf("reading the statistics of %s: %w", name, err)
		}
		counts[Loss{Kind: kindOfProgram(name), Reason: ReasonRecursion}] += stats.RecursionMisses
	}
	var losses []Loss
	for loss, count := range counts {
		if count > 0 {
			loss.Count = count
			losses = append(losses, loss)
		}
	}
	slices.SortFunc(losses, func(a, b Loss) int {
		return (int(a.Kind)-int(b.Kind))*(lossReasons+1) + int(a.Reason) - int(b.Reason)
	})
	return losses, nil
}

// kindOfProgram returns the kind of record that is incomplete or missing when a program does not run.
func kindOfProgram(name string) Kind {
	switch name {
	case "on_init_event":
		return KindInit
	case "on_sim_time":
		return KindSimTime
	case "on_request_sent", "on_request_taken", "on_response_sent", "on_response_taken":
		return KindService
	case "on_rmw_take", "on_rclcpp_ring_buffer_dequeue":
		return KindTake
	case "on_rclcpp_ring_buffer_enqueue":
		return KindEnqueue
	case "on_callback_start", "on_callback_end", "on_executor_execute", "on_exception_caught", "on_service_executed":
		return KindCallback
	}
	if name == "on_library_load" || strings.HasPrefix(name, "on_sched_process_") {
		return KindProcess
	}
	return KindPublish
}
