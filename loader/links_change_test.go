package loader

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

const (
	costOfHit     = 100 // ns, that sites of these tests say
	steadyThreads = 4
)

// steadily lets threads of the target do callbacks, each run on new threads, until stop is called. It goes through the
// given numbers of callbacks of a thread again and again, and waits as long as a reader is too far behind so many hits
// of each site. stop returns how often each site was hit.
func (c *target) steadily(isBehind func(hits int) bool, callbacks ...int) (stop func() int) {
	stopping := make(chan struct{})
	type end struct {
		hits int
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		hits := 0
		for run := 0; ; run++ {
			select {
			case <-stopping:
				ended <- end{hits, nil}
				return
			default:
			}
			if isBehind(hits) {
				time.Sleep(time.Millisecond)
				continue
			}
			count := callbacks[run%len(callbacks)]
			if err := c.try(fmt.Sprintf("run %d %d", count, steadyThreads)); err != nil {
				ended <- end{0, err}
				return
			}
			hits += count * steadyThreads
		}
	}()
	return func() int {
		c.t.Helper()
		close(stopping)
		last := <-ended
		if last.err != nil {
			c.t.Fatal(last.err)
		}
		c.awaitThreads()
		return last.hits
	}
}

// tally counts what a loader records, without keeping it.
type tally struct {
	t      *testing.T
	loader *Loader
	ended  chan error
	read   atomic.Int64 // raw records
	// What follows belongs to the goroutine that reads, until expect.
	hits      map[uint32]map[abi.Event]int // raw records by process
	half      map[uint32]abi.Event         // by thread: the first one of two hits
	repeated  int                          // pairs of hits of one event
	complete  int                          // callbacks
	others    int
	accounted abi.HitCount
}

// newTally loads with raw records and an open gate, and counts what threads do of which each callback hits two events.
func newTally(t *testing.T, w way) *tally {
	t.Helper()
	options := w.options
	options.Raw, options.RingBytes = true, 64<<20
	c := &tally{
		t: t, loader: w.load(t, options), ended: make(chan error, 1), hits: make(map[uint32]map[abi.Event]int), half: make(map[uint32]abi.Event),
	}
	if _, _, err := c.loader.OpenGate(); err != nil {
		t.Fatal(err)
	}
	go func() {
		c.ended <- c.loader.Read(context.Background(), func(records [][]byte) error {
			for _, record := range records {
				if err := c.count(record); err != nil {
					return err
				}
			}
			return nil
		}, 10*time.Millisecond)
	}()
	return c
}

// isBehind reports whether the ring buffer might not hold what two sites that were hit so often leave to be read.
func (c *tally) isBehind(hits int) bool {
	const room = 40_000
	return hits-int(c.read.Load())/2 > room
}

// isUnread is for who is not recorded.
func isUnread(int) bool { return false }

func (c *tally) count(encoded []byte) error {
	switch abi.Kind(encoded[0]) {
	case abi.KindRaw:
		c.read.Add(1)
		var record abi.RawRecord
		if err := abi.Decode(encoded, &record); err != nil {
			return err
		}
		event, header := abi.Event(record.Header.Status), record.Header
		if half, paired := c.half[header.TID]; !paired {
			c.half[header.TID] = event
		} else {
			delete(c.half, header.TID)
			if half == event {
				c.repeated++
			}
		}
		if c.hits[header.PID] == nil {
			c.hits[header.PID] = make(map[abi.Event]int)
		}
		c.hits[header.PID][event]++
	case abi.KindCallback:
		var record abi.CallbackRecord
		if err := abi.Decode(encoded, &record); err != nil {
			return err
		}
		if record.Header.Status == abi.CallbackComplete && record.Header.Depth == 0 {
			c.complete++
		} else {
			c.others++
		}
	case abi.KindThread:
		var record abi.ThreadRecord
		if err := abi.Decode(encoded, &record); err != nil {
			return err
		}
		for _, unit := range record.Units {
			c.accounted.Hits += unit.Hits
			c.accounted.CostNs += unit.CostNs
		}
	}
	return nil
}

