package writer

import (
	"errors"
	"io/fs"
	"maps"
	"sync"
)

// Removed is what retention has removed of a dataset.
type Removed struct {
	// Rows are the numbers of rows, by table.
	Rows map[string]uint64
	// Until is the instant on the dataset's clock from which on everything is kept that happened; 0 if nothing was
	// removed.
	Until int64
	// Problem is why something could not be removed and is still there; nil if nothing is.
	Problem error
}

// retained are the closed segments of rows that are of a moment. The committer adds them and removes the oldest.
type retained struct {
	dir    *directory
	limits Retention
	// entities is how many bytes the tables of entities have, which count against what is kept.
	entities func() int64
	// most is the size at which segments are removed although somebody reads them; 0: none.
	most   int64
	period int64 // nanoseconds
	now    func() int64

	replacing sync.RWMutex // read-locked while somebody reads the segments

	mu       sync.Mutex
	holds    int
	segments []*finished // in the order of time
	bytes    int64       // of these
	gone     Removed
}

func newRetained(dir *directory, options Options, entities func() int64) *retained {
	r := &retained{dir: dir, limits: options.Retention, entities: entities, period: options.SegmentPeriod.Nanoseconds(), now: options.Now, gone: Removed{Rows: map[string]uint64{}}}
	if options.Memory > 0 { // it must not get full
		r.most = options.Retention.Bytes + options.Retention.Bytes/2
	}
	return r
}

// add notes a segment that was committed, if it may ever be removed.
func (r *retained) add(s *finished) {
	if r.limits == (Retention{}) || staysWhole(s.table) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.segments = append(r.segments, s)
	r.bytes += s.bytes
}

// expire removes the segments that are not to be kept any more. What cannot be removed stays.
func (r *retained) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.segments) > 0 && r.isOver(r.segments[0]) && (r.holds == 0 || r.most > 0 && r.bytes > r.most) {
		r.remove(r.segments[0])
		r.segments = r.segments[1:]
	}
}

func (r *retained) isOver(s *finished) bool {
	age := r.now() - s.closedAt
	return r.limits.Age > 0 && age > r.limits.Age.Nanoseconds() ||
		r.limits.Periods > 0 && age > int64(r.limits.Periods)*r.period ||
		r.limits.Bytes > 0 && r.bytes > r.room()
}

// room is what is left for rows that are of a moment: all but what entities take, and half of all at least. The
// entities of a system can take more than is to be kept.
func (r *retained) room() int64 {
	return r.limits.Bytes - min(r.entities(), r.limits.Bytes/2)
}

func (r *retained) remove(s *finished) {
	r.bytes -= s.bytes
	// Its owner may have removed it before.
	if err := r.dir.root.Remove(s.final); err != nil && !errors.Is(err, fs.ErrNotExist) {
		if r.gone.Problem == nil {
			r.gone.Problem = ioError("remove", r.dir.describe(s.final), err)
		}
		return
	}
	r.gone.Rows[s.table.Name] += uint64(s.rows)
	r.gone.Until = max(r.gone.Until, s.closedAt)
	s.counters.accepted.Add(-uint64(s.rows))
	s.counters.stored.Add(-uint64(s.rows))
	s.counters.removed.Add(s.bytes)
}

func (r *retained) removed() Removed {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Removed{Rows: maps.Clone(r.gone.Rows), Until: r.gone.Until, Problem: r.gone.Problem}
}

func (r *retained) hold() (release func()) {
	r.replacing.RLock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds++
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.holds--
		r.replacing.RUnlock()
	})
}

// unlessHeld replaces segments, if nobody reads them now, and lets nobody begin to meanwhile.
func (r *retained) unlessHeld(replace func()) {
	if r.replacing.TryLock() { // else the next time
		defer r.replacing.Unlock()
		replace()
	}
}
