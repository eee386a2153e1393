package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// scanShare bounds what scans cost: after each, a process is left alone for this many times its duration, and at least
	// scanPause.
	scanShare = 20
	scanPause = 2 * time.Second
	// settleTime passes before a scan takes effect: initialization events of what it saw being created must have been
	// read.
	settleTime = 50 * time.Millisecond
	// scanTime is how long the beginning and the end of a recording wait for scans.
	scanTime = 10 * time.Second
)

// scansAtOnce is how many scans run at once. Each waits for most of its time, so that events are read.
const scansAtOnce = 64

// scans is the state of the scans of processes' memory for their entities. They run beside the session.
type scans struct {
	// Set once.
	clock     datasetClock
	processes *processes
	merger    *merge.Merger
	layouts   *entities.Layouts
	journal   *journal

	// Of the session's own goroutine.

	running map[*process]context.CancelFunc
	// waiting are processes that may want a scan, in the order of their turns.
	waiting []*process
	// searching has room for as many scans as have a processor, which bounds the memory of them.
	searching chan struct{}
	// unsearched is how many scans have begun and are not through the memory. searched has an element when one is.
	unsearched atomic.Int32
	searched   chan struct{}
	scanners   sync.Pool       // of *entities.Scanner
	results    chan scanResult // with room for all that run; read by the session's own goroutine
	closed     bool            // the recording is over
	// spent is how long the processes of each user have been scanned.
	spent map[uint32]time.Duration
	// repeatAfter is when a process that was scanned before may be scanned again. Many of them may create entities all
	// the time: scans of those take a half of a processor at most.
	repeatAfter time.Time
}

// scanned is what the scans of a process have come to.
type scanned struct {
	// begun says that it need not be scanned again unless it creates entities that only a scan completes.
	begun bool
	// covered says that a whole scan has taken effect that began before the end of the recording.
	covered bool
	// partial says that the last scan has left memory out, repeats how often that was the reason for another one.
	partial bool
	repeats int
	// pause is until when the process is left alone.
	pause time.Time
}

type scanResult struct {
	entry    *process
	snapshot *entities.Snapshot
	took     time.Duration
	err      error
	early    bool // it began before the end of the recording
	repeated bool // the process was scanned before
}

func newScans(clock datasetClock, processes *processes, merger *merge.Merger, layouts *entities.Layouts, journal *journal) *scans {
	return &scans{
		clock: clock, processes: processes, merger: merger, layouts: layouts, journal: journal,
		running: map[*process]context.CancelFunc{}, searching: make(chan struct{}, runtime.GOMAXPROCS(0)), searched: make(chan struct{}, 1),
		scanners: sync.Pool{New: func() any { return new(entities.Scanner) }},
		results:  make(chan scanResult, scansAtOnce), spent: map[uint32]time.Duration{},
	}
}

// lineUp has next ask all processes anew, once each.
func (s *scans) lineUp() { s.waiting = s.scannable() }

// next begins the scan of a process that was not scanned yet, or that has created entities since. It does nothing
// while memory is searched: nobody waits for it. What was found in another process may not have taken effect yet.
func (s *scans) next(ctx context.Context) {
	for s.unsearched.Load() == 0 && len(s.running) < scansAtOnce && len(s.waiting) > 0 {
		entry := s.waiting[0]
		s.waiting = s.waiting[1:]
		if entry.scanned.begun && time.Now().Before(s.repeatAfter) {
			continue // it gets in line again
		}
		if s.isScannable(entry) && s.wants(entry) {
			s.begin(ctx, entry)
		}
	}
}

func (s *scans) isScannable(entry *process) bool {
	s.processes.mu.Lock()
	defer s.processes.mu.Unlock()
	return entry.isScannable()
}

// isScannable reports whether it lives and runs ROS 2. Called with the processes locked.
func (p *process) isScannable() bool {
	return p.ros2 && p.recorded && !p.ended && p.target != nil && p.target.Distro != distros.Unknown
}

// scannable returns the processes that can be scanned, first those whose user's processes have been scanned for the
// least time, and of these such as were not scanned yet or for the longest time.
func (s *scans) scannable() []*process {
	s.processes.mu.Lock()
	defer s.processes.mu.Unlock()
	var entries []*process
	for _, entry := range s.processes.byPID {
		if entry.isScannable() {
			entries = append(entries, entry)
		}
	}
	slices.SortFunc(entries, func(a, b *process) int {
		return cmp.Or(cmp.Compare(s.spent[a.payer], s.spent[b.payer]), a.scanned.pause.Compare(b.scanned.pause), cmp.Compare(a.row.PID, b.row.PID))
	})
	return entries
}

// maxRepeats is how often a process is scanned again because memory was left out: it is given back and taken all the
// time. What is known of a process as a whole waits for a scan without gaps.
const maxRepeats = 3

func (s *scans) wants(entry *process) bool {
	if s.running[entry] != nil || time.Now().Before(entry.scanned.pause) {
		return false
	}
	if !entry.scanned.begun || entry.scanned.partial && !s.closed && entry.scanned.repeats < maxRepeats {
		return true
	}
	wanted := false
	s.journal.warn(s.merger.Update(entry.row.ProcessKey, func(merged *merge.Process) error {
		wanted = merged.Graph.WantsScan()
		return nil
	}))
	return wanted
}

