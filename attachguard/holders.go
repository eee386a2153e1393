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
	known   bool            // who the user is
	devices map[uint64]bool // of the files that it maps; nil where that cannot be told
	// looks are the looks before in which one and the same question was not answered. A process that has to wait for a
	// processor may be slow to answer, not so slow.
	looks int
}

// String names the process, on one line whatever its name is.
func (h holder) String() string { return fmt.Sprintf("PID %d (%.40q)", h.pid, h.command) }

// holders finds processes that keep their map.
type holders struct{ arguments, mappings questions }

// questions are asked about processes, of which no answer may ever come: none is asked twice while one is awaited.
type questions struct {
	mutex   sync.Mutex
	awaited map[int]int // by PID: how often an answer was waited for before
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
	var pids []int
	for _, directory := range directories {
		if pid, err := strconv.Atoi(filepath.Base(directory)); err == nil && pid != recorder {
			pids = append(pids, pid)
		}
	}
	file := func(pid int, name string) string { return filepath.Join(proc, strconv.Itoa(pid), name) }
	hs.arguments.look()
	for some := range slices.Chunk(pids, askedAtOnce) {
		if hs.arguments.count() < maxAwaited {
			hs.arguments.ask(some, func(pid int) { _, _ = os.ReadFile(file(pid, "cmdline")) })
		}
	}
	looks := hs.arguments.unansweredFor()
	keeping := slices.Sorted(maps.Keys(looks))
	devices := hs.devices(keeping, func(pid int) ([]byte, error) { return os.ReadFile(file(pid, "maps")) })
	var found []holder
	for _, pid := range keeping {
		command, _ := os.ReadFile(file(pid, "comm"))
		status, _ := os.ReadFile(file(pid, "status"))
		h := holder{pid: pid, command: strings.TrimSuffix(string(command), "\n"), devices: devices[pid], looks: looks[pid]}
		h.user, h.known = realUser(status)
		found = append(found, h)
	}
	return found
}

// devices are those of the files that processes map. Up to Linux 6.16 the kernel reads the table under the lock that is
// kept: then there are none.
func (hs *holders) devices(pids []int, read func(pid int) ([]byte, error)) map[int]map[uint64]bool {
	var mutex sync.Mutex
	devices := map[int]map[uint64]bool{}
	hs.mappings.ask(pids, func(pid int) {
		text, err := read(pid)
		if err != nil {
			return
		}
		mutex.Lock()
		defer mutex.Unlock()
		devices[pid] = mappedDevices(text)
	})
	mutex.Lock()
	defer mutex.Unlock()
	return maps.Clone(devices) // an answer may still come
}

// ask asks about processes side by side, and waits a little for the answers.
func (q *questions) ask(pids []int, question func(pid int)) {
	var asking sync.WaitGroup
	for _, pid := range pids {
		if !q.begin(pid) {
			continue
		}
		asking.Go(func() {
			defer q.end(pid)
			question(pid)
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
func (q *questions) begin(pid int) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if _, awaited := q.awaited[pid]; awaited {
		return false
	}
	if q.awaited == nil {
		q.awaited = map[int]int{}
	}
	q.awaited[pid] = 0
	return true
}

// look begins to wait once more for answers that have not come.
func (q *questions) look() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for pid := range q.awaited {
		q.awaited[pid]++
	}
}

func (q *questions) end(pid int) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	delete(q.awaited, pid)
}

// unansweredFor are the processes of which no answer has come, with how often it was waited for before.
func (q *questions) unansweredFor() map[int]int {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return maps.Clone(q.awaited)
}

func (q *questions) count() int {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return len(q.awaited)
}

// realUser is the user who started a process, by the text of its status.
func realUser(status []byte) (user uint32, ok bool) {
	for line := range bytes.Lines(status) {
		if value, found := bytes.CutPrefix(line, []byte("Uid:")); found {
			if fields := bytes.Fields(value); len(fields) > 0 {
				user, err := strconv.ParseUint(string(fields[0]), 10, 32)
				return uint32(user), err == nil
			}
		}
	}
	return 0, false
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
