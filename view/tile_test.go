package view_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/view"
)

var robot = trace.ProcessKey{BootID: "boot", PID: 77, ProcessStart: 1}

// begin is when the recordings of these tests begin.
const begin = 1_700_000_000_000_000_000

// ran is an execution, without what its status says is not known.
func ran(tid int32, callback trace.Address, from, to int64, status trace.CallbackStatus, depth int32) trace.Callback {
	c := trace.Callback{ProcessKey: robot, TID: tid, Callback: callback, Status: status, Depth: depth, Kind: trace.KindTimer}
	if status != trace.CallbackStartMissing {
		c.CallbackStartTimestamp = trace.Some(begin + from)
	}
	if status == trace.CallbackComplete || status == trace.CallbackStartMissing {
		c.CallbackEndTimestamp = trace.Some(begin + to)
	}
	return c
}

// timers are two callbacks of a node.
func timers() *trace.Batch {
	return &trace.Batch{
		Nodes:         []trace.Node{{ProcessKey: robot, NodeHandle: 1, NodeName: "/n"}},
		Timers:        []trace.Timer{{ProcessKey: robot, TimerHandle: 2, NodeHandle: 1, Callback: 0x10, NodeName: "/n"}, {ProcessKey: robot, TimerHandle: 3, NodeHandle: 1, Callback: 0x20, NodeName: "/n"}},
		CallbackInfos: []trace.CallbackInfo{{ProcessKey: robot, Callback: 0x10}, {ProcessKey: robot, Callback: 0x20}},
	}
}

// nested are executions of known and unknown callbacks on several threads, within each other, some without a begin or
// an end.
func nested(executions int) *trace.Batch {
	random := rand.New(rand.NewPCG(1, 2))
	rows := timers()
	callbacks := []trace.Address{0x10, 0x20, 0x99}
	endings := []trace.CallbackStatus{trace.CallbackUnwound, trace.CallbackThreadExit, trace.CallbackRecordingEnd}
	for tid := int32(1); tid <= 3; tid++ {
		at := int64(0)
		var run func(depth int32)
		run = func(depth int32) {
			from := at
			status := trace.CallbackComplete
			at += 1 + random.Int64N(2000)
			for depth < 4 && random.IntN(3) == 0 {
				run(depth + 1)
				at += 1 + random.Int64N(500)
			}
			switch random.IntN(40) {
			case 0:
				status = endings[random.IntN(len(endings))]
			case 1:
				status = trace.CallbackStartMissing
			}
			rows.Callbacks = append(rows.Callbacks, ran(tid, callbacks[random.IntN(len(callbacks))], from, at, status, depth))
		}
		for int(tid)*executions/3 > len(rows.Callbacks) {
			run(0)
			if random.IntN(50) > 0 {
				at += random.Int64N(3000)
			}
		}
	}
	return rows
}

// exactTile is what a tile answers.
type exactTile struct {
	Exact     bool
	Callbacks struct {
		Thread   []int
		Callback []int
		Begin    []*int64
		End      []*int64
		Depth    []int32
		Status   []trace.CallbackStatus
	}
	Publishes struct {
		Thread, Topic []int
		T             []int64
	}
	Messages struct {
		Topic, FromThread []int
		FromTime          []int64
		ToThread          []int
		ToTime            []int64
	}
	More    bool
	Bins    int
	Threads []struct {
		Thread      int
		Busy, Count []int
		Longest     []*[3]int64
	}
}

// named are the executions that a tile has, as texts that tell them apart.
func (e *exactTile) named(r recording) (all []string) {
	c := &e.Callbacks
	for i := range c.Thread {
		at := func(of *int64) string {
			if of == nil {
				return "?"
			}
			return fmt.Sprint(*of)
		}
		all = append(all, fmt.Sprint(r.Threads[c.Thread[i]].TID, c.Callback[i], " ", at(c.Begin[i]), " ", at(c.End[i]), c.Depth[i], c.Status[i]))
	}
	return all
}

// known is an execution as a tile is to tell it, and when it is known to have run, on the page.
type known struct {
	name        string
	tid         int32
	from, until int64
	// unfinished: it still ran when the recording ended.
	unfinished bool
}

