package session

import (
	"context"
	"time"

	"github.com/caret-bpf/caret-bpf/loader"
)

const (
	// mappingPause is how long after the first one it is read which files were mapped: a process maps one after the other.
	// What the kernel has no room for meanwhile is counted.
	mappingPause = 25 * time.Millisecond
	// mappingWait is after how long it is seen that the kernel does not tell of all processors any more.
	mappingWait = time.Second
)

// mappingWatch has a goroutine of its own note what processes map that are recorded, or may be.
type mappingWatch struct {
	processes *processes
	mappings  *mappings
	looks     *looks
	journal   *journal
	// mayCome says that processes may be recorded that are not known yet.
	mayCome bool
}

// begin notes what processes map, until the function that it returns is called: then all is noted.
func (w *mappingWatch) begin() (end func()) {
	watched, err := loader.WatchMappings()
	if err != nil {
		w.journal.warn(err) // then processes are taken to have had all files from their beginning, and are looked at each second
		return func() {}
	}
	w.mappings.begin()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for complete := true; ctx.Err() == nil; {
			if complete { // else all are looked at again and again
				watched.Wait(time.Now().Add(mappingWait))
			}
			select {
			case <-ctx.Done():
			case <-time.After(mappingPause):
			}
			complete = w.note(watched)
		}
	}()
	return func() {
		cancel()
		watched.EndWait()
		<-ended
		w.journal.warn(watched.Close())
	}
}

// note notes what was mapped. It reports whether the kernel tells of all processors.
func (w *mappingWatch) note(watched *loader.Mappings) (complete bool) {
	complete = watched.Complete()
	w.processes.mu.Lock()
	defer w.processes.mu.Unlock()
	w.mappings.read(watched, complete, func(pid int32) bool {
		entry := w.processes.byPID[pid]
		if entry != nil {
			entry.noteMapped(w.looks)
		}
		return entry != nil || w.mayCome
	})
	return complete
}

const (
	// askPause is how long a process that maps one file after the other is left alone, at least.
	askPause = 200 * time.Millisecond
	// unaskedPause is after how long a process is looked at without any reason.
	unaskedPause = 30 * time.Second
)

// noteMapped has a process looked at that has mapped something: soon, or with the others. The processes are locked.
func (p *process) noteMapped(looks *looks) {
	p.mapped = true
	if now := time.Now(); now.Sub(p.askedAt) > askPause {
		p.askedAt = now
		looks.ask(p.row.PID, isUrgent)
	}
}

// wantsLook reports whether there is reason to look at a process, or not all of its mappings may have been told. The
// processes are locked.
func (p *process) wantsLook(mappings *mappings) bool {
	switch {
	case p.mapped, mappings.mayLack(p.refreshed):
		return true
	case p.target == nil, p.looks < youngLooks:
		return true
	case !p.retry.IsZero(), p.unplanned != 0, p.probed.Incomplete():
		return true
	}
	return time.Since(p.lookedAt) > unaskedPause
}
