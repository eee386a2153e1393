package attachguard

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	// patienceWithHolders is how long the recorder waits, and a process keeps its map or a connection does not answer,
	// before it is ended.
	patienceWithHolders = 2 * lookInterval
	// patienceToComplain is after how long the recorder is told of a wait that nothing ends.
	patienceToComplain = 6 * lookInterval
	// toldHolders are named to the recorder at most.
	toldHolders = 8
)

// watch is what was seen in the looks before.
type watch struct {
	proc     string
	recorder int
	holders  holders
	accounts accounts
	// now is when the last look began. All that follow say since when something was so in each look.
	now time.Time
	// waiting are the threads of the recorder that wait for memory maps, keeping the processes that keep their own.
	waiting map[string]time.Time
	keeping map[int]time.Time
	// asked are the connections with requests that are not answered yet, hanging those that have some all the time, waits
	// the waits of threads that have the lock of a map.
	asked, hanging, waits map[string]time.Time
	// tried is what was ended for the sake of a process that has kept its map since.
	tried map[int]attempt
	// ended are those whose connections kept a process's map until they were ended: processes can keep their maps one
	// after the other, and for every site anew.
	ended map[uint32]bool
	// complained says that the recorder was told of a wait that nothing ends.
	complained bool
}

// attempt is what was ended last.
type attempt struct {
	at       time.Time
	accounts []uint32 // whose it was
	rounds   int      // how often something was ended
}

// isUrgent reports whether the next look should come soon: somebody has held up the recorder before, or may be let go.
func (w *watch) isUrgent() bool { return len(w.ended) > 0 || len(w.tried) > 0 }

// look looks once. It returns what is to be told.
func (w *watch) look() (told []string) {
	w.now = time.Now()
	w.waiting = since(w.waiting, w.waitingThreads(), w.now)
	if len(w.waiting) == 0 {
		w.settle(nil)
		w.asked, w.hanging, w.waits, w.keeping, w.complained = nil, nil, nil, nil, false
		return nil
	}
	found := w.holders.find(w.proc, w.recorder)
	w.settle(found)
	connections, err := openConnections()
	if err != nil {
		return w.complain(found, err)
	}
	defer connections.close()
	asked, hanging := connections.requests()
	w.asked, w.hanging = since(w.asked, asked, w.now), since(w.hanging, hanging, w.now)
	var waiters []waiter
	if len(asked) > 0 {
		w.accounts = accountsOf(w.proc)
		waiters = w.holders.awaitPages(w.proc, accountsOfHolders(found))
	}
	w.noteWaits(waiters)
	var failed error
	for _, h := range found {
		suspects := w.suspects(h, connections, waiters)
		for _, c := range suspects {
			if err := connections.end(c.id); err != nil {
				failed = err
				continue
			}
			w.note(h, c)
			told = append(told, fmt.Sprintf("attaching or detaching waited for %s, whose memory map was locked by a page that a file system of user %d "+
				"(FUSE) did not serve; connection %s to that file system was ended", h, c.owner, c.id))
		}
	}
	if len(told) > 0 {
		return told
	}
	return w.complain(found, failed)
}

// settle notes which processes keep their maps now. Whoever had a connection ended for the sake of one that has been
// let go since was to blame.
func (w *watch) settle(found []holder) {
	var pids []int
	for _, h := range found {
		pids = append(pids, h.pid)
	}
	w.keeping = since(w.keeping, pids, w.now)
	for pid, attempt := range w.tried {
		if slices.Contains(pids, pid) {
			continue
		}
		delete(w.tried, pid)
		if w.ended == nil {
			w.ended = map[uint32]bool{}
		}
		for _, account := range attempt.accounts {
			w.ended[account] = true
		}
	}
}

// note notes that a connection was ended for the sake of a process.
func (w *watch) note(h holder, c connection) {
	delete(w.asked, c.id)
	delete(w.hanging, c.id)
	if w.tried == nil {
		w.tried = map[int]attempt{}
	}
	tried := w.tried[h.pid]
	if !tried.at.Equal(w.now) { // what was ended earlier did not help
		tried = attempt{at: w.now, rounds: tried.rounds + 1}
	}
	tried.accounts = append(tried.accounts, w.accounts.of(c.owner))
	w.tried[h.pid] = tried
}

func (w *watch) noteWaits(waiters []waiter) {
	var waits []string
	for _, waiter := range waiters {
		waits = append(waits, waiter.wait)
	}
	w.waits = since(w.waits, waits, w.now)
}

// longest is since when the recorder waits.
func (w *watch) longest() time.Time {
	return slices.MinFunc(slices.Collect(maps.Values(w.waiting)), time.Time.Compare)
}

// lasts reports whether what began at a time, if it did, has lasted too long.
func (w *watch) lasts(began time.Time) bool {
	return !began.IsZero() && w.now.Sub(began) >= patienceWithHolders
}

func accountsOfHolders(found []holder) map[uint32]bool {
	users := map[uint32]bool{}
	for _, h := range found {
		users[h.account] = true
	}
	return users
}

// complain tells, once, of a wait that goes on.
func (w *watch) complain(found []holder, reason error) []string {
	if w.complained || w.now.Sub(w.longest()) < patienceToComplain {
		return nil
	}
	w.complained = true
	text := "attaching or detaching waits for the memory map of a process; until that ends, or who keeps it is killed, no process of this machine can fork"
	for _, h := range found[:min(len(found), toldHolders)] {
		text += fmt.Sprintf("; %s keeps its own", h)
	}
	if more := len(found) - toldHolders; more > 0 {
		text += fmt.Sprintf("; and so do %d more", more)
	}
	if reason != nil {
		text += fmt.Sprintf("; no file system of a user's was looked for, or ended: %v", reason)
	}
	return []string{text}
}

// waitingThreads are the threads of the recorder that wait for memory maps of processes to attach or detach.
func (w *watch) waitingThreads() []string {
	threads, _ := filepath.Glob(filepath.Join(w.proc, fmt.Sprint(w.recorder), "task/*"))
	return slices.DeleteFunc(threads, func(thread string) bool {
		stack, err := os.ReadFile(filepath.Join(thread, "stack"))
		return err != nil || !waitsForMaps(stack) || !isInState(thread, 'D') // one that may go on waits for a processor
	})
}

// waitsForMaps reports whether a thread with that stack in the kernel (proc_pid_stack(5)) waits for a memory map to
// attach a uprobe or to detach it, or for somebody else who does. Compilers inline what is called once, and add
// suffixes.
func waitsForMaps(stack []byte) bool {
	for _, function := range []string{
		"register_for_each_vma", "uprobe_register+", "__uprobe_register+", "uprobe_apply+",
		"uprobe_unregister+", "__uprobe_unregister+", "uprobe_unregister_nosync+",
	} {
		if bytes.Contains(stack, []byte("] "+function)) {
			return true
		}
	}
	return false // uprobe_unregister_sync, for one, waits for programs that run
}

// since keeps since when there is what is there now, and forgets the rest.
func since[K comparable](before map[K]time.Time, there []K, now time.Time) map[K]time.Time {
	kept := make(map[K]time.Time, len(there))
	for _, key := range there {
		kept[key] = now
		if began, ok := before[key]; ok {
			kept[key] = began
		}
	}
	return kept
}
