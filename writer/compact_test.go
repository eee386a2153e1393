package writer

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// histories are rows of entities in the order in which a recorder tells of them, and those that count, by number.
type histories struct {
	rows     []trace.Timer
	counting map[uint64]trace.Timer
}

func newHistories(entities int, seed uint64) *histories {
	random := rand.New(rand.NewPCG(seed, 3))
	h := &histories{counting: make(map[uint64]trace.Timer)}
	for revision := uint64(1); len(h.rows) < 4*entities; revision++ {
		row := trace.Timer{TimerHandle: 0x10, NodeName: fmt.Sprint("node ", revision)}
		row.Stamp(1+random.Uint64N(uint64(entities)), revision)
		h.rows = append(h.rows, row)
		h.counting[row.Entity] = row
	}
	return h
}

// write appends the rows and closes segments now and then.
func (h *histories) write(t testing.TB, w *Writer, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 4))
	for rest := h.rows; len(rest) > 0; {
		n := min(len(rest), 1+random.IntN(len(h.rows)/2))
		appendRows(t, w, rest[:n]...)
		rest = rest[n:]
		if random.IntN(2) == 0 {
			if err := w.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// check wants each entity once in what is read.
func (h *histories) check(t *testing.T, dir string) {
	t.Helper()
	got := readAll[trace.Timer](t, dir)
	met := make(map[uint64]bool)
	for _, row := range got {
		if met[row.Entity] || row != h.counting[row.Entity] {
			t.Fatalf("row %+v (again: %v), want %+v", row, met[row.Entity], h.counting[row.Entity])
		}
		met[row.Entity] = true
	}
	if len(got) != len(h.counting) {
		t.Fatalf("%d rows of %d entities", len(got), len(h.counting))
	}
}

func storedTimers(t *testing.T, dir string) uint64 {
	t.Helper()
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	count, err := trace.Count(t.Context(), d, trace.TableTimer)
	if err != nil {
		t.Fatal(err)
	}
	return count
}

func TestCompactLeavesOneRowOfEachEntity(t *testing.T) {
	for seed := range uint64(20) {
		h := newHistories(1+int(seed)*150, seed)
		w, dir := create(t, Options{SegmentBytes: 20_000, RowGroupRows: 300})
		h.write(t, w, seed)
		callbacks := []trace.Callback{{Callback: 1, Status: trace.CallbackComplete}, {Callback: 1, Status: trace.CallbackComplete}}
		appendRows(t, w, callbacks...)
		first := trace.Process{ProcessKey: trace.ProcessKey{BootID: "boot", PID: 1}, Revision: 1}
		last := first
		last.Revision, last.Exited = 2, true
		appendRows(t, w, first, last)
		if err := w.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		stored := w.StoredRows()
		if accepted := w.AcceptedRows(); stored[trace.TableTimer] != uint64(len(h.counting)) || accepted[trace.TableTimer] != uint64(len(h.counting)) {
			t.Errorf("%d rows of %d entities are stored, %d accepted", stored[trace.TableTimer], len(h.counting), accepted[trace.TableTimer])
		}
		closeWriter(t, w)
		if count := storedTimers(t, dir); count != uint64(len(h.counting)) {
			t.Errorf("%d rows of %d entities are in the segments", count, len(h.counting))
		}
		h.check(t, dir)
		if processes := readAll[trace.Process](t, dir); !slices.Equal(processes, []trace.Process{last}) || stored[trace.TableProcess] != 1 {
			t.Errorf("processes %+v, %d stored", processes, stored[trace.TableProcess])
		}
		if got := readAll[trace.Callback](t, dir); !slices.Equal(got, callbacks) {
			t.Errorf("callbacks %+v", got)
		}
		for _, name := range segmentNames(t, dir, trace.TableTimer) {
			if strings.HasPrefix(name, ".") {
				t.Errorf("%s is left", name)
			}
		}
	}
}

// What the folder holds may have been exchanged by its owner, or the time may be up: nothing is lost, and the recording
// ends well.
func TestCompactThatFailsLosesNothing(t *testing.T) {
	later, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		context  context.Context
		sabotage func(t *testing.T, segment string)
		want     error
	}{
		"no time": {later, func(*testing.T, string) {}, context.Canceled},
		"a pipe in place of a segment": {t.Context(), func(t *testing.T, segment string) {
			if err := errors.Join(os.Rename(segment, segment+".kept"), unix.Mkfifo(segment, 0o600)); err != nil {
				t.Fatal(err)
			}
		}, errRowsChanged},
		"another segment": {t.Context(), func(t *testing.T, segment string) {
			content, err := os.ReadFile(filepath.Join(filepath.Dir(segment), segmentName(1)))
			if err := errors.Join(err, os.Rename(segment, segment+".kept"), os.WriteFile(segment, content, 0o600)); err != nil {
				t.Fatal(err)
			}
		}, errRowsChanged},
		"no segment": {t.Context(), func(t *testing.T, segment string) {
			if err := os.Rename(segment, segment+".kept"); err != nil {
				t.Fatal(err)
			}
		}, os.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistories(100, 1)
			w, dir := create(t, Options{})
			appendRows(t, w, h.rows[:300]...)
			if err := w.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			appendRows(t, w, h.rows[300:]...)
			if err := w.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			segment := filepath.Join(dir, trace.TableTimer, segmentName(0))
			test.sabotage(t, segment)
			if err := w.Compact(test.context); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if stored := w.StoredRows()[trace.TableTimer]; stored != uint64(len(h.rows)) {
				t.Errorf("%d rows are stored, want %d", stored, len(h.rows))
			}
			if err := w.WriteSession(trace.NewSession()); err != nil {
				t.Error(err)
			}
			closeWriter(t, w)
			if _, err := os.Lstat(segment + ".kept"); err == nil {
				if err := os.Rename(segment+".kept", segment); err != nil {
					t.Fatal(err)
				}
			}
			if names := segmentNames(t, dir, trace.TableTimer); len(names) != 2 {
				t.Errorf("segments %v", names)
			}
			h.check(t, dir)
		})
	}
}

