package view

import (
	"context"
	"math"
	"slices"
	"sort"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// noTime stands for a time that is not known.
const noTime = math.MinInt64

// index has the executions of all callbacks, by thread.
type index struct {
	threads []*threadIndex // by the numbers of threads
	// statuses are those that executions have, by their numbers.
	statuses []trace.CallbackStatus
}

// threadIndex has the executions of one thread in the order of their begins, in 22 bytes each. Times are since what is
// shown begins.
type threadIndex struct {
	// begin is when it began, of status start_missing when it ended.
	begin []int64
	// end is noTime where it is not known; of status recording_end it is when its process was recorded last.
	end      []int64
	callback []int32
	status   []uint8
	// depth is the number of callbacks that were running on the thread, up to 255.
	depth []uint8
	// latest has for each chunk of executions how long the last of them is known to have run.
	latest []int64
}

// chunk is the number of executions that are looked at or passed over together.
const chunk = 512

// readIndex reads all executions that are asked for.
func (v *View) readIndex(ctx context.Context) (*index, error) {
	return v.index.get(ctx, func(ctx context.Context) (*index, error) {
		x := &index{threads: make([]*threadIndex, len(v.threads))}
		for i, of := range v.threads {
			x.threads[i] = newThreadIndex(v.executions[of])
		}
		v.progress.begin()
		err := v.timeline.all(ctx, func(q *analyze.Query) error {
			q.Progress = func(read, total int64) {
				v.progress.tell(read, total)
				if v.options.Progress != nil {
					v.options.Progress(read, total)
				}
			}
			return q.ExecutionSpans(ctx, func(spans []analyze.ExecutionSpan) error {
				for i := range spans {
					v.addTo(x, &spans[i])
				}
				return nil
			})
		})
		if err != nil {
			return nil, err
		}
		for _, t := range x.threads {
			t.arrange()
		}
		return x, nil
	})
}

func newThreadIndex(executions int) *threadIndex {
	return &threadIndex{
		begin: make([]int64, 0, executions), end: make([]int64, 0, executions), callback: make([]int32, 0, executions),
		status: make([]uint8, 0, executions), depth: make([]uint8, 0, executions),
	}
}

func (v *View) addTo(x *index, e *analyze.ExecutionSpan) {
	id, known := v.timelineEntities.threads[analyze.Thread{Process: e.Callback.Node.Process, TID: e.TID}]
	if !known {
		return // of one that is left out, or that came while the threads were counted, of a recording that goes on
	}
	t := x.threads[id]
	begin, end := int64(noTime), int64(noTime)
	if e.End.Valid {
		end = v.since(e.End.Value)
		begin = end
	}
	if e.Start.Valid {
		begin = v.since(e.Start.Value)
	}
	if e.Status == trace.CallbackRecordingEnd {
		end = v.since(e.Until)
	}
	if end > maxDuration || end < -maxDuration {
		end = noTime // a damaged time, which a page could not count
	}
	t.begin, t.end = append(t.begin, begin), append(t.end, end)
	t.callback = append(t.callback, v.timelineEntities.callback(e.Callback))
	t.status, t.depth = append(t.status, x.status(e.Status)), append(t.depth, uint8(min(max(e.Depth, 0), math.MaxUint8)))
}

// status returns the number of a status. A damaged dataset may have any; beyond 255 different ones they are the last.
func (x *index) status(of trace.CallbackStatus) uint8 {
	i := slices.Index(x.statuses, of)
	if i < 0 && len(x.statuses) <= math.MaxUint8 {
		x.statuses = append(x.statuses, of)
		i = len(x.statuses) - 1
	}
	return uint8(i)
}

// sortSteps is how many places executions may be moved, on average, before they are sorted in another way: they are
// written in the order of their ends, so nearly all are in place.
const sortSteps = 16

// arrange puts the executions in order and looks how long those of each chunk ran.
func (t *threadIndex) arrange() {
	t.sort()
	for i := range t.begin {
		if i%chunk == 0 {
			t.latest = append(t.latest, math.MinInt64)
		}
		last := &t.latest[i/chunk]
		*last = max(*last, t.until(i))
	}
}

func (t *threadIndex) sort() {
	moves := sortSteps * len(t.begin)
	for i := 1; i < len(t.begin); i++ {
		for j := i; j > 0 && t.Less(j, j-1); j-- {
			t.Swap(j, j-1)
			if moves--; moves < 0 {
				sort.Stable(t)
				return
			}
		}
	}
}

// Len, Less and Swap are for sort: callbacks in the order of their begins, outer ones before those in them.
func (t *threadIndex) Len() int { return len(t.begin) }

// Less tells whether an execution comes before another one.
func (t *threadIndex) Less(i, j int) bool {
	if t.begin[i] != t.begin[j] {
		return t.begin[i] < t.begin[j]
	}
	return t.depth[i] < t.depth[j]
}

// Swap exchanges two executions.
func (t *threadIndex) Swap(i, j int) {
	t.begin[i], t.begin[j] = t.begin[j], t.begin[i]
	t.end[i], t.end[j] = t.end[j], t.end[i]
	t.callback[i], t.callback[j] = t.callback[j], t.callback[i]
	t.status[i], t.status[j] = t.status[j], t.status[i]
	t.depth[i], t.depth[j] = t.depth[j], t.depth[i]
}

// until is how long an execution is known to have run: to its end or, where that is not known, to its begin.
func (t *threadIndex) until(i int) int64 { return max(t.begin[i], t.end[i]) }

// overlapping calls each for the executions that overlap a time, both ends included, in their order, as long as it
// wants more.
func (t *threadIndex) overlapping(from, to int64, each func(i int) bool) {
	first, _ := slices.BinarySearch(t.begin, from)
	for c := 0; c*chunk < first; c++ {
		if t.latest[c] < from {
			continue
		}
		for i := c * chunk; i < min(first, (c+1)*chunk); i++ {
			if t.until(i) >= from && !each(i) {
				return
			}
		}
	}
	for i := first; i < len(t.begin) && t.begin[i] <= to; i++ {
		if !each(i) {
			return
		}
	}
}

// beginning returns how many executions begin in a time, both ends included.
func (t *threadIndex) beginning(from, to int64) int {
	first, _ := slices.BinarySearch(t.begin, from)
	behind, _ := slices.BinarySearch(t.begin, to+1)
	return behind - first
}
