package target

import "strings"

// Identity tells a process from every other one, also from a later one with the same PID and from those before a
// reboot.
type Identity struct {
	// BootID is /proc/sys/kernel/random/boot_id.
	BootID string
	// PID is the process ID in the PID namespace of this program.
	PID int32
	// StartTime is when the process was forked, in nanoseconds since boot with the resolution of a clock tick (10 ms). It
	// does not change when the process executes another program.
	StartTime int64
}

func (f *Finder) readBootID() (string, error) {
	data, err := f.readFile("sys/kernel/random/boot_id", 128)
	return strings.TrimSpace(string(data)), err
}
