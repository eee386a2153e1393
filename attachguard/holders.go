package attachguard

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// holder is a process that keeps its memory map while somebody waits for it.
type holder struct {
	pid     int
	command string
	user    uint32
	devices map[uint64]bool // of the files that it maps; nil where that cannot be told
}

// String names the process, on one line whatever its name is.
func (h holder) String() string { return fmt.Sprintf("PID %d (%.40q)", h.pid, h.command) }

// holders finds processes that keep their map. What is asked about them may wait for ever: no process is asked twice
// while an answer is awaited.
type holders struct {
	mutex   sync.Mutex
	awaited map[int]bool // PIDs
}

const (
	// patience is how long answers are waited for.
	patience = 100 * time.Millisecond
	// askedAtOnce are asked side by side. No more are asked when there is no answer from maxAwaited, each of which a
	// thread waits for.
	askedAtOnce = 128
	maxAwaited  = 1024
)

// find looks at all processes but the recorder. Who wants to change a memory map goes before those who only want to
// read it. So while the recorder waits to change one, reading the arguments of just that process gets no answer.
func (hs *holders) find(proc string, recorder int) []holder {
	directories, _ := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	for some := range slices.Chunk(directories, askedAtOnce) {
		if len(hs.unanswered()) < maxAwaited {
			hs.ask(some, recorder)
		}
	}
	var found []holder
	for _, pid := range hs.unanswered() {
		found = append(found, describe(pid, filepath.Join(proc, strconv.Itoa(pid))))
	}
	return found
}

// ask asks some processes, and waits a little for their answers.
func (hs *holders) ask(directories []string, recorder int) {
	var asking sync.WaitGroup
	for _, directory := range directories {
		pid, err := strconv.Atoi(filepath.Base(directory))
		if err != nil || pid == recorder || !hs.begin(pid) {
			continue
		}
		asking.Go(func() {
			defer hs.end(pid)
			_, _ = os.ReadFile(filepath.Join(directory, "cmdline"))
		})
	}
	answered := make(chan struct{})
	go func() {
		asking.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(patience):
	}
}

// begin reports whether a process is to be asked.
func (hs *holders) begin(pid int) bool {
	hs.mutex.Lock()
	defer hs.mutex.Unlock()
	if hs.awaited[pid] {
		return false
	}
	if hs.awaited == nil {
		hs.awaited = map[int]bool{}
	}
	hs.awaited[pid] = true
	return true
}

func (hs *holders) end(pid int) {
	hs.mutex.Lock()
	defer hs.mutex.Unlock()
	delete(hs.awaited, pid)
}

// unanswered are the processes that were asked and have not answered, in the order of their PIDs.
func (hs *holders) unanswered() []int {
	hs.mutex.Lock()
	defer hs.mutex.Unlock()
	return slices.Sorted(maps.Keys(hs.awaited))
}

func describe(pid int, directory string) holder {
	h := holder{pid: pid}
	command, _ := os.ReadFile(filepath.Join(directory, "comm"))
	h.command = strings.TrimSuffix(string(command), "\n")
	status, _ := os.ReadFile(filepath.Join(directory, "status"))
	h.user = realUser(status)
	// Up to Linux 6.16 the kernel reads the table under the lock that is kept.
	table := make(chan map[uint64]bool, 1)
	go func() {
		if text, err := os.ReadFile(filepath.Join(directory, "maps")); err == nil {
			table <- mappedDevices(text)
		}
	}()
	select {
	case h.devices = <-table:
	case <-time.After(patience):
	}
	return h
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
