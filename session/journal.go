package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// journal is what session.json and the user are told of a recording. Its methods may be called from several goroutines.
type journal struct {
	message func(text string)     // tells the user; set once
	uploads func() *trace.Uploads // set once; nil: there are none

	mu        sync.Mutex // guards what follows; it is locked last, also with the merger or the processes locked
	report    *trace.Session
	warnings  warnings
	missing   lacks // events
	unstamped lacks // types of messages whose header.stamp is not read
	listed    listed
	retired   []trace.DetachedEvent
}

func newJournal(observer Observer) *journal {
	j := &journal{message: observer.Message, report: trace.NewSession()}
	if j.message == nil {
		j.message = func(string) {}
	}
	return j
}

// warn tells session.json, once, of something that does not end the session, and the user: of one of its kind at once.
func (j *journal) warn(err error) {
	for _, part := range report.Parts(err) {
		text := part.Error()
		j.mu.Lock()
		add := j.warnings.add
		if isOwn(part) {
			add = j.warnings.addOwn
		}
		tell := add(text)
		j.mu.Unlock()
		if tell {
			j.message(text)
		}
	}
}

// warnOfRefused says that a process is left out for what it would take. It reports whether that is so.
func (j *journal) warnOfRefused(err error) (refused bool) {
	if refused = errors.Is(err, quota.ErrUsedUp) || errors.Is(err, target.ErrTooLong); refused {
		j.warn(fmt.Errorf("not recorded: %w", err))
	}
	return refused
}

// gather is warn for who must not wait: the user is told with others.
func (j *journal) gather(err error) {
	if err == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.warnings.gather(err.Error())
}

// tellGathered tells the user of the warnings like others that have come since these were told.
func (j *journal) tellGathered() {
	j.mu.Lock()
	where := ""
	if j.report.State == trace.StateRecording || j.report.State == trace.StateStopped {
		where = ", see session.json"
	}
	lines := j.warnings.takeGathered(where, j.report.Error)
	j.mu.Unlock()
	for _, line := range lines {
		j.message(line)
	}
}

// waiting is how many warnings were gathered and not told.
func (j *journal) waiting() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.warnings.waiting()
}

// with calls a function with what session.json is to say.
func (j *journal) with(use func(report *trace.Session)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	use(j.report)
}

// begin writes the first session.json.
func (j *journal) begin(w *writer.Writer) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.report.Warnings = j.warnings.list()
	return w.WriteSession(j.report)
}

// enter writes the session's new state to session.json, with all that is known now.
func (j *journal) enter(state trace.State, w *writer.Writer) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.report.Enter(state, time.Now())
	return j.write(w)
}

// rewrite writes session.json with all that is known now.
func (j *journal) rewrite(w *writer.Writer) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write(w)
}

// write is called with the journal locked.
func (j *journal) write(w *writer.Writer) error {
	j.report.Rows = w.StoredRows()
	if j.uploads != nil {
		j.report.Uploads = j.uploads()
	}
	j.report.Plan.Missing = j.missing.missingEvents()
	j.report.Unstamped = j.unstamped.unstampedTypes()
	// What ended the session is its error, not a warning, too.
	parts := append(strings.Split(j.report.Error, "\n"), j.report.Error)
	j.report.Warnings = slices.DeleteFunc(j.warnings.list(), func(text string) bool { return slices.Contains(parts, text) })
	return w.WriteSession(j.report)
}

// copy is what session.json would say now.
func (j *journal) copy() trace.Session {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := *j.report
	now.Plan.Missing = j.missing.missingEvents()
	now.Unstamped = j.unstamped.unstampedTypes()
	now.Warnings = j.warnings.list()
	now.Targets, now.Plan.Sites, now.History = slices.Clone(now.Targets), slices.Clone(now.Plan.Sites), slices.Clone(now.History)
	now.LinkChanges, now.Changes = slices.Clone(now.LinkChanges), slices.Clone(now.Changes)
	for i := range now.Plan.Sites {
		now.Plan.Sites[i].PIDs = slices.Clone(now.Plan.Sites[i].PIDs)
	}
	return now
}

// noteTarget lists a process as it is known now.
func (j *journal) noteTarget(row trace.Process) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.listed.target(j.report, row)
}

// noteSites lists sites that are probed in a process or, if pid is 0, in every one.
func (j *journal) noteSites(pid int32, sites []probes.Site) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, site := range sites {
		j.listed.site(j.report, pid, site)
	}
}

// noteMissing notes the events that the plan of a process lacks, in place of what a former one did.
func (j *journal) noteMissing(pid int32, missing []probes.Missing) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.missing.replaceMissing(pid, missing)
}

// noteUnstamped notes that messages of a type have no message_timestamp. That is no warning: it takes nothing from who
// does not ask for it, and types that are not installed are many.
func (j *journal) noteUnstamped(pid int32, messageType string, why error) {
	reason := strings.TrimPrefix(why.Error(), fmt.Sprintf("PID %d: ", pid))
	reason = strings.TrimPrefix(reason, messageType+": ")
	j.mu.Lock()
	defer j.mu.Unlock()
	j.unstamped.note(pid, lack{messageType, reason})
}

// noteRetired notes that an event is not recorded any more.
func (j *journal) noteRetired(event trace.DetachedEvent) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.retired = append(j.retired, event)
}

// noteOverhead notes what the recording has cost.
func (j *journal) noteOverhead(overhead *trace.Overhead) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.report.Overhead = overhead
	j.report.Overhead.Detached = j.retired
}

// warnOfUnlisted says what session.json does not list.
func (j *journal) warnOfUnlisted() {
	j.mu.Lock()
	l, missing, unstamped := j.listed, j.missing.unlisted, j.unstamped.unlisted
	j.mu.Unlock()
	if l.targetsLeftOut+l.sitesLeftOut+missing+unstamped > 0 {
		j.warn(fmt.Errorf("session.json lists only so much: it lacks %d states of processes (the table process has them), %d sites, %d missing events "+
			"and %d types of messages without stamps", l.targetsLeftOut, l.sitesLeftOut, missing, unstamped))
	}
}
