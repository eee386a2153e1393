package attachguard

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// holder is a process with a thread that waits for a page.
type holder struct {
	pid     int
	command string
	user    uint32
	devices map[uint64]bool // of the files that it maps; nil where that cannot be told
}

// waitsFor reports whether a page of that connection may be what the process waits for.
func (h holder) waitsFor(c connection) bool { return h.devices[c.device] || h.user == c.owner }

const (
	// A process can keep whoever looks at it waiting, for so long. So many are waited for.
	holderPatience = 100 * time.Millisecond
	maxUnanswered  = 32
	// pageFaultSymbol is in the kernel's stack of a thread that waits for a page, on every architecture.
	pageFaultSymbol = "handle_mm_fault"
)

// findHolders looks at all processes but the recorder.
func findHolders(proc string, recorder int) []holder {
	directories, _ := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	var holders []holder
	unanswered := 0
	for _, directory := range directories {
		pid, err := strconv.Atoi(filepath.Base(directory))
		if err != nil || pid == recorder {
			continue
		}
		if unanswered == maxUnanswered {
			break
		}
		faults, inTime := patiently(func() bool { return hasFault(directory) })
		if !inTime {
			unanswered++
		}
		if faults {
			holders = append(holders, describe(pid, directory))
		}
	}
	return holders
}

func describe(pid int, directory string) holder {
	h := holder{pid: pid}
	command, _ := os.ReadFile(filepath.Join(directory, "comm"))
	h.command = strings.TrimSpace(string(command))
	status, _ := os.ReadFile(filepath.Join(directory, "status"))
	h.user = realUser(status)
	// Up to Linux 6.16 the kernel reads the table under the lock that is held.
	h.devices, _ = patiently(func() map[uint64]bool {
		maps, _ := os.ReadFile(filepath.Join(directory, "maps"))
		return mappedDevices(maps)
	})
	return h
}

// patiently waits a little for an answer. A goroutine that gets none is left behind, until the guard ends.
func patiently[T any](ask func() T) (answer T, inTime bool) {
	answers := make(chan T, 1)
	go func() { answers <- ask() }()
	select {
	case answer = <-answers:
		return answer, true
	case <-time.After(holderPatience):
		return answer, false
	}
}

// hasFault reports whether a thread of a process waits in the kernel for a page.
func hasFault(directory string) bool {
	stacks, _ := filepath.Glob(filepath.Join(directory, "task/*/stack"))
	for _, stack := range stacks {
		if text, err := os.ReadFile(stack); err == nil && bytes.Contains(text, []byte(pageFaultSymbol)) {
			return true
		}
	}
	return false
}

// realUser is the user who started a process, by the text of its status.
func realUser(status []byte) uint32 {
	for line := range bytes.Lines(status) {
		if value, found := bytes.CutPrefix(line, []byte("Uid:")); found {
			if fields := bytes.Fields(value); len(fields) > 0 {
				user, _ := strconv.ParseUint(string(fields[0]), 10, 32)
				return uint32(user)
			}
		}
	}
	return 0
}

// mappedDevices are those of the files in the text of /proc/PID/maps.
func mappedDevices(maps []byte) map[uint64]bool {
	devices := map[uint64]bool{}
	for line := range bytes.Lines(maps) {
		fields := bytes.Fields(line)
		if len(fields) < 5 {
			continue
		}
		major, minor, _ := strings.Cut(string(fields[3]), ":")
		majorNumber, err := strconv.ParseUint(major, 16, 32)
		minorNumber, minorErr := strconv.ParseUint(minor, 16, 32)
		if err == nil && minorErr == nil {
			devices[unix.Mkdev(uint32(majorNumber), uint32(minorNumber))] = true
		}
	}
	return devices
}
