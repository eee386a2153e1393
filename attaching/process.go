package attaching

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// Process is what is attached to one process.
type Process struct {
	// Target is the process, as it was when it was last looked at.
	Target *target.Process

	ownLinks
	plan     *probes.Plan          // the last
	bodyOf   map[abi.Event]siteKey // the bodies in it
	examined []target.FileID       // in which its callers of tracepoints are known, and attached
	// told are the sites of which it was told since when they are armed, lostSince says of files whose links were closed
	// when that was.
	told      map[siteKey]bool
	lostSince map[target.FileID]int64
	toldIntra bool // what was missed of its intra-process communication
	// attachedAlone are the sites that it has, or had once, for itself in place of every process (sharedLinks.alone).
	attachedAlone attachedSites
	// formerGaps are those of occasional sites before all links were last replaced.
	formerGaps gaps
	begun      int64 // when it began or, if the machine has slept since, earlier; CLOCK_MONOTONIC in nanoseconds
}

// ownLinks is what is attached for a process alone, and what is known of that.
type ownLinks struct {
	attached         attachedSites    // sites that are attached
	attachments      []unitAttachment // what holds them
	incomplete       bool             // what it lost with shared links could not be attached to it alone
	bodies           bodies
	occasional       occasional
	sharesOccasional bool // what it needs of that is attached for every process
}

func newOwnLinks() ownLinks { return ownLinks{attached: attachedSites{}, bodies: newBodies()} }

// NewProcess returns a process to which nothing is attached.
func NewProcess(p *target.Process) *Process {
	return &Process{
		Target: p, ownLinks: newOwnLinks(),
		attachedAlone: attachedSites{}, told: map[siteKey]bool{}, lostSince: map[target.FileID]int64{}, begun: Begun(p.StartTime),
	}
}

// Begun converts when a process began, in nanoseconds since boot, to CLOCK_MONOTONIC, which stands still while the
// machine sleeps. It is earlier if that has slept since, and rounded down to the clock tick as /proc does it.
func Begun(start int64) int64 {
	var sinceBoot unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &sinceBoot) // as monotonicNow
	return start - (sinceBoot.Nano() - monotonicNow())
}

// Planned reports whether it was ever planned what to attach.
func (p *Process) Planned() bool { return p.plan != nil }

// ProbedFiles are those in which anything of ROS 2 is planned to be probed.
func (p *Process) ProbedFiles() map[target.FileID]bool {
	files := map[target.FileID]bool{}
	if p.plan != nil {
		for _, site := range p.plan.Sites {
			if !isOfEveryProgram(site) {
				files[site.File] = true
			}
		}
	}
	return files
}

// Incomplete reports whether the process has lost probes, of its last plan, that Attach has to attach again.
func (p *Process) Incomplete() bool { return p.incomplete }

// detachables are the sites of the process that are detached at times.
func (l *ownLinks) detachables() []*detachable {
	return []*detachable{&l.bodies.detachable, &l.occasional.detachable}
}

// attachmentLists are all lists of what is attached to the process alone.
func (l *ownLinks) attachmentLists() []*[]unitAttachment {
	lists := []*[]unitAttachment{&l.attachments}
	for _, group := range l.detachables() {
		lists = append(lists, &group.attachments)
	}
	return lists
}

// maps reports whether the process has mapped the file of a site.
func (p *Process) maps(site probes.Site) bool {
	return slices.ContainsFunc(p.Target.Modules, func(m target.Module) bool { return m.File == site.File })
}
