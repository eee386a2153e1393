package attachguard

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
)

// waiter is a thread that waits, with the lock of a memory map, for what a program answers for (FUSE).
type waiter struct {
	pid     int
	account uint32
	// remote says that the map is another process's, whose memory it reads. Whose cannot be told.
	remote bool
	// wait is one wait of one thread: a thread that waits once more has switched from one task to another meanwhile.
	wait string
}

// mayHold reports whether it may be for that thread that a process keeps its map. Others can have a process keep its
// map as well, but not in this way.
func (w waiter) mayHold(h holder) bool {
	return w.pid == h.pid || w.remote && (w.account == h.account || w.account == 0)
}

// mayBeOf reports whether the thread may wait for one of the file systems of who answers for a process: in a namespace
// of his there may be further processes.
func (w waiter) mayBeOf(h holder) bool { return w.account == h.account || w.mayHold(h) }

// awaitPages finds the threads of some users, and of root, who wait so.
func (hs *holders) awaitPages(proc string, users map[uint32]bool) []waiter {
	var mutex sync.Mutex
	var found []waiter
	if len(users) == 0 {
		return nil
	}
	for some := range slices.Chunk(processes(proc), askedAtOnce) {
		if len(hs.stacks.unanswered()) >= maxAwaited {
			break
		}
		hs.stacks.ask(some, func(pid int) {
			process := filepath.Join(proc, strconv.Itoa(pid))
			status, err := os.ReadFile(filepath.Join(process, "status"))
			account := accountOf(process, realUser(status))
			if err != nil || account != 0 && !users[account] {
				return
			}
			threads, _ := filepath.Glob(filepath.Join(process, "task/*"))
			for _, thread := range threads {
				stack, err := os.ReadFile(filepath.Join(thread, "stack"))
				if err != nil || !waitsForPage(stack) || isInState(thread, 'R') { // it was answered
					continue
				}
				status, _ := os.ReadFile(filepath.Join(thread, "status"))
				w := waiter{pid, account, hasAny(stack, remoteAccess), thread + " " + switches(status)}
				mutex.Lock()
				found = append(found, w)
				mutex.Unlock()
			}
		})
	}
	mutex.Lock()
	defer mutex.Unlock()
	return slices.Clone(found) // an answer may still come
}

// switches is how often a thread has gone to sleep, by the text of its status.
func switches(status []byte) string {
	for line := range bytes.Lines(status) {
		if value, found := bytes.CutPrefix(line, []byte("voluntary_ctxt_switches:")); found {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// Functions of the kernel that tell, in a thread's stack, that it holds the lock of a memory map, that it waits for a
// program that answers for a file, and that it reads the memory of another process. Who waits for a page that somebody
// else has asked for waits for its lock only.
var (
	withMapLock  = []string{"handle_mm_fault", "mmap", "munmap", "remove_vma", "mremap", "madvise", "populate"}
	awaitsAnswer = []string{"fuse_", "request_wait_answer", "folio_wait", "__folio_lock", "wait_on_page", "__lock_page"}
	remoteAccess = []string{"process_vm_rw", "access_remote_vm", "get_user_pages_remote", "pin_user_pages_remote"}
)

func hasAny(stack []byte, functions []string) bool {
	return slices.ContainsFunc(functions, func(f string) bool { return bytes.Contains(stack, []byte(f)) })
}

// waitsForPage reports whether a thread with that stack in the kernel (proc_pid_stack(5)) waits for a program that
// answers for a file, or for what looks like it, while it holds the lock of a memory map.
func waitsForPage(stack []byte) bool {
	return hasAny(stack, withMapLock) && hasAny(stack, awaitsAnswer)
}
