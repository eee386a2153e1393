package oracle

import (
	"fmt"

	"github.com/caret-bpf/caret-bpf/trace"
)

// CheckParts says what is wrong with the parts of a callback's duration, "" if nothing is: they are known together, of
// complete callbacks only, and add up.
func CheckParts(row *trace.Callback) string {
	parts := []trace.Optional[int64]{row.CPUTime, row.PreemptedTime, row.BlockedTime, row.WakeupLatency}
	counts := []trace.Optional[int32]{row.Preemptions, row.Migrations}
	sum, known, negative := int64(0), 0, false
	for _, part := range parts {
		sum += part.Value
		negative = negative || part.Value < 0
		if part.Valid {
			known++
		}
	}
	for _, count := range counts {
		negative = negative || count.Value < 0
		if count.Valid {
			known++
		}
	}
	duration := row.CallbackEndTimestamp.Value - row.CallbackStartTimestamp.Value
	switch {
	case known == 0:
		return ""
	case known < len(parts)+len(counts):
		return "some parts are known, others are not"
	case row.Status != trace.CallbackComplete:
		return "the parts of a callback are known that is not complete"
	case negative:
		return "a part is negative"
	case sum != duration:
		return fmt.Sprintf("the parts are %d ns, the duration is %d ns", sum, duration)
	case row.PreemptedTime.Value > 0 && row.Preemptions.Value == 0:
		return "preempted for a time, and never"
	}
	return ""
}