// A recorder may be killed at any moment of replacing its segments. What the folder then holds is replayed from the
// changes that the kernel tells of: each entity has one row for readers in every state.
func TestCompactLosesNothingAtAnyMoment(t *testing.T) {
	h := newHistories(1000, 9)
	w, dir := create(t, Options{SegmentBytes: 3000, RowGroupRows: 100})
	for rows := range slices.Chunk(h.rows, 500) {
		appendRows(t, w, rows...)
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	folder, all := filepath.Join(dir, trace.TableTimer), t.TempDir()
	present := make(map[string]bool)
	keep := func() {
		for _, name := range segmentNames(t, dir, trace.TableTimer) {
			present[name] = true
			if err := os.Link(filepath.Join(folder, name), filepath.Join(all, name)); err != nil && !errors.Is(err, os.ErrExist) {
				t.Fatal(err)
			}
		}
	}
	keep()
	former := len(present)
	changes := watch(t, folder)
	if err := w.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	happened := changes()
	closeWriter(t, w)
	before := maps.Clone(present)
	keep()
	if former < 4 || len(happened) < former+2 {
		t.Fatalf("%d segments, changes %v: too few for a test", former, happened)
	}
	killed := t.TempDir()
	tracetest.AddSession(t, killed, trace.NewSession())
	for _, change := range happened {
		if change.removed {
			delete(before, change.name)
		} else {
			before[change.name] = true
		}
		state := filepath.Join(killed, trace.TableTimer)
		if err := errors.Join(os.RemoveAll(state), os.Mkdir(state, 0o700)); err != nil {
			t.Fatal(err)
		}
		for name := range before {
			if err := os.Link(filepath.Join(all, name), filepath.Join(state, name)); err != nil {
				t.Fatal(err)
			}
		}
		h.check(t, killed)
	}
}

// change is what happened to a segment in a folder.
type change struct {
	name    string
	removed bool // else it got its name
}

// watch tells, when asked, what happened in a folder since.
func watch(t *testing.T, folder string) func() []change {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if _, err := unix.InotifyAddWatch(fd, folder, unix.IN_MOVED_TO|unix.IN_DELETE); err != nil {
		t.Fatal(err)
	}
	return func() (changes []change) {
		buffer := make([]byte, 1<<20)
		n, err := unix.Read(fd, buffer)
		if err != nil {
			t.Fatal(err)
		}
		for events := buffer[:n]; len(events) > 0; {
			mask, length := binary.NativeEndian.Uint32(events[4:]), binary.NativeEndian.Uint32(events[12:])
			name := string(bytes.TrimRight(events[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+length], "\x00"))
			changes = append(changes, change{name, mask&unix.IN_DELETE != 0})
			events = events[unix.SizeofInotifyEvent+length:]
		}
		return changes
	}
}