// expect ends the recording and requires that a process hit each of two events so often, once each time, that nobody
// else hit anything, and that each hit was accounted once.
func (c *tally) expect(process int32, hits int, events ...abi.Event) {
	c.t.Helper()
	c.readAll()
	c.expectHits(process, hits, events...)
	if want := (abi.HitCount{Hits: uint64(len(events) * hits), CostNs: uint64(len(events) * hits * costOfHit)}); c.accounted != want {
		c.t.Errorf("accounted %+v, want %+v", c.accounted, want)
	}
}

// readAll ends the recording.
func (c *tally) readAll() {
	c.t.Helper()
	if err := c.loader.Flush(); err != nil {
		c.t.Fatal(err)
	}
	if err := <-c.ended; err != nil {
		c.t.Fatal(err)
	}
	if losses, err := c.loader.Losses(); err != nil || len(losses) > 0 {
		c.t.Errorf("losses %v, error %v", losses, err)
	}
}

// expectHits requires that a process hit each of two events so often, once each time, and that nobody else hit
// anything.
func (c *tally) expectHits(process int32, hits int, events ...abi.Event) {
	c.t.Helper()
	if len(c.hits) != 1 {
		c.t.Errorf("hits of %d processes, want those of one", len(c.hits))
	}
	for _, event := range events {
		if got := c.hits[uint32(process)][event]; got != hits {
			c.t.Errorf("%d hits of %v, want %d", got, event, hits)
		}
	}
	if c.repeated != 0 || len(c.half) != 0 {
		c.t.Errorf("%d pairs of hits of one event, %d hits without another one", c.repeated, len(c.half))
	}
}

// linksOf attaches to sites in a process, or for every process: then twice, as for two processes that share them.
func linksOf(t *testing.T, l *Loader, process int32, sites []probes.Site) []*Attachment {
	t.Helper()
	var attachments []*Attachment
	for range 2 {
		attachment, problems, err := l.Attach(t.Context(), process, sites)
		if err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
		if attachments = append(attachments, attachment); process != 0 {
			break
		}
	}
	return attachments
}

func begin(t *testing.T, l *Loader, filter bool) {
	t.Helper()
	if err := l.BeginChange(filter); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, l *Loader) {
	t.Helper()
	if err := l.CommitChange(); err != nil {
		t.Fatal(err)
	}
}

// end closes what is left behind and ends the change.
func end(t *testing.T, l *Loader, left []*Attachment) {
	t.Helper()
	if err := l.CloseEach(left); err != nil {
		t.Fatal(err)
	}
	if err := l.EndChange(); err != nil {
		t.Fatal(err)
	}
}

func withCost(sites ...probes.Site) []probes.Site {
	for i := range sites {
		sites[i].Cost = costOfHit
	}
	return sites
}

// TestLinksAreReplaced changes again and again between links of a process and links for every process, some of the
// changes in vain, while threads of the process and of another one, which is not recorded, come and go.
func TestLinksAreReplaced(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		recorded, other := startTargetWith(t, library), startTargetWith(t, library)
		sites := withCost(recorded.callbackSites(library)...)
		c := newTally(t, w)
		if err := c.loader.AddProcess(recorded.pid); err != nil {
			t.Fatal(err)
		}
		links := linksOf(t, c.loader, recorded.pid, sites)
		for _, target := range []*target{recorded, other} {
			target.do("pace 10000")
		}
		// Of the threads some see one change at most, and some several.
		stop, stopOther := recorded.steadily(c.isBehind, 500, 20_000), other.steadily(isUnread, 500)
		changes := 20
		if testing.Short() {
			changes = 7
		}
		shared := false
		for i := range changes {
			inVain := i%5 == 3
			process := int32(0)
			if shared {
				process = recorded.pid
			}
			begin(t, c.loader, !shared)
			others := linksOf(t, c.loader, process, sites)
			if inVain {
				end(t, c.loader, others)
				if shared { // the others are those that are shared with
					links = append(links, linksOf(t, c.loader, 0, sites)...)
				}
				continue
			}
			commit(t, c.loader)
			end(t, c.loader, links)
			links, shared = others, !shared
		}
		stopOther()
		hits := stop()
		c.expect(recorded.pid, hits, abi.EventCallbackStart, abi.EventCallbackEnd)
		if c.complete != hits || c.others != 0 {
			t.Errorf("%d whole callbacks and %d others, want %d", c.complete, c.others, hits)
		}
	})
}

