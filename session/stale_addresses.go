package session

// staleAddresses are PIDs of processes that are over, of whose addresses the kernel side may remember something. It
// knows processes by their PIDs only.
type staleAddresses map[int32]bool

// note notes a process that is over.
func (s staleAddresses) note(entry *process) {
	if entry.ros2 || entry.shown {
		s[entry.row.PID] = true
	}
}

// take returns the PIDs that no process has. With others those of living processes would be forgotten.
func (s staleAddresses) take(isUsed func(pid int32) bool) (free []int32) {
	for pid := range s {
		if !isUsed(pid) {
			free = append(free, pid)
			delete(s, pid)
		}
	}
	return free
}
