package entities

import (
	"context"
	"debug/elf"
	"errors"
	"iter"
	"testing"

	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// scanned returns the rows of a graph that knows what a scan of a Space found.
func scanned(t *testing.T, m *image, space Space) trace.Batch {
	t.Helper()
	snapshot, err := Scan(context.Background(), space, m.layout, 1)
	if err != nil {
		t.Fatal(err)
	}
	g := New(testKey)
	g.Apply(snapshot)
	return g.Rows(true)
}

func TestScanFindsEverything(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		w := newWorld(t, m)
		compareRows(t, rowsByKey(scanned(t, m, m)), rowsByKey(w.rows()))
	})
}

func TestScanOfStaticExecutor(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		w := newWorld(t, m)
		m.instance(w.executor, m.typeInfo("N4dead8ExecutorE"), 0)
		static := w.executorOf(staticSingleThreadedName)
		rows := scanned(t, m, m)
		if len(rows.Executors) != 1 || rows.Executors[0].ExecutorType != staticSingleThreadedExecutor || rows.Executors[0].EntitiesCollector == 0 &&
			m.layout.Executor.StaticCollector != 0 {
			t.Errorf("executors %+v", rows.Executors)
		}
		if len(rows.CallbackGroups) != 1 || rows.CallbackGroups[0].Executor != trace.Address(static) {
			t.Errorf("callback groups %+v", rows.CallbackGroups)
		}
	})
}

// TestScanOfDerivedClasses: a lifecycle publisher's first base is another one, and users derive executors of their own.
func TestScanOfDerivedClasses(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	w := newWorld(t, m)
	whole := w.publisher - 16
	derived := m.typeInfo("N16rclcpp_lifecycle18LifecyclePublisherIN8std_msgs3msg7String_ISaIvEEESaIvEEE",
		m.base("N16rclcpp_lifecycle19SimpleManagedEntityE"),
		imageBase{typeInfo: m.typeInfos[publisherName+messageArguments+"SaIvEE"], offset: 16})
	m.instance(whole, derived, 0)
	m.instance(w.publisher, derived, 16)
	m.instance(w.executor, m.typeInfo("N4user8ExecutorE", imageBase{typeInfo: m.typeInfos[multiThreadedName]}), 0)
	want := w.rows()
	want.Executors[0].ExecutorType = "user::Executor"
	compareRows(t, rowsByKey(scanned(t, m, m)), rowsByKey(want))
}

