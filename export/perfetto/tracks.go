package perfetto

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/trace"
)

// tracks describes tracks when they are first used, and numbers them from 1.
type tracks struct {
	out  *packetWriter
	last uint64
}

// describe makes a track.
func (t *tracks) describe(name string, parent uint64, more ...byte) (uuid uint64) {
	t.last++
	b := appendVarint(nil, trackUUID, t.last)
	if name != "" {
		b = appendString(b, trackName, strings.ToValidUTF8(name, "\uFFFD"))
	}
	if parent != 0 {
		b = appendVarint(b, trackParent, parent)
	}
	t.out.message(packetTrackDescriptor, append(b, more...))
	return t.last
}

// process makes the track of a process.
func (t *tracks) process(p *trace.Process) uint64 {
	b := appendVarint(nil, processPID, uint64(p.PID))
	for argument := range strings.FieldsSeq(p.CommandLine) {
		b = appendString(b, processCommandLine, strings.ToValidUTF8(argument, "\uFFFD"))
	}
	name := p.Command
	if name == "" && p.Executable != "" {
		name = filepath.Base(p.Executable)
	}
	if name != "" {
		b = appendString(b, processName, strings.ToValidUTF8(name, "\uFFFD"))
	}
	return t.describe("", 0, appendBytes(nil, trackProcess, b)...)
}

// thread makes the track of a thread. Nothing tells its name.
func (t *tracks) thread(pid, tid int32) uint64 {
	b := appendVarint(appendVarint(nil, threadPID, uint64(pid)), threadTID, uint64(tid))
	return t.describe("", 0, appendBytes(nil, trackThread, b)...)
}

// counter makes a track of numbers.
func (t *tracks) counter(name, unit string, parent uint64) uint64 {
	return t.describe(name, parent, appendBytes(nil, trackCounter, appendString(nil, counterUnitName, unit))...)
}

// lanes are tracks of one name side by side, which Perfetto draws as one: what is on them may overlap, but not on one
// of them.
type lanes struct {
	name   string
	parent uint64
	all    []*lane
	// ends is a tree by which the first free lane of many is found: each of the second half is up to when a lane is taken,
	// and each of the first half, at i, is the earlier of those at 2*i and 2*i+1.
	ends []int64
}

type lane struct {
	uuid uint64
	of   *lanes
	at   int // in all of them
}

// forever is the end of what has not ended yet.
const forever = math.MaxInt64

// free returns a lane for something that begins then, taken until its end.
func (l *lanes) free(t *tracks, begin, end int64) *lane {
	at := 1
	if len(l.ends) == 0 || l.ends[at] > begin {
		l.all = append(l.all, &lane{t.describe(l.name, l.parent), l, len(l.all)})
		l.grow()
		at = len(l.ends)/2 + len(l.all) - 1
	}
	for at < len(l.ends)/2 {
		if at *= 2; l.ends[at] > begin {
			at++
		}
	}
	taken := l.all[at-len(l.ends)/2]
	taken.takeUntil(end)
	return taken
}

// takeUntil says up to when a lane is taken.
func (l *lane) takeUntil(end int64) {
	ends := l.of.ends
	at := len(ends)/2 + l.at
	ends[at] = end
	for at /= 2; at > 0; at /= 2 {
		ends[at] = min(ends[2*at], ends[2*at+1])
	}
}

// grow makes room in the tree for each lane. What is for lanes that there are not is never free.
func (l *lanes) grow() {
	half := len(l.ends) / 2
	if len(l.all) <= half {
		return
	}
	ends := l.ends[half:]
	half = max(1, 2*half)
	l.ends = slices.Repeat([]int64{forever}, 2*half)
	copy(l.ends[half:], ends)
	for i := half - 1; i > 0; i-- {
		l.ends[i] = min(l.ends[2*i], l.ends[2*i+1])
	}
}

// threadLanes are the lanes of each thread for something that it does.
type threadLanes struct {
	what string
	all  map[threadKey]*lanes
}

type threadKey struct {
	process trace.ProcessKey
	tid     int32
}

func newThreadLanes(what string) threadLanes {
	return threadLanes{what, make(map[threadKey]*lanes)}
}

// of returns those of a thread, in its process.
func (t *threadLanes) of(d *drawing, process trace.ProcessKey, tid int32) *lanes {
	key := threadKey{process, tid}
	if t.all[key] == nil {
		t.all[key] = &lanes{name: fmt.Sprintf("thread %d %s", tid, t.what), parent: d.process(process).track}
	}
	return t.all[key]
}

// rate counts what happened in each second.
type rate struct {
	track  uint64
	second int64
	count  int64
}

const nanosecondsPerSecond = 1_000_000_000

// add counts something that happened at a time. Times do not go back.
func (r *rate) add(out *packetWriter, at int64) {
	if second := at / nanosecondsPerSecond; second != r.second {
		r.end(out)
		if r.count > 0 && second > r.second+1 {
			r.write(out, r.second+1, 0)
		}
		r.second, r.count = second, 0
	}
	r.count++
}

// end writes the number of the last second.
func (r *rate) end(out *packetWriter) {
	if r.count > 0 {
		r.write(out, r.second, r.count)
	}
}

func (r *rate) write(out *packetWriter, second, count int64) {
	out.occurred(second*nanosecondsPerSecond, appendCount(nil, r.track, count))
}

// appendCount is the value of a counter.
func appendCount(b []byte, track uint64, count int64) []byte {
	b = appendVarint(b, eventType, counter)
	b = appendVarint(b, eventTrackUUID, track)
	return appendVarint(b, eventCounterValue, uint64(count))
}

// nameOf is how a node is called.
func nameOf(node string) string { return cmp.Or(node, "unknown node") }