// begin begins to scan a process. The result comes through s.results.
func (s *scans) begin(ctx context.Context, entry *process) {
	repeated := entry.scanned.begun
	entry.scanned.begun = true
	if entry.scanned.partial {
		entry.scanned.repeats++
	}
	layout, err := s.layouts.Of(ctx, entry.target)
	if err != nil {
		return // it was said when its memory was opened
	}
	// The end of the recording waits for it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	memory, err := entities.OpenMemory(ctx, entry.target)
	if err != nil {
		cancel()
		return
	}
	memory.KeepFiles()
	s.running[entry] = cancel
	early := !s.closed
	s.unsearched.Add(1)
	go func(searching chan struct{}) {
		defer memory.Close()
		searching <- struct{}{}
		begin := time.Now()
		scanner := s.scanners.Get().(*entities.Scanner)
		snapshot, err := scanner.Scan(ctx, memory, layout, s.clock.now())
		s.scanners.Put(scanner)
		if snapshot != nil {
			snapshot.End = s.clock.now()
		}
		<-searching
		s.unsearched.Add(-1)
		select {
		case s.searched <- struct{}{}:
		default:
		}
		time.Sleep(settleTime)
		s.results <- scanResult{entry, snapshot, time.Since(begin), err, early, repeated}
	}(s.searching)
}

// apply takes in what a scan has found. One that was cut short is no scan.
func (s *scans) apply(result scanResult) {
	entry, key := result.entry, result.entry.row.ProcessKey
	s.running[entry]()
	delete(s.running, entry)
	s.spent[entry.payer] += result.took
	if result.repeated {
		s.repeatAfter = time.Now().Add(result.took)
	}
	entry.scanned.pause = time.Now().Add(max(scanPause, scanShare*result.took))
	s.processes.mu.Lock()
	current := s.processes.byPID[key.PID] == entry && !entry.ended
	s.processes.mu.Unlock()
	switch {
	case !current || errors.Is(result.err, target.ErrExited):
		return // the process has ended, or runs another program
	case errors.Is(result.err, context.Canceled):
		entry.scanned.begun = false
		s.warnOfUnfoundEntities(key)
		return
	}
	s.journal.warn(s.merger.Update(key, func(merged *merge.Process) error {
		if result.snapshot != nil {
			s.takeIn(merged.Graph, result)
		}
		return nil
	}))
	if result.err != nil {
		s.journal.warn(fmt.Errorf("not all entities of PID %d were found: %w", key.PID, result.err))
	}
	if result.snapshot == nil {
		return
	}
	entry.scanned.partial = len(result.snapshot.Skipped) > 0
	for _, unsearched := range result.snapshot.Unsearched() {
		s.journal.warn(fmt.Errorf("of the memory of PID %d, %s", key.PID, unsearched))
	}
}

// warnOfUnfoundEntities says that a process was not searched, or not to the end, within the time that is given for it.
func (s *scans) warnOfUnfoundEntities(process trace.ProcessKey) {
	s.journal.warn(fmt.Errorf("the search for the entities of PID %d was cut short: those of them that show no initialization event may lack names",
		process.PID))
}

// takeIn puts what a scan has found into a graph. The scan at the end sees the process as it is after the recording.
// When an earlier one has seen what was there before, all that is new then has an initialization event, or was created
// afterwards and does not belong to the recording.
func (s *scans) takeIn(g *entities.Graph, result scanResult) {
	covered := &result.entry.scanned.covered
	if s.closed && *covered {
		g.Complete(result.snapshot)
		return
	}
	g.Apply(result.snapshot)
	*covered = *covered || result.early && result.err == nil
}

// stop ends the scan of a process whose target is about to be closed.
func (s *scans) stop(entry *process) {
	if cancel := s.running[entry]; cancel != nil {
		cancel()
	}
	for s.running[entry] != nil {
		s.apply(<-s.results)
	}
	entry.scanned = scanned{}
}

// finish scans once more what has created entities since its last scan.
func (s *scans) finish() {
	s.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), scanTime)
	defer cancel()
	s.await(ctx, 0)
	for _, entry := range s.scannable() {
		entry.scanned.pause = time.Time{}
	}
	s.each(ctx)
}

// each scans, a few side by side and for a bounded time, every process that wants it. The time is shared by their
// users.
func (s *scans) each(ctx context.Context) {
	shares := newShares(time.Now().Add(scanTime), slices.DeleteFunc(s.scannable(), func(entry *process) bool { return !s.wants(entry) }))
	for {
		entries, until, ok := shares.next(time.Now())
		if !ok {
			return
		}
		s.until(ctx, entries, until)
	}
}

// until scans processes, a few side by side. Those that do not get their turn are told.
func (s *scans) until(ctx context.Context, entries []*process, until time.Time) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	for _, entry := range entries {
		if !entry.target.Alive() || !s.wants(entry) {
			continue
		}
		if ctx.Err() != nil {
			s.warnOfUnfoundEntities(entry.row.ProcessKey)
			continue
		}
		s.begin(ctx, entry)
		s.await(ctx, scansAtOnce-1)
	}
	s.await(ctx, 0)
}

// await waits until so many scans run at most. It cuts all short when ctx ends.
func (s *scans) await(ctx context.Context, most int) {
	for len(s.running) > most {
		select {
		case result := <-s.results:
			s.apply(result)
		case <-ctx.Done():
			for _, cancel := range s.running {
				cancel()
			}
			ctx, most = context.Background(), 0
		}
	}
}