// TestDeadObjectsAreNotFound leaves an object where it is and takes away what proves that it lives.
func TestDeadObjectsAreNotFound(t *testing.T) {
	for name, test := range map[string]struct {
		damage  func(m *image, w *world)
		missing func(rows trace.Batch) int // how many of the missing kind there are
	}{
		"freed node": {
			func(m *image, w *world) { m.set(m.get(w.nodeBase+self+8)+8, 0) },
			func(rows trace.Batch) int {
				return len(rows.CallbackGroups) + len(rows.Timers) + len(rows.ServiceServers)
			},
		},
		"copy of a node": {
			func(m *image, w *world) { m.set(w.nodeBase+self, w.nodeBase+64) },
			func(rows trace.Batch) int { return len(rows.CallbackGroups) },
		},
		"freed publisher":    {func(m *image, w *world) { m.set(m.get(w.publisher+self+8)+8, 1<<32) }, func(rows trace.Batch) int { return len(rows.Publishers) }},
		"recycled control":   {func(m *image, w *world) { m.set(m.get(w.publisher+self+8), 0x1234) }, func(rows trace.Batch) int { return len(rows.Publishers) }},
		"destroyed executor": {func(m *image, w *world) { m.instance(w.executor, m.typeInfos[executorName], 0) }, func(rows trace.Batch) int { return len(rows.Executors) }},
		"executor without context": {
			func(m *image, w *world) { m.set(w.executor+m.layout.Executor.Context, w.timer) }, func(rows trace.Batch) int { return len(rows.Executors) },
		},
		"no thread": {func(m *image, w *world) { m.set(w.executor+m.layout.Executor.Threads, 0) }, func(rows trace.Batch) int { return len(rows.Executors) }},
		"freed timer": {
			func(m *image, w *world) {
				m.set(m.get(m.get(w.group+m.layout.CallbackGroup.Timers)+8)+8, 0)
			}, func(rows trace.Batch) int { return len(rows.Timers) },
		},
		"no type of callback group": {func(m *image, w *world) { m.set(w.group, 7) }, func(rows trace.Batch) int { return len(rows.CallbackGroups) }},
		"group that begins after its end": {
			func(m *image, w *world) { m.set(w.group+m.layout.CallbackGroup.Timers, 1<<60) }, func(rows trace.Batch) int { return len(rows.CallbackGroups) },
		},
		"endless vector of members": {
			func(m *image, w *world) {
				m.set(w.group+m.layout.CallbackGroup.Timers+8, 1<<60)
				m.set(w.group+m.layout.CallbackGroup.Timers+16, 1<<60)
			}, func(rows trace.Batch) int { return len(rows.CallbackGroups) },
		},
		"intra-process object of another topic": {
			func(m *image, w *world) {
				m.set(w.intra+m.layout.SubscriptionIntraProcess.TopicName, m.text(&m.heap, "/stranger"))
				m.set(w.intra+m.layout.SubscriptionIntraProcess.TopicName+8, 9)
			}, func(rows trace.Batch) int { return len(rows.Subscriptions) - 1 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachLayout(t, func(t *testing.T, m *image) {
				w := newWorld(t, m)
				test.damage(m, w)
				if rows := scanned(t, m, m); test.missing(rows) != 0 {
					t.Errorf("found %+v", rows)
				}
			})
		})
	}
}

// TestCircularMap: an executor whose map leads in a circle has no groups, and the scan ends.
func TestCircularMap(t *testing.T) {
	m := newImage(t, "humble", elf.EM_X86_64)
	w := newWorld(t, m)
	at := w.executor + m.layout.Executor.Groups
	root := m.get(at + treeRoot)
	m.set(root+treeLeft, root)
	m.set(root+treeRight, root)
	m.set(at+treeCount, maxMembers)
	if rows := scanned(t, m, m); len(rows.Executors) != 0 || len(rows.Timers) != 1 {
		t.Errorf("found %+v", rows)
	}
	if m.reads > 1_000_000 {
		t.Errorf("%d reads", m.reads)
	}
}

// TestScanWithPagesMissing takes away one page of the heap after the other. What is found is what there is.
func TestScanWithPagesMissing(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	w := newWorld(t, m)
	want := rowsByKey(w.rows())
	for missing := page(m.heap.start); missing < page(m.heap.start+uint64(len(m.heap.data))); missing++ {
		got := rowsByKey(scanned(t, m, without{m, []uint64{missing}}))
		for key := range got {
			if _, ok := want[key]; !ok {
				t.Errorf("without page %#x: %+v", missing, got[key])
			}
		}
	}
	all := scanned(t, m, without{m, []uint64{page(m.heap.start + uint64(len(m.heap.data)) - 1)}})
	compareRows(t, rowsByKey(all), want)
}

// exiting is the memory of a process that ends after some reads.
type exiting struct {
	Space
	left *int
}

func (s exiting) ReadAt(p []byte, address uint64) error {
	if *s.left--; *s.left < 0 {
		return target.ErrExited
	}
	return s.Space.ReadAt(p, address)
}

func (s exiting) ResidentRanges(start, end uint64) iter.Seq2[target.Range, error] {
	return s.Space.ResidentRanges(start, end)
}

func (s exiting) WrittenRanges(start, end uint64) iter.Seq2[target.Range, error] {
	return s.Space.WrittenRanges(start, end)
}

