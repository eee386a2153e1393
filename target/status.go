package target

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Status is what decides on the kinds of probes a process can bear, and who it is.
type Status struct {
	// ThreadGroup is the PID; another number than asked for means that the number was a thread's.
	ThreadGroup int32
	// NamespacePID is the PID inside the process's own PID namespace.
	NamespacePID int32
	// UID is the effective user ID.
	UID uint32
	// ShadowStack: the main thread has a user shadow stack, with which probes at calls do not go together.
	ShadowStack bool
	// EffectiveCapabilities is the capability set as a bit mask.
	EffectiveCapabilities uint64
}

// parseStatus reads /proc/PID/status. Lines it does not know, and lines that older kernels lack, do not matter.
func parseStatus(text []byte) (Status, error) {
	var status Status
	var sawThreadGroup bool
	for line := range bytes.Lines(text) {
		key, value, found := strings.Cut(strings.TrimSpace(string(line)), ":")
		if !found {
			continue
		}
		fields := strings.Fields(value)
		if len(fields) == 0 {
			continue
		}
		var err error
		switch key {
		case "Tgid":
			status.ThreadGroup, err = parsePID(fields[0])
			sawThreadGroup = true
		case "NSpid":
			status.NamespacePID, err = parsePID(fields[len(fields)-1])
		case "Uid":
			if len(fields) < 2 {
				return status, fmt.Errorf("status: Uid with %d fields", len(fields))
			}
			var uid uint64
			uid, err = strconv.ParseUint(fields[1], 10, 32)
			status.UID = uint32(uid)
		case "CapEff":
			status.EffectiveCapabilities, err = strconv.ParseUint(fields[0], 16, 64)
		case "x86_Thread_features":
			status.ShadowStack = slices.Contains(fields, "shstk")
		}
		if err != nil {
			return status, fmt.Errorf("status: %s: %w", key, err)
		}
	}
	if !sawThreadGroup {
		return status, fmt.Errorf("status without Tgid")
	}
	if status.NamespacePID == 0 {
		status.NamespacePID = status.ThreadGroup
	}
	return status, nil
}

func parsePID(text string) (int32, error) {
	pid, err := strconv.ParseInt(text, 10, 32)
	if err != nil || pid <= 0 {
		return 0, fmt.Errorf("%w: %.40q", ErrInvalidPID, text)
	}
	return int32(pid), nil
}
