package attachguard

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// looksBeforeEnding are in how many looks in a row a thread waits, and a connection does not answer, before what
	// belongs together is ended.
	looksBeforeEnding = 3
	// looksBeforeEndingAll is when every connection is ended that did not answer in all of them. A process can hide from
	// whoever looks at it what it waits for.
	looksBeforeEndingAll = 6
)

// watch is what was seen in the looks before.
type watch struct {
	proc     string
	recorder int
	// waiting counts the looks in a row in which a thread of the recorder waited for a memory map, silent those in which
	// a connection had requests that were not answered.
	waiting map[string]int
	silent  map[string]int
	// complained says that the recorder was told of a wait that nothing ends.
	complained bool
}

// look looks once. It returns what is to be told.
func (w *watch) look() (told []string) {
	w.waiting = count(w.waiting, w.waitingThreads())
	longest := longest(w.waiting)
	if longest == 0 {
		w.silent, w.complained = nil, false
		return nil
	}
	connections, err := openConnections()
	if err != nil {
		return w.complain(longest, nil, err)
	}
	defer connections.close()
	w.silent = count(w.silent, connections.silent())
	if longest < looksBeforeEnding {
		return nil
	}
	holders := findHolders(w.proc, w.recorder)
	for id, looks := range w.silent {
		c, ok := connections.get(id)
		if !ok || looks < looksBeforeEnding || !c.mayBeEnded() {
			continue
		}
		index := slices.IndexFunc(holders, func(h holder) bool { return h.waitsFor(c) })
		if index < 0 && longest < looksBeforeEndingAll {
			continue
		}
		if err := connections.end(id); err != nil {
			return w.complain(longest, holders, err)
		}
		delete(w.silent, id)
		told = append(told, explain(id, c, holders, index))
	}
	if len(told) > 0 {
		return told
	}
	return w.complain(longest, holders, nil)
}

// complain tells, once, of a wait that goes on.
func (w *watch) complain(looks int, holders []holder, reason error) []string {
	if w.complained || looks <= looksBeforeEndingAll {
		return nil
	}
	w.complained = true
	text := "attaching or detaching waits for the memory map of a process; until that ends, no process of this machine can fork"
	for _, h := range holders {
		text += fmt.Sprintf("; process %d (%s) waits for a page", h.pid, h.command)
	}
	if reason != nil {
		text += fmt.Sprintf("; no file system of a user's was looked for: %v", reason)
	}
	return []string{text}
}

func explain(id string, c connection, holders []holder, index int) string {
	who := "a process"
	if index >= 0 {
		who = fmt.Sprintf("process %d (%s)", holders[index].pid, holders[index].command)
	}
	return fmt.Sprintf("attaching or detaching waited for %s, whose memory map was locked by a page that a file system of user %d (FUSE) "+
		"did not serve; connection %s to that file system was ended", who, c.owner, id)
}

// waitingThreads are the threads of the recorder that wait for the memory map of a process to attach or detach.
func (w *watch) waitingThreads() []string {
	files, _ := filepath.Glob(filepath.Join(w.proc, fmt.Sprint(w.recorder), "task/*/wchan"))
	return slices.DeleteFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err != nil || !waitsForMap(string(text))
	})
}

// waitsForMap reports whether a thread that sleeps in a function of the kernel (proc_pid_wchan(5)) waits for a memory
// map to attach a uprobe or to detach it. Compilers inline what is called once, and add suffixes.
func waitsForMap(function string) bool {
	function, _, _ = strings.Cut(function, ".")
	switch function {
	case "register_for_each_vma", "uprobe_register", "uprobe_apply", "__uprobe_register",
		"uprobe_unregister", "uprobe_unregister_nosync", "__uprobe_unregister":
		return true
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
