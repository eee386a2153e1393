package oracle

import "github.com/caret-bpf/caret-bpf/trace"

// CheckSched returns what is wrong with a time off the CPU by itself, "" if nothing is.
func CheckSched(row *trace.Sched) string {
	const lowestPriority = 140
	switch {
	case row.Kind != trace.SchedPreempted && row.Kind != trace.SchedBlocked:
		return "it has no kind"
	case row.SchedInTimestamp < row.SchedOutTimestamp:
		return "it ends before it begins"
	case row.WakingTimestamp.Valid && row.Kind != trace.SchedBlocked:
		return "who was not blocked was woken"
	case row.WakingTimestamp.Valid && row.WakingTimestamp.Value > row.SchedInTimestamp:
		return "it was woken after its end"
	case row.OtherTID.Valid != row.OtherPID.Valid || row.OtherTID.Valid != row.OtherPriority.Valid || row.OtherTID.Valid != (row.OtherCommand != ""):
		return "of another thread only a part is known"
	case row.OtherTID.Valid && row.OtherTID.Value == row.TID:
		return "it had to do with itself"
	case row.Kind == trace.SchedBlocked && row.OtherTID.Valid && !row.WakingTimestamp.Valid:
		return "somebody has woken it who was not seen"
	case row.CallbackStartTimestamp.Valid != (row.Callback != 0):
		return "of its callback only a part is known"
	case row.CallbackStartTimestamp.Value > row.SchedOutTimestamp:
		return "it began before its callback"
	case row.Priority >= lowestPriority || row.OtherPriority.Value >= lowestPriority:
		return "there is no such priority"
	}
	return ""
}
