package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// follower keeps up with what processes do: it looks at them, has attached what they come to need, and lets go of those
// that are over. It is of the session's own goroutine.
type follower struct {
	// Set once.
	configuration *compiled
	finder        *target.Finder
	loader        *loader.Loader
	merger        *merge.Merger
	processes     *processes
	mappings      *mappings
	admission     *admission
	planner       *planner
	attacher      *attaching.Attacher
	scans         *scans
	headers       *headers
	blind         *blindSpans
	looks         *looks
	journal       *journal

	turns *turns
	stale staleAddresses
}

// youngLooks is how often a process that has just begun is looked at, at intervals that double from youngInterval: its
// libraries are mapped one after the other. Together they are about five seconds.
const (
	youngLooks    = 9
	youngInterval = 10 * time.Millisecond
)

// look attaches what is new in a process. It may be called at any time for any process.
func (f *follower) look(ctx context.Context, pid int32) {
	f.processes.mu.Lock()
	entry := f.processes.byPID[pid]
	ended := entry != nil && entry.ended
	unmet := entry != nil && entry.isUnmet()
	if entry != nil {
		entry.mapped = false
	}
	f.processes.mu.Unlock()
	if ended {
		f.bury(entry)
		return
	}
	payer, err := f.payerOf(pid, entry)
	if err != nil {
		f.turns.settle(pid)
		if entry == nil {
			f.mappings.forget(pid)
		}
		return // it was short
	}
	if !f.turns.has(payer) {
		if f.turns.postpone(pid, payer) {
			f.journal.warn(fmt.Errorf("looking at the processes of user %d takes long: what they begin to do is noticed later than usual", payer))
		}
		return
	}
	begin := time.Now()
	defer func() { f.turns.spend(payer, time.Since(begin)) }()
	switch {
	case entry == nil:
		entry = f.admission.meet(ctx, pid)
	case unmet:
		entry = f.admission.meetLate(ctx, entry)
	}
	if entry == nil {
		return
	}
	entry.lookedAt = begin
	entry.looks++
	err = f.refresh(ctx, entry)
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, target.ErrNoProcess) || errors.Is(err, loader.ErrProcessGone):
	case errors.Is(err, target.ErrReplaced): // its exec is announced, and has it looked at again
	case errors.Is(err, probes.ErrRequiredMissing) && entry.looks != youngLooks: // it is still mapping its libraries, or was told already
	default:
		f.journal.warn(err)
	}
	if entry.looks < youngLooks {
		time.AfterFunc(youngInterval<<entry.looks, func() { f.looks.ask(pid, isUrgent) })
	}
}

// payerOf returns in whose time a process is looked at, which may not be known yet.
func (f *follower) payerOf(pid int32, entry *process) (uint32, error) {
	if entry != nil {
		return entry.payer, nil
	}
	return f.finder.Payer(pid)
}

// lookAtAsked looks at the processes that wait for it now: there may be new ones among them, of which every moment
// counts.
func (f *follower) lookAtAsked(ctx context.Context) {
	for range f.looks.count() {
		pid, ok := f.looks.next()
		if !ok {
			return
		}
		f.look(ctx, pid)
	}
}

// lookAtAll looks at the processes that are recorded, if there is reason to, and at those whose looks were forgotten.
func (f *follower) lookAtAll(ctx context.Context) {
	for _, pid := range f.turns.next() {
		f.looks.ask(pid, canWait)
	}
	pids, wanted, gone := f.processes.inTurn(func(entry *process) bool { return entry.wantsLook(f.mappings) })
	for _, entry := range gone {
		f.letGo(entry)
		f.stale.note(entry)
		entry.close()
	}
	for _, pid := range pids {
		if wanted[pid] {
			f.look(ctx, pid)
			f.lookAtAsked(ctx)
		}
		if entry := f.processes.living(pid); entry != nil {
			f.attacher.Settle(ctx, entry.probed)
		}
	}
	f.attacher.SettleShared(ctx)
}

// followLoad attaches what a process may need that changes its libraries. What it loads is looked for soon.
func (f *follower) followLoad(ctx context.Context, pid int32) {
	entry := f.processes.living(pid)
	if entry == nil {
		return
	}
	f.attacher.LibrariesChange(ctx, entry.probed)
	if entry.looks >= youngLooks {
		entry.looks = 0 // as of a process that has just begun: libraries are mapped one after the other
		f.looks.ask(pid, isUrgent)
	}
}

// followIntraProcess makes sure that a process is probed that has begun with intra-process communication.
func (f *follower) followIntraProcess(ctx context.Context, seen intraProcessSeen) {
	if entry := f.processes.living(seen.pid); entry != nil {
		f.attacher.AwaitIntraProcess(ctx, entry.probed, seen.at)
	}
}
