package session

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/merge"
)

// bury lets go of a process that has ended. A row of it may still come, unless it never ran ROS 2.
func (f *follower) bury(entry *process) {
	f.letGo(entry)
	defer entry.close() // after the memory that is read through it
	f.processes.mu.Lock()
	ranROS2 := entry.ros2 || entry.shown
	f.processes.mu.Unlock()
	if ranROS2 {
		f.journal.warn(f.merger.Update(entry.row.ProcessKey, (*merge.Process).CloseMemory))
		return
	}
	f.forget(entry)
}

// letGo ends what is done with a process that is over, or runs another program.
func (f *follower) letGo(entry *process) {
	f.scans.stop(entry)
	f.headers.forget(entry)
	f.blind.tell(entry)
	if entry.probed != nil {
		f.attacher.Release(entry.probed)
	}
}

// forget frees what is known of a process that is over.
func (f *follower) forget(entry *process) {
	f.blind.tellMissedIntraProcess(entry, readClock(unix.CLOCK_MONOTONIC))
	f.processes.remove(entry, f.mappings.forget)
	f.journal.warn(f.merger.Forget(entry.row.ProcessKey))
}

// afterlife is how long what is known of a process is kept when it has ended: its last records are still to be read.
const afterlife = 30 * time.Second

// forgetLongEnded frees what is known of processes that no record comes of any more, so that a recording of every
// process needs no more memory the longer it goes on.
func (f *follower) forgetLongEnded(now time.Time) {
	for _, entry := range f.processes.endedBefore(now.Add(-afterlife)) {
		f.forget(entry)
		f.stale.note(entry)
	}
}

// forgetStale has the kernel side forget the addresses of processes that are over.
func (f *follower) forgetStale() {
	if over := f.stale.take(f.processes.isUsed); len(over) > 0 {
		f.journal.warn(f.loader.ForgetProcesses(over))
	}
}
