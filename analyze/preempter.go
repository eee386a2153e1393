package analyze

import (
	"cmp"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Preempter is the thread that had the CPU for most of a preempted time, of those that are known (table sched): its
// command, its process and its ID. All of it is null where none is known.
type Preempter struct {
	PreemptedBy    string                `report:"preempted_by,sparse,below=preempted by,drop=1"`
	PreemptedByPID trace.Optional[int32] `report:"preempted_by_pid,identifier,sparse,below=PID,drop=1"`
	PreemptedByTID trace.Optional[int32] `report:"preempted_by_tid,identifier,sparse,below=thread,drop=1"`
	// PreemptedByTime is how much of the preempted time it was, a mean where that is one.
	PreemptedByTime trace.Optional[int64] `report:"preempted_by_time,duration,sparse,below=for,drop=1"`
}

// otherThread is a thread that had the CPU of another one. IDs belong to a boot, and a thread may change its name.
type otherThread struct {
	bootID   string
	pid, tid trace.Optional[int32]
	command  string
}

func (t *otherThread) compare(other *otherThread) int {
	return cmp.Or(cmp.Compare(t.pid.Value, other.pid.Value), cmp.Compare(t.tid.Value, other.tid.Value), cmp.Compare(t.command, other.command), cmp.Compare(t.bootID, other.bootID))
}

// otherThreads has one of each.
type otherThreads map[otherThread]*otherThread

// preempterOf is who had the CPU of a preempted thread; nil if it was not preempted, or if nobody is known.
func (o otherThreads) preempterOf(row *trace.Sched) *otherThread {
	if row.Kind != trace.SchedPreempted || row.OtherCommand == "" {
		return nil
	}
	of := otherThread{row.BootID, row.OtherPID, row.OtherTID, row.OtherCommand}
	if o[of] == nil {
		o[of] = &of
	}
	return o[of]
}

// preemption is for how long a thread was preempted by another one.
type preemption struct {
	by   *otherThread
	time int64
}

// preemptions are those of one time, one for each thread that is known.
type preemptions []preemption

func (p *preemptions) add(by *otherThread, time int64) {
	if by == nil || time <= 0 {
		return
	}
	for i := range *p {
		if (*p)[i].by == by {
			(*p)[i].time += time
			return
		}
	}
	*p = append(*p, preemption{by, time})
}

// preempter is the one that had the CPU longest.
func (p preemptions) preempter() Preempter {
	var most preemption
	for _, one := range p {
		most = most.orLonger(one)
	}
	return most.report(1)
}

// orLonger is the longer one. Of two that are equally long the order of threads decides.
func (p preemption) orLonger(other preemption) preemption {
	if p.by == nil || other.time > p.time || other.time == p.time && other.by.compare(p.by) < 0 {
		return other
	}
	return p
}

// report is of the mean over so many times.
func (p preemption) report(count uint64) (r Preempter) {
	if p.by == nil {
		return r
	}
	return Preempter{p.by.command, p.by.pid, p.by.tid, trace.Some(meanOf(p.time, int64(count)))}
}

// preempters adds up the preemptions of many times.
type preempters map[*otherThread]int64

func (p *preempters) add(more preemptions) {
	if *p == nil && len(more) > 0 {
		*p = make(preempters)
	}
	for _, one := range more {
		(*p)[one.by] += one.time
	}
}

func (p *preempters) merge(more preempters) {
	if *p == nil && len(more) > 0 {
		*p = make(preempters)
	}
	for by, time := range more {
		(*p)[by] += time
	}
}

// preempter is the one that had the CPU longest in all of the times, whose number is count.
func (p preempters) preempter(count uint64) Preempter {
	var most preemption
	for by, time := range p {
		most = most.orLonger(preemption{by, time})
	}
	return most.report(count)
}