// slowly attaches a program to a site that takes a millisecond: what was attached there before has a hit only then.
func slowly(t *testing.T, library string, site probes.Site) {
	t.Helper()
	const turns = 20_000 // which the verifier walks through
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "slow",
		Type: ebpf.Kprobe,
		Instructions: asm.Instructions{
			asm.Mov.Imm(asm.R6, turns),
			asm.FnKtimeGetNs.Call().WithSymbol("turn"),
			asm.Sub.Imm(asm.R6, 1),
			asm.JNE.Imm(asm.R6, 0, "turn"),
			asm.Mov.Imm(asm.R0, 0),
			asm.Return(),
		},
		License: "Dual MIT/GPL",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	executable, err := link.OpenExecutable(library)
	if err != nil {
		t.Fatal(err)
	}
	attached, err := executable.Uprobe("", program, &link.UprobeOptions{Address: site.Offset})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := attached.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestHitsUnderWay has two programs at each site, and hits that take so long from one link to the next that commits
// fall between any two of the four at a site, and that the old ones are closed before a hit has come to them, if
// nobody waits.
func TestHitsUnderWay(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTargetWith(t, library)
		start := target.callbackSites(library)[0]
		beside := start
		beside.Event, beside.LastLayer = abi.EventRclPublish, true
		c := newTally(t, w)
		var links []*Attachment
		attach := func(site probes.Site) {
			links = append(links, linksOf(t, c.loader, target.pid, withCost(site))...)
		}
		attach(start)
		attach(beside)
		changes := 5
		if testing.Short() {
			changes = 2
		}
		stop := target.steadily(c.isBehind, 5)
		for range changes {
			old := links
			links = nil
			begin(t, c.loader, false)
			slowly(t, library, start)
			attach(start)
			slowly(t, library, start)
			attach(beside)
			commit(t, c.loader)
			end(t, c.loader, old)
		}
		c.expect(target.pid, stop(), start.Event, beside.Event)
	})
}

// TestFirstHitDuringAChange: what depends on whether anything was seen of a thread before does not depend on a link
// that left the hit to another one.
func TestFirstHitDuringAChange(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		for _, committed := range []bool{false, true} {
			t.Run(fmt.Sprintf("committed=%v", committed), func(t *testing.T) {
				library := buildLibrary(t, "libtracepoints.so")
				target := startTargetWith(t, library)
				site := target.callbackSites(library)[0]
				site.Event, site.LastLayer = abi.EventRclPublish, true
				r := newRecording(t, w)
				old := r.attach(target.pid, site)
				begin(t, r.loader, false)
				links := r.attach(target.pid, site)
				if committed {
					commit(t, r.loader)
				}
				for range 3 {
					target.do("call ros_trace_callback_start 10 20 0")
				}
				if committed {
					end(t, r.loader, []*Attachment{old})
				} else {
					end(t, r.loader, []*Attachment{links})
				}
				target.do("call ros_trace_callback_start 10 20 0")
				r.drain()
				if got, want := r.publishDetails(), []uint16{abi.DetailFormUnknown, 0, 0, 0}; !slices.Equal(got, want) {
					t.Errorf("details %v, want %v", got, want)
				}
			})
		}
	})
}

