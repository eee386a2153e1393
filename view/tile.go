package view

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// exactCallbacks is the number of callbacks that an exact tile has at most.
	exactCallbacks = 4000
	// binsOfTile is the number of bins of a tile that is not exact.
	binsOfTile = 512
	// shortestTile is the length of tiles, in nanoseconds, that are not divided further.
	shortestTile = 100_000
	// binnedThreads is the number of threads that a tile has at most that is not exact.
	binnedThreads = 1000
	// wholeBin is how busy a thread was that was never idle.
	wholeBin = 255
)

// levels is the number of the deepest level of tiles.
func (v *View) levels() int {
	level := 0
	for v.duration()>>level > shortestTile {
		level++
	}
	return level
}

// tile is a part of what is shown: from begin to end, both included, so that neighbours share their border.
type tile struct {
	level, index int64
	begin, end   int64
	last         bool // of its level
}

// tileOf reads the key of a tile.
func (v *View) tileOf(k key) (t tile, err error) {
	if t.level, err = k.number("level", int64(v.levels())); err != nil {
		return t, err
	}
	if t.index, err = k.number("index", 1<<t.level-1); err != nil {
		return t, err
	}
	return v.newTile(t.level, t.index), nil
}

func (v *View) newTile(level, index int64) tile {
	return tile{level: level, index: index, begin: v.border(level, index), end: v.border(level, index+1), last: index == 1<<level-1}
}

// border returns where a tile begins. The product does not fit into 64 bits.
func (v *View) border(level, index int64) int64 {
	high, low := bits.Mul64(uint64(v.duration()), uint64(index))
	return int64(high<<(64-level) | low>>level)
}

// exactTile has all that happened in a tile.
type exactTile struct {
	Exact     bool         `json:"exact"` // true
	Callbacks executionsIn `json:"callbacks"`
	publishedIn
}

// executionsIn are the executions that overlap a tile, whole. Arrays are of the same length.
type executionsIn struct {
	Thread   []int                   `json:"thread"`
	Callback []int32                 `json:"callback"`
	Begin    []trace.Optional[int64] `json:"begin"`
	End      []trace.Optional[int64] `json:"end"`
	// Until is how long one without an end is known to have run; null where that is to its begin, and where the end is
	// known.
	Until  []trace.Optional[int64] `json:"until"`
	Depth  []int                   `json:"depth"`
	Status []trace.CallbackStatus  `json:"status"`
}

// binnedTile says how busy threads were.
type binnedTile struct {
	Exact bool `json:"exact"` // false
	Bins  int  `json:"bins"`
	// Threads are those with most callbacks in the tile; ThreadsOmitted is how many more have some.
	Threads        []binnedThread `json:"threads"`
	ThreadsOmitted int            `json:"threadsOmitted"`
}

type binnedThread struct {
	Thread int `json:"thread"`
	// Busy is the share of each bin that is known to be in a callback, from 0 to 255, rounded up.
	Busy []uint16 `json:"busy"`
	// Count is how many callbacks began in each bin; of status start_missing, ended.
	Count []int32 `json:"count"`
	// Longest is for each bin the longest execution that overlaps it: callback, begin and end; null where there is none
	// whose begin and end are known.
	Longest []*[3]int64 `json:"longest"`
}

func (v *View) tile(ctx context.Context, t tile) (any, error) {
	x, err := v.readIndex(ctx)
	if err != nil {
		return nil, err
	}
	if !x.isExact(t) {
		return x.bin(t), nil
	}
	exact := &exactTile{Exact: true, Callbacks: x.executions(t)}
	exact.publishedIn, err = v.published(ctx, t)
	return exact, err
}

// isExact tells whether few enough executions overlap a tile.
func (x *index) isExact(t tile) bool {
	count := 0
	for _, of := range x.threads {
		if count += of.beginning(t.begin, t.end); count > exactCallbacks {
			return false
		}
	}
	count = 0
	for _, of := range x.threads {
		of.overlapping(t.begin, t.end, func(int) bool {
			count++
			return count <= exactCallbacks
		})
	}
	return count <= exactCallbacks
}