func knownOf(rows []trace.Callback, duration, first int64) (all []known) {
	ids := map[trace.Address]int{0x10: 0, 0x20: 1, 0x99: -1}
	for i := range rows {
		row := &rows[i]
		k := known{tid: row.TID, from: row.CallbackStartTimestamp.Value - first, until: row.CallbackEndTimestamp.Value - first}
		begins, ends := fmt.Sprint(k.from), fmt.Sprint(k.until)
		if !row.CallbackStartTimestamp.Valid {
			k.from, begins = k.until, "?"
		}
		if !row.CallbackEndTimestamp.Valid {
			k.until, ends = k.from, "?"
		}
		if row.Status == trace.CallbackRecordingEnd {
			k.until, k.unfinished = duration, true
		}
		k.name = fmt.Sprint(row.TID, ids[row.Callback], " ", begins, " ", ends, row.Depth, row.Status)
		all = append(all, k)
	}
	return all
}

// The tiles of every level have together exactly the callbacks of the recording: exact tiles each that overlaps them,
// and others count each where it begins.
func TestTilesHaveAllCallbacks(t *testing.T) {
	rows := nested(9000)
	v := open(t, view.Options{Datasets: []*trace.Dataset{datasetOf(t, rows)}})
	r := ask[recording](t, v, "recording")
	var first int64
	if _, err := fmt.Sscan(r.Begin, &first); err != nil {
		t.Fatal(err)
	}
	all := knownOf(rows.Callbacks, r.Duration, first)
	exact, binned := 0, 0
	for level := range min(r.Levels, 5) + 1 {
		counted := 0
		for index := range int64(1) << level {
			from, to := r.Duration*index>>level, r.Duration*(index+1)>>level
			last := index == 1<<level-1
			e := ask[exactTile](t, v, fmt.Sprintf("tile?level=%d&index=%d", level, index))
			var want []string
			begun := 0
			for _, k := range all {
				if k.from <= to && k.until >= from {
					want = append(want, k.name)
				}
				if k.from >= from && (k.from < to || last) {
					begun++
				}
			}
			counted += begun
			if e.Exact {
				exact++
				got := e.named(r)
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("level %d, tile %d: %d callbacks, want %d", level, index, len(got), len(want))
				}
				continue
			}
			binned++
			if len(want) <= 4000 {
				t.Errorf("level %d, tile %d is not exact with %d callbacks", level, index, len(want))
			}
			got := 0
			for _, of := range e.Threads {
				for _, count := range of.Count {
					got += count
				}
			}
			if got != begun {
				t.Errorf("level %d, tile %d counts %d callbacks, want %d", level, index, got, begun)
			}
		}
		if counted != len(all) {
			t.Fatalf("level %d: the test counts %d of %d", level, counted, len(all))
		}
	}
	if exact == 0 || binned == 0 {
		t.Errorf("%d exact tiles, %d others", exact, binned)
	}
}

// Bins are as busy as callbacks were in them, nested ones counted once, and name the longest callback.
func TestBins(t *testing.T) {
	rows := nested(9000)
	v := open(t, view.Options{Datasets: []*trace.Dataset{datasetOf(t, rows)}})
	r := ask[recording](t, v, "recording")
	var first int64
	if _, err := fmt.Sscan(r.Begin, &first); err != nil {
		t.Fatal(err)
	}
	e := ask[exactTile](t, v, "tile?level=0&index=0")
	if e.Exact || e.Bins != len(e.Threads[0].Busy) {
		t.Fatalf("exact is %v, %d bins", e.Exact, e.Bins)
	}
	all := knownOf(rows.Callbacks, r.Duration, first)
	for _, of := range e.Threads {
		running := make([]bool, r.Duration) // each nanosecond
		longest := make(map[int]int64)
		bin := func(at int64) int { return int(at * int64(e.Bins) / r.Duration) }
		for _, k := range all {
			if k.tid != r.Threads[of.Thread].TID {
				continue
			}
			for at := k.from; at < k.until; at++ {
				running[at] = true
			}
			if k.until > k.from && !k.unfinished {
				for b := bin(k.from); b <= bin(k.until-1); b++ {
					longest[b] = max(longest[b], k.until-k.from)
				}
			}
		}
		busy, whole := make([]int, e.Bins), make([]int, e.Bins)
		for at, runs := range running {
			whole[bin(int64(at))]++
			if runs {
				busy[bin(int64(at))]++
			}
		}
		for b := range e.Bins {
			if want := (busy[b]*255 + whole[b] - 1) / whole[b]; of.Busy[b] != want {
				t.Fatalf("thread %d, bin %d is busy %d, want %d", of.Thread, b, of.Busy[b], want)
			}
			if (of.Longest[b] == nil) != (longest[b] == 0) || of.Longest[b] != nil && of.Longest[b][2]-of.Longest[b][1] != longest[b] {
				t.Fatalf("thread %d, bin %d: the longest is %v, want %d", of.Thread, b, of.Longest[b], longest[b])
			}
		}
	}
}

