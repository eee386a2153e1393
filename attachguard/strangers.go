package attachguard

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// workAllowed is how long processes of a stranger may keep their maps before they are killed, and from then on all others
// of his that do so. They may be innocent, but no process of the machine can fork as long as they go on.
const workAllowed = 10 * time.Second

// kill ends strangers' processes that keep their maps by work: by having them populated, say. Nothing else ends that.
// One that waits is not killed. The one that it waits for may be root's file system, or a disk.
func (w *watch) kill(found []holder) (told []string) {
	found = slices.DeleteFunc(slices.Clone(found), func(h holder) bool {
		return !h.known || slices.Contains(w.spared, h.user) || w.killed[h.pid] || !w.works(h)
	})
	w.noteWorking(found)
	for _, h := range found {
		if since, worked := w.working[h.user]; !w.hasHeldUp[h.user] && (!worked || time.Since(since) < w.workAllowed) || h.looks == 0 {
			continue
		}
		text := fmt.Sprintf("attaching or detaching waited for %s of user %d, which kept its memory map locked by work, so that no process of this "+
			"machine could fork", h, h.user)
		if err := w.endProcess(h.pid); err != nil {
			text = fmt.Sprintf("%s; it could not be killed: %v", text, err)
		} else {
			text += "; it was killed"
		}
		told = append(told, text)
		if w.killed == nil {
			w.killed, w.hasHeldUp = map[int]bool{}, map[uint32]bool{}
		}
		w.killed[h.pid], w.hasHeldUp[h.user] = true, true
	}
	return told
}

// noteWorking forgets the users who have let the recorder go on, and notes those who have begun to hold it up. Another
// process of the same user's may go on.
func (w *watch) noteWorking(found []holder) {
	before := w.working
	w.working = make(map[uint32]time.Time, len(found))
	for _, h := range found {
		if since, known := before[h.user]; known {
			w.working[h.user] = since
		} else if h.looks > 0 {
			w.working[h.user] = time.Now()
		}
	}
}

// works reports whether a thread of a process runs, or could if there were a processor for it.
func (w *watch) works(h holder) bool {
	threads, _ := filepath.Glob(filepath.Join(w.proc, strconv.Itoa(h.pid), "task/*"))
	return slices.ContainsFunc(threads, func(thread string) bool { return isInState(thread, 'R') })
}

// isInState reports whether that is the state of a thread, which is named by its directory.
func isInState(thread string, state byte) bool {
	stat, err := os.ReadFile(filepath.Join(thread, "stat"))
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

// endProcess kills a process that still has its question to answer, so that it is no other one of the same PID.
func (w *watch) endProcess(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, awaited := w.holders.arguments.unansweredFor()[pid]; !awaited {
		return fmt.Errorf("it has let its map go: %w", os.ErrProcessDone)
	}
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
}
