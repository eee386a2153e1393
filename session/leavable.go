package session

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/probes"
)

// leavableSites are sites of a process that are detached when it turns out to do without them, and attached again when it may need them.
type leavableSites struct {
	attachments []unitAttachment // empty while there are none
	// sites are those that are attached, or that were.
	sites []probes.Site
	since time.Time // when there was last a reason to have them
	left  bool      // they are detached
	// returned is when they were attached again, CLOCK_MONOTONIC in nanoseconds; 0: never.
	returned int64
}

// leaveSites detaches the sites, and says why.
func (s *Session) leaveSites(of *leavableSites, why string) {
	s.warn(closeAttachments(of.attachments))
	of.attachments, of.left = nil, true
	s.budget.settling = true
	s.message(why)
}

// comeBack notes that the sites are attached again.
func (of *leavableSites) comeBack() {
	of.left, of.since, of.returned = false, time.Now(), readClock(unix.CLOCK_MONOTONIC)
}

// leavable are the sites of the process that are left at times.
func (p *process) leavable() []*leavableSites {
	return []*leavableSites{&p.bodies.leavableSites, &p.intraProcess.leavableSites}
}
