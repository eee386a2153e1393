package attachguard

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

const (
	// looksBeforeEnding are in how many looks in a row the recorder waits, and a process keeps its map or a connection
	// does not answer, before it is ended.
	looksBeforeEnding = 3
	// looksBeforeComplaining are after how many looks the recorder is told of a wait that nothing ends.
	looksBeforeComplaining = 6
	// toldHolders are named to the recorder at most.
	toldHolders = 8
)

// watch is what was seen in the looks before.
type watch struct {
	proc     string
	recorder int
	holders  holders
	// waiting counts the looks in a row in which a thread of the recorder waited for memory maps, keeping those in which a
	// process kept its own, silent those in which a connection had requests that were not answered.
	waiting map[string]int
	keeping map[int]int
	silent  map[string]int
	// ended are the users whose connections were ended: processes can keep their maps one after the other, and for every
	// site anew.
	ended map[uint32]bool
	// complained says that the recorder was told of a wait that nothing ends.
	complained bool
}

// isUrgent reports whether the next look should come soon: somebody has held up the recorder before.
func (w *watch) isUrgent() bool { return len(w.ended) > 0 }

// look looks once. It returns what is to be told.
func (w *watch) look() (told []string) {
	w.waiting = count(w.waiting, w.waitingThreads())
	longest := longest(w.waiting)
	if longest == 0 {
		w.silent, w.keeping, w.complained = nil, nil, false
		return nil
	}
	found := w.holders.find(w.proc, w.recorder)
	w.noteKeeping(found)
	connections, err := openConnections()
	if err != nil {
		return w.complain(longest, found, err)
	}
	defer connections.close()
	w.silent = count(w.silent, connections.silent())
	awaited, users := map[int][]connection{}, map[uint32]bool{}
	for _, h := range found {
		if awaited[h.pid] = w.awaitedBy(h, connections, longest); len(awaited[h.pid]) > 0 {
			users[h.user] = true
		}
	}
	// Others can have a process keep its map: then the files of its user have no part in that.
	awaiting := w.holders.awaitPages(w.proc, users)
	var failed error
	for _, h := range found {
		if !awaiting[h.user] {
			continue
		}
		for _, c := range awaited[h.pid] {
			if err := connections.end(c.id); err != nil {
				failed = err
				continue
			}
			delete(w.silent, c.id)
			if w.ended == nil {
				w.ended = map[uint32]bool{}
			}
			w.ended[c.owner] = true
			told = append(told, fmt.Sprintf("attaching or detaching waited for %s, whose memory map was locked by a page that a file system of user %d "+
				"(FUSE) did not serve; connection %s to that file system was ended", h, c.owner, c.id))
		}
	}
	if len(told) > 0 {
		return told
	}
	return w.complain(longest, found, failed)
}

// noteKeeping counts one more look for processes that keep their maps.
func (w *watch) noteKeeping(found []holder) {
	before := w.keeping
	w.keeping = make(map[int]int, len(found))
	for _, h := range found {
		w.keeping[h.pid] = before[h.pid] + 1
	}
}

// mayEnd reports whether a process has held up the recorder long enough, itself or by a connection, or is of a user who
// has done so before.
func (w *watch) mayEnd(h holder, c connection, longest int) bool {
	if w.ended[c.owner] {
		return true
	}
	// Who answers each time before long, by an error say, keeps the map as well.
	return longest >= looksBeforeEnding && (w.silent[c.id] >= looksBeforeEnding || w.keeping[h.pid] >= looksBeforeEnding)
}

// awaitedBy are the connections that a process waits for, which may be ended: those of the files that it maps. If it
// maps none, by way of an overlay say, or if its table of mappings cannot be read, those are that its user has mounted.
func (w *watch) awaitedBy(h holder, connections connections, longest int) []connection {
	var mapped, mounted []connection
	for id := range w.silent {
		c, ok := connections.get(id)
		if !ok || !c.mayBeEnded() || !w.mayEnd(h, c, longest) {
			continue
		}
		if h.devices[c.device] {
			mapped = append(mapped, c)
		}
		if h.user == c.owner {
			mounted = append(mounted, c)
		}
	}
	if len(mapped) > 0 {
		return mapped
	}
	return mounted
}

// complain tells, once, of a wait that goes on.
func (w *watch) complain(looks int, found []holder, reason error) []string {
	if w.complained || looks <= looksBeforeComplaining {
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

// count counts one more for those that are there now, and forgets the others.
func count(before map[string]int, now []string) map[string]int {
	counted := make(map[string]int, len(now))
	for _, key := range now {
		counted[key] = before[key] + 1
	}
	return counted
}

func longest(counted map[string]int) int {
	most := 0
	for _, looks := range counted {
		most = max(most, looks)
	}
	return most
}