func TestProcessEndsDuringScan(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	want := rowsByKey(newWorld(t, m).rows())
	for reads := 1; ; reads *= 2 {
		left := reads
		snapshot, err := Scan(context.Background(), exiting{m, &left}, m.layout, 1)
		if err == nil {
			if left < 0 {
				t.Errorf("the end after %d reads went unnoticed", reads)
			}
			break
		}
		if !errors.Is(err, target.ErrExited) || snapshot == nil {
			t.Fatalf("after %d reads: %v", reads, err)
		}
		g := New(testKey)
		g.Apply(snapshot)
		for key, row := range rowsByKey(g.Rows(true)) {
			if _, ok := want[key]; !ok {
				t.Errorf("after %d reads: %+v", reads, row)
			}
		}
	}
}

func TestScanIsCancelled(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	newWorld(t, m)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Scan(ctx, m, m.layout, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// flickering is memory in which a word has another value at every read.
type flickering struct {
	*image
	at    uint64
	count *uint64
}

func (s flickering) ReadAt(p []byte, address uint64) error {
	*s.count++
	s.set(s.at, 1000+*s.count)
	return s.image.ReadAt(p, address)
}

func TestTornReadsAreNotBelieved(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	w := newWorld(t, m)
	timer := m.get(w.timer + m.layout.TimerBase.TimerHandle)
	period := m.get(timer+m.layout.Timer.Impl) + m.layout.Timer.Period
	if rows := scanned(t, m, flickering{m, period, new(uint64)}); len(rows.Timers) != 0 || len(rows.ServiceServers) != 1 {
		t.Errorf("timers %+v", rows.Timers)
	}
}

// mapped is a Space with one mapping, which it notes the search of.
type mapped struct {
	*image
	mapping  target.Mapping
	searched bool
}

func (m *mapped) Mappings() ([]target.Mapping, error) { return []target.Mapping{m.mapping}, nil }

func (m *mapped) ResidentRanges(uint64, uint64) iter.Seq2[target.Range, error] {
	m.searched = true
	return func(func(target.Range, error) bool) {}
}

// TestMappingsThatAreSearched: what cannot hold objects is no loss; what is too large to look may be one.
func TestMappingsThatAreSearched(t *testing.T) {
	for name, test := range map[string]struct {
		mapping           target.Mapping
		searched, skipped bool
	}{
		"heap":           {target.Mapping{Start: 0x1000, End: 0x2000, Perm: "rw-p", Path: "[heap]"}, true, false},
		"data of a file": {target.Mapping{Start: 0x1000, End: 0x2000, Perm: "rw-p", Path: "/lib/a.so", Inode: 1}, true, false},
		"constants":      {target.Mapping{Start: 0x1000, End: 0x2000, Perm: "r--p", Path: "/lib/a.so", Inode: 1}, false, false},
		"shared":         {target.Mapping{Start: 0x1000, End: 0x2000, Perm: "rw-s", Path: "/dev/shm/fastrtps", Inode: 1}, false, false},
		"huge shared":    {target.Mapping{Start: 0x1000, End: 1 << 44, Perm: "rw-s", Path: "/data", Inode: 1}, false, false},
		"device":         {target.Mapping{Start: 0x1000, End: 0x2000, Perm: "rw-p", Path: "/dev/nvidia0", Inode: 1}, false, false},
		"reserved":       {target.Mapping{Start: 0x1000, End: 1 << 44, Perm: "rw-p"}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			space := &mapped{image: newImage(t, "jazzy", elf.EM_X86_64), mapping: test.mapping}
			snapshot, err := Scan(context.Background(), space, space.layout, 1)
			if err != nil || space.searched != test.searched || len(snapshot.Skipped) > 0 != test.skipped {
				t.Errorf("searched %v, skipped %v, %v", space.searched, snapshot.Skipped, err)
			}
		})
	}
}