// executions are those that overlap a tile.
func (x *index) executions(t tile) executionsIn {
	e := executionsIn{
		Thread: []int{}, Callback: []int32{}, Begin: []trace.Optional[int64]{}, End: []trace.Optional[int64]{},
		Until: []trace.Optional[int64]{}, Depth: []int{}, Status: []trace.CallbackStatus{},
	}
	for id, of := range x.threads {
		of.overlapping(t.begin, t.end, func(i int) bool {
			status := x.statuses[of.status[i]]
			begin, end := trace.Some(of.begin[i]), trace.Some(of.end[i])
			begin.Valid = status != trace.CallbackStartMissing
			end.Valid = of.end[i] != noTime && status != trace.CallbackRecordingEnd
			e.Thread, e.Callback = append(e.Thread, id), append(e.Callback, of.callback[i])
			until := trace.Optional[int64]{Value: of.end[i], Valid: status == trace.CallbackRecordingEnd}
			e.Begin, e.End, e.Until = append(e.Begin, nullable(begin)), append(e.End, nullable(end)), append(e.Until, nullable(until))
			e.Depth, e.Status = append(e.Depth, int(of.depth[i])), append(e.Status, status)
			return true
		})
	}
	return e
}

// nullable is the zero Optional for one that is not valid.
func nullable(at trace.Optional[int64]) trace.Optional[int64] {
	if !at.Valid {
		return trace.Optional[int64]{}
	}
	return at
}

// bin tells how busy the threads were in a tile.
func (x *index) bin(t tile) *binnedTile {
	binned := &binnedTile{Bins: binsOfTile, Threads: []binnedThread{}}
	shown, omitted := x.busiest(t)
	binned.ThreadsOmitted = omitted
	for _, id := range shown {
		of, b := x.threads[id], newBinning(t)
		of.overlapping(t.begin, t.end, func(i int) bool {
			b.add(of, i, x.statuses[of.status[i]] == trace.CallbackRecordingEnd)
			return true
		})
		if b.any {
			binned.Threads = append(binned.Threads, b.thread(id))
		}
	}
	return binned
}

// busiest are the threads with most callbacks in a tile, in the order of their numbers, and how many more have some.
func (x *index) busiest(t tile) (shown []int, omitted int) {
	counts := make(map[int]int)
	for id, of := range x.threads {
		if counts[id] = of.beginning(t.begin, t.end); counts[id] == 0 {
			of.overlapping(t.begin, t.end, func(int) bool {
				counts[id] = 1
				return false
			})
		}
		if counts[id] > 0 {
			shown = append(shown, id)
		}
	}
	if len(shown) <= binnedThreads {
		return shown, 0
	}
	slices.SortStableFunc(shown, func(a, b int) int { return cmp.Compare(counts[b], counts[a]) })
	omitted = len(shown) - binnedThreads
	shown = shown[:binnedThreads]
	slices.Sort(shown)
	return shown, omitted
}

// binning counts executions of one thread in the bins of a tile. They come in the order of their begins.
type binning struct {
	tile    tile
	length  int64
	any     bool
	count   [binsOfTile]int32
	busy    [binsOfTile]int64
	longest longestIn
	// covered is until when the time is accounted for.
	covered int64
}

func newBinning(t tile) *binning {
	return &binning{tile: t, length: max(1, t.end-t.begin), covered: t.begin}
}

// of returns the bin of a time in the tile.
func (b *binning) of(at int64) int {
	return int(min(binsOfTile-1, (at-b.tile.begin)*binsOfTile/b.length))
}

// begin returns the first nanosecond of a bin.
func (b *binning) begin(bin int) int64 {
	return b.tile.begin + (int64(bin)*b.length+binsOfTile-1)/binsOfTile
}

// add takes an execution, whose end may only be that of what is recorded of it.
func (b *binning) add(of *threadIndex, i int, unfinished bool) {
	begin, end := of.begin[i], of.end[i]
	// What begins at the border is counted in the later tile.
	if begin >= b.tile.begin && (begin < b.tile.end || b.tile.last) {
		b.any = true
		b.count[b.of(begin)]++
	}
	if end <= begin || end <= b.tile.begin || begin >= b.tile.end {
		return
	}
	b.any = true
	first, last := b.of(max(begin, b.tile.begin)), b.of(min(end, b.tile.end)-1)
	if !unfinished {
		b.longest.add(of.callback[i], begin, end, first, last)
	}
	from, to := max(begin, b.covered), min(end, b.tile.end)
	if from >= to {
		return // within another callback
	}
	b.covered = to
	for bin := b.of(from); bin <= last; bin++ {
		b.busy[bin] += min(to, b.begin(bin+1)) - max(from, b.begin(bin))
	}
}

func (b *binning) thread(id int) binnedThread {
	t := binnedThread{Thread: id, Busy: make([]uint16, binsOfTile), Count: b.count[:], Longest: b.longest.of()}
	for bin, busy := range b.busy {
		if length := b.begin(bin+1) - b.begin(bin); busy > 0 {
			t.Busy[bin] = uint16((busy*wholeBin + length - 1) / length)
		}
	}
	return t
}

// String names a tile in errors.
func (t tile) String() string { return fmt.Sprintf("level %d, index %d", t.level, t.index) }