// All publishes and messages are in exact tiles, each in those that it overlaps.
func TestMessagesOfTiles(t *testing.T) {
	d := systemDataset(t, 6000)
	v := open(t, view.Options{Datasets: []*trace.Dataset{d}})
	r := ask[recording](t, v, "recording")
	type message struct{ topic, from, to int64 }
	level := int64(2)
	published, received := 0, make(map[message]int)
	for index := range int64(1) << level {
		e := ask[exactTile](t, v, fmt.Sprintf("tile?level=%d&index=%d", level, index))
		if !e.Exact || e.More {
			t.Fatalf("tile %d: %v, %v", index, e.Exact, e.More)
		}
		published += len(e.Publishes.T)
		for i := range e.Messages.Topic {
			m := message{int64(e.Messages.Topic[i]), e.Messages.FromTime[i], e.Messages.ToTime[i]}
			received[m]++
			if m.from > m.to || e.Messages.FromThread[i] < 0 || e.Messages.ToThread[i] < 0 || e.Messages.Topic[i] < 0 {
				t.Errorf("a message of %v", m)
			}
		}
	}
	rows, err := trace.Count(t.Context(), d, trace.TablePublish)
	if err != nil || published != int(rows) {
		t.Errorf("%d publishes, want %d (%v)", published, rows, err)
	}
	type counts struct {
		Columns []string
		Rows    [][]any
	}
	c := ask[counts](t, v, "communications")
	want := 0.0
	for _, row := range c.Rows {
		want += row[slices.Index(c.Columns, "count")].(float64)
	}
	if len(received) != int(want) {
		t.Errorf("%d messages, want %v", len(received), want)
	}
	for _, n := range maps.All(received) {
		if n > 2 {
			t.Errorf("a message is in %d tiles", n)
		}
	}
	if r.Levels < level {
		t.Errorf("%d levels", r.Levels)
	}
}

// A callback that ran on when its recording ended is known to have run until then, not until a later recording ended.
func TestUnfinishedInOneOfTwoRecordings(t *testing.T) {
	first, second := timers(), timers()
	first.Callbacks = []trace.Callback{ran(1, 0x10, 0, 100, trace.CallbackComplete, 0), ran(1, 0x10, 500, 0, trace.CallbackRecordingEnd, 0), ran(2, 0x10, 600, 700, trace.CallbackComplete, 0)}
	second.Callbacks = []trace.Callback{ran(2, 0x20, 9000, 9900, trace.CallbackComplete, 0)}
	v := open(t, view.Options{Datasets: []*trace.Dataset{datasetOf(t, first), datasetOf(t, second)}})
	for key, want := range map[string]int{"tile?level=0&index=0": 4, "offcpu?level=0&index=0": 0} {
		e := ask[struct {
			Callbacks struct {
				Status []trace.CallbackStatus
				End    []*int64
				Until  []*int64
			}
		}](t, v, key)
		if len(e.Callbacks.Status) != want {
			t.Errorf("%s: %+v", key, e)
		}
		for i, status := range e.Callbacks.Status {
			if unfinished := status == trace.CallbackRecordingEnd; unfinished != (e.Callbacks.End[i] == nil) || unfinished && *e.Callbacks.Until[i] != 700 {
				t.Errorf("%s until %v", status, e.Callbacks.Until[i])
			}
		}
	}
}

// A tile that is not exact has the threads with most callbacks, and says how many it leaves out.
func TestManyThreads(t *testing.T) {
	rows := timers()
	const threads = 1100
	for tid := range int32(threads) {
		for i := range int64(4) {
			rows.Callbacks = append(rows.Callbacks, ran(tid+1, 0x10, 1000*i+int64(tid), 1000*i+int64(tid)+10, trace.CallbackComplete, 0))
		}
	}
	for i := range int64(10) { // the last thread has more
		rows.Callbacks = append(rows.Callbacks, ran(threads, 0x20, 5000+100*i, 5010+100*i, trace.CallbackComplete, 0))
	}
	e := ask[struct {
		Exact          bool
		ThreadsOmitted int
		Threads        []struct{ Thread int }
	}](t, open(t, view.Options{Datasets: []*trace.Dataset{datasetOf(t, rows)}}), "tile?level=0&index=0")
	if e.Exact || len(e.Threads) != 1000 || e.ThreadsOmitted != threads-1000 || e.Threads[999].Thread != threads-1 {
		t.Errorf("exact is %v, %d threads, %d left out", e.Exact, len(e.Threads), e.ThreadsOmitted)
	}
}
