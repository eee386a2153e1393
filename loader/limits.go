package loader

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Limit is a bound that this machine sets to recording.
type Limit struct {
	// Name says what is bounded, and how.
	Name string
	// Required is false where recording goes on, but not at any size.
	Required bool
	// Err is nil where the bound leaves room enough; otherwise it names the remedy.
	Err error
}

// Limits finds out what bounds recording here, given what the kernel can do.
func Limits(features Features) []Limit {
	limits := []Limit{openFilesLimit(openFiles(), features.UprobeMulti == nil)}
	if release := kernelRelease(); olderThan(release, 5, 11) {
		limits = append(limits, lockedMemoryLimit(lockedMemory()))
	}
	memory, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		memory = nil // the largest buffer is not told then
	}
	return append(limits, ringLimit(tryRing(), availableMemory(string(memory))))
}

// What a recording keeps open, as measured: for itself, and for a process of a few dozen sites, whose links are one for
// each file and program, or two descriptors for each event where they are made through tracefs.
const (
	ownFiles            = 64
	filesPerProcess     = 32
	tracefsFilesProcess = 128
	// fewProcesses is the size of system from which on the limit deserves no word.
	fewProcesses = 25
)

// openFiles returns the limit of open files. The Go runtime has raised the soft limit to the hard one.
func openFiles() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return unix.RLIM_INFINITY
	}
	return limit.Max
}

func openFilesLimit(limit uint64, uprobeMulti bool) Limit {
	each := uint64(filesPerProcess)
	if !uprobeMulti {
		each = tracefsFilesProcess
	}
	processes := (max(limit, ownFiles) - ownFiles) / each
	result := Limit{Name: fmt.Sprintf("open files (limit %d, about %d processes with -p)", limit, processes)}
	if limit == unix.RLIM_INFINITY {
		result.Name = "open files (no limit)"
	}
	if processes < fewProcesses {
		result.Err = fmt.Errorf("attaching needs about %d and %d for each process: raise it, as with ulimit -Hn %d or systemd's LimitNOFILE",
			ownFiles, each, ownFiles+10*fewProcesses*each)
	}
	return result
}

// lockedMemory returns the limit of locked memory, in bytes, which BPF maps count against before Linux 5.11, and
// whether this process may raise it.
func lockedMemory() (limit uint64, raisable bool) {
	effective, err := effectiveCapabilities()
	raisable = err == nil && len(missingCapabilities(effective, []capability{capSysResource})) == 0
	var memory unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &memory); err != nil {
		return 0, raisable
	}
	return memory.Max, raisable
}

func lockedMemoryLimit(limit uint64, raisable bool) Limit {
	result := Limit{Name: "locked memory", Required: true}
	if limit != unix.RLIM_INFINITY && !raisable {
		result.Err = errors.New("before Linux 5.11 BPF maps count as locked memory, and raising its limit needs CAP_SYS_RESOURCE: " +
			"run with sudo, or raise it with ulimit -Hl unlimited")
	}
	return result
}

// tryRing makes a ring buffer of the default size.
func tryRing() error {
	ring, err := ebpf.NewMap(&ebpf.MapSpec{Name: "probe_ring", Type: ebpf.RingBuf, MaxEntries: ringSize(0)})
	if err != nil {
		return err
	}
	return ring.Close()
}

// ringLimit tells of the ring buffer's memory, which the kernel allocates at once; available is the machine's, 0 if
// unknown.
func ringLimit(failure error, available uint64) Limit {
	result := Limit{Name: fmt.Sprintf("ring buffer (%s by default)", ringText(defaultRingBytes)), Required: true, Err: failure}
	if available > 0 {
		most := uint64(1) << (bits.Len64(min(available, maxRingBytes)) - 1)
		result.Name = fmt.Sprintf("ring buffer (%s by default, at most %s)", ringText(defaultRingBytes), ringText(most))
	}
	if failure != nil {
		result.Err = fmt.Errorf("it cannot be made: %w; choose a smaller --buffer-size", failure)
		if isPermission(failure) {
			result.Err = permissionError("creating a BPF ring buffer", failure, capBPF)
		}
	}
	return result
}

// ringText shows a power of two as --buffer-size takes it.
func ringText(bytes uint64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%dG", bytes>>30)
	case bytes >= 1<<20:
		return fmt.Sprintf("%dM", bytes>>20)
	}
	return fmt.Sprintf("%dK", bytes>>10)
}

// availableMemory reads MemAvailable of /proc/meminfo, in bytes; 0 if it is not there.
func availableMemory(meminfo string) uint64 {
	for line := range strings.Lines(meminfo) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "MemAvailable:" && fields[2] == "kB" {
			kilobytes, err := strconv.ParseUint(fields[1], 10, 44)
			if err != nil {
				return 0
			}
			return kilobytes << 10
		}
	}
	return 0
}

// olderThan compares a release such as "6.1.0-37-amd64" with a version. Of a release that cannot be read nothing is
// said: false.
func olderThan(release string, major, minor int) bool {
	var isMajor, isMinor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &isMajor, &isMinor); n != 2 {
		return false
	}
	return isMajor < major || isMajor == major && isMinor < minor
}
