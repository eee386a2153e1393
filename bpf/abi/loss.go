package abi

import "fmt"

// Reason says why records were lost.
type Reason uint8

// Reasons of losses.
const (
	ReasonRingFull      Reason = 0
	ReasonNoThreadState Reason = 1
	ReasonDepthExceeded Reason = 2
	ReasonMapFull       Reason = 3
	ReasonFault         Reason = 4
	ReasonMissed        Reason = 5
	// ReasonCount is how many the kernel side may count.
	ReasonCount Reason = 16
	// ReasonRecursion is counted by the kernel itself: it did not run the program, because it was running on this CPU
	// already (5.12).
	ReasonRecursion = ReasonCount
)

var reasonNames = [...]string{
	ReasonRingFull: "ring_full", ReasonNoThreadState: "no_thread_state", ReasonDepthExceeded: "depth_exceeded", ReasonMapFull: "map_full",
	ReasonFault: "fault", ReasonMissed: "missed", ReasonRecursion: "recursion",
}

// String returns the reason's name in the dataset's loss table.
func (r Reason) String() string {
	if int(r) < len(reasonNames) && reasonNames[r] != "" {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason_%d", uint8(r))
}