// TestUnlistedProcessIsNotRecorded: what is true of links for every process is true of those that replace others,
// whether or not these have asked who is recorded.
func TestUnlistedProcessIsNotRecorded(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		recorded, other := startTargetWith(t, library), startTargetWith(t, library)
		r := newRecording(t, w)
		hits := 0
		hit := func() {
			t.Helper()
			recorded.callbacks(10, 2)
			other.callbacks(10, 2)
			hits += 20
			r.expectHits(recorded.pid, hits)
			r.expectHits(other.pid, 0)
		}
		links := r.attach(recorded.pid, recorded.callbackSites(library)...)
		if err := r.loader.AddProcess(recorded.pid); err != nil {
			t.Fatal(err)
		}
		for _, process := range []int32{0, recorded.pid, 0, 0} {
			old := links
			begin(t, r.loader, process == 0)
			hit()
			links = r.attach(process, recorded.callbackSites(library)...)
			hit()
			commit(t, r.loader)
			hit()
			end(t, r.loader, []*Attachment{old})
			hit()
		}
		if err := r.loader.RemoveProcess(recorded.pid, 0); err != nil {
			t.Fatal(err)
		}
		recorded.callbacks(10, 2)
		r.expectHits(recorded.pid, hits)
	})
}

// TestChangesOutOfOrder requires an error for a step whose turn it is not, which leaves everything as it is.
func TestChangesOutOfOrder(t *testing.T) {
	requireRoot(t)
	const (
		beginning  = "begin"
		attaching  = "attach"
		committing = "commit"
		ending     = "end"
		closing    = "close old"
		undoing    = "close new"
		detaching  = "detach"
	)
	for _, test := range []struct {
		steps []string
		want  bool // that the last one succeeds
	}{
		{[]string{committing}, false},
		{[]string{ending}, false},
		{[]string{beginning, beginning}, false},
		{[]string{beginning, ending}, true},
		{[]string{beginning, ending, committing}, false},
		{[]string{beginning, ending, ending}, false},
		{[]string{beginning, ending, beginning}, true},
		{[]string{beginning, attaching, ending}, false},
		{[]string{beginning, attaching, undoing, ending}, true},
		{[]string{beginning, attaching, closing, committing, ending}, true},
		{[]string{beginning, attaching, committing, committing}, false},
		{[]string{beginning, attaching, committing, beginning}, false},
		{[]string{beginning, attaching, committing, ending}, false},
		{[]string{beginning, attaching, committing, undoing, ending}, false},
		{[]string{beginning, attaching, committing, closing, ending}, true},
		{[]string{detaching, beginning}, false},
		{[]string{beginning, detaching, committing}, false},
		{[]string{beginning, detaching, ending}, true},
	} {
		t.Run(fmt.Sprint(test.steps), func(t *testing.T) {
			library := buildLibrary(t, "libtracepoints.so")
			target := startTargetWith(t, library)
			r := newRecording(t, ways()[0])
			old := r.attach(target.pid, target.callbackSites(library)...)
			var attached *Attachment
			step := map[string]func() error{
				beginning:  func() error { return r.loader.BeginChange(false) },
				attaching:  func() error { attached = r.attach(target.pid, target.callbackSites(library)...); return nil },
				committing: r.loader.CommitChange,
				ending:     r.loader.EndChange,
				closing:    func() error { return old.Close() },
				undoing:    func() error { return attached.Close() },
				detaching:  r.loader.Detach,
			}
			last := len(test.steps) - 1
			for _, name := range test.steps[:last] {
				if err := step[name](); err != nil {
					t.Fatal(err)
				}
			}
			if err := step[test.steps[last]](); (err == nil) != test.want {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestLibraryLoadsAreToldOf: from a commit until the old links are closed one may be told of twice, never not at all.
func TestLibraryLoadsAreToldOf(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTargetWith(t, library)
		site := target.callbackSites(library)[0]
		site.Event = abi.EventLibraryLoad
		r := newRecording(t, w)
		told := 0
		expect := func(least, most int) {
			t.Helper()
			target.do("call ros_trace_callback_start 10 20 0")
			r.drain()
			before := told
			told = 0
			for _, record := range r.records {
				if abi.Kind(record[0]) == abi.KindProcess && record[1] == abi.ProcessLoad {
					told++
				}
			}
			if now := told - before; now < least || now > most {
				t.Errorf("told of %d, want %d to %d", now, least, most)
			}
		}
		old := r.attach(target.pid, site)
		expect(1, 1)
		begin(t, r.loader, false)
		r.attach(target.pid, site)
		expect(1, 1)
		commit(t, r.loader)
		expect(1, 2)
		end(t, r.loader, []*Attachment{old})
		expect(1, 1)
	})
}
