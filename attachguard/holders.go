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
	account uint32          // who answers for the user
	devices map[uint64]bool // of the files that it maps; nil where that cannot be told
}

// String names the process, on one line whatever its name is.
func (h holder) String() string { return fmt.Sprintf("PID %d (%.40q)", h.pid, h.command) }

// holders finds processes that keep their map.
type holders struct{ arguments, mappings, stacks questions }

// questions are asked about processes, of which no answer may ever come: none is asked twice while one is awaited.
type questions struct {
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
	pids := slices.DeleteFunc(processes(proc), func(pid int) bool { return pid == recorder })
	file := func(pid int, name string) string { return filepath.Join(proc, strconv.Itoa(pid), name) }
	ofMap := func(pid int, name string) string { return filepath.Join(threadWithMap(file(pid, "")), name) }
	for some := range slices.Chunk(pids, askedAtOnce) {
		if len(hs.arguments.unanswered()) < maxAwaited {
			hs.arguments.ask(some, func(pid int) { _, _ = os.ReadFile(ofMap(pid, "cmdline")) })
		}
	}
	keeping := hs.arguments.unanswered()
	devices := hs.devices(keeping, func(pid int) ([]byte, error) { return os.ReadFile(ofMap(pid, "maps")) })
	var found []holder
	for _, pid := range keeping {
		command, _ := os.ReadFile(file(pid, "comm"))
		status, _ := os.ReadFile(file(pid, "status"))
		user := realUser(status)
		found = append(found, holder{pid, strings.TrimSuffix(string(command), "\n"), user, accountOf(file(pid, ""), user), devices[pid]})
	}
	return found
}

func processes(proc string) (pids []int) {
	directories, _ := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	for _, directory := range directories {
		if pid, err := strconv.Atoi(filepath.Base(directory)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// threadWithMap is a directory of /proc that shows the memory map of a process, given by its own: a first thread that
// has ended shows none, though the others go on.
func threadWithMap(process string) string {
	if !isInState(process, 'Z') {
		return process
	}
	threads, _ := filepath.Glob(filepath.Join(process, "task/*"))
	if index := slices.IndexFunc(threads, func(thread string) bool { return !isInState(thread, 'Z') }); index >= 0 {
		return threads[index]
	}
	return process
}

// isInState reports whether that is the state of a thread or process, which is named by its directory.
func isInState(directory string, state byte) bool {
	stat, err := os.ReadFile(filepath.Join(directory, "stat"))
	return err == nil && threadState(stat) == state
}

// threadState is that of a thread, by the text of its stat (proc_pid_stat(5)); 0 if there is none.
func threadState(stat []byte) byte {
	name := bytes.LastIndexByte(stat, ')') // which may have any characters
	if name < 0 || len(stat) < name+3 {
		return 0
	}
	return stat[name+2]
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
	if q.awaited[pid] {
		return false
	}
	if q.awaited == nil {
		q.awaited = map[int]bool{}
	}
	q.awaited[pid] = true
	return true
}

func (q *questions) end(pid int) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	delete(q.awaited, pid)
}

// unanswered are the processes that were asked and have not answered, in the order of their PIDs.
func (q *questions) unanswered() []int {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return slices.Sorted(maps.Keys(q.awaited))
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
