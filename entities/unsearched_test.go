package entities

import (
	"context"
	"debug/elf"
	"iter"
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/target"
)

// TestMemoryThatGoesDuringAScan: the rest is searched, and it is said which parts were not.
func TestMemoryThatGoesDuringAScan(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	want := rowsByKey(newWorld(t, m).rows())
	used := (page(m.heap.start+m.heap.next) + 1) * pageSize // what lies behind holds nothing
	if heapEnd := m.heap.start + uint64(len(m.heap.data)); heapEnd < used+6*pageSize {
		t.Fatalf("the heap ends at %#x, %#x is used", heapEnd, used)
	}
	gone := []uint64{page(used), page(used) + 1, page(used) + 3}
	whole, err := Scan(context.Background(), m, m.layout, 1)
	if err != nil || len(whole.Skipped) > 0 || len(whole.Unsearched()) > 0 {
		t.Fatalf("skipped %v, %v", whole.Skipped, err)
	}
	snapshot, err := Scan(context.Background(), without{m, gone}, m.layout, 1)
	if err != nil {
		t.Fatal(err)
	}
	parts := []Skipped{{used, used + 2*pageSize, skippedGone}, {used + 3*pageSize, used + 4*pageSize, skippedGone}}
	if !slices.Equal(snapshot.Skipped, parts) || snapshot.Scanned != whole.Scanned-3*pageSize {
		t.Errorf("skipped %v, want %v; searched %d bytes of %d", snapshot.Skipped, parts, snapshot.Scanned, whole.Scanned)
	}
	g := New(testKey)
	g.Apply(snapshot)
	compareRows(t, rowsByKey(g.Rows(true)), want)
}

func TestUnsearchedInWords(t *testing.T) {
	snapshot := Snapshot{Scanned: 3 << 19, Skipped: []Skipped{
		{0x1000, 0x3000, skippedGone}, {0, 0, "more words that may be classes than one scan judges"}, {0x5000, 0x6000, skippedGone},
		{0x8000, 0x9000, skippedGone}, {0xa000, 0xb000, skippedGone}, {1 << 40, 2 << 40, "too large a mapping"},
	}}
	want := []string{
		"20 KiB in 4 parts (0x1000-0x3000, 0x5000-0x6000, 0x8000-0x9000, …) was not searched for entities: " +
			"it left RAM meanwhile; 1.5 MiB was searched",
		"some of it, nobody knows where, was not searched for entities: " +
			"more words that may be classes than one scan judges; 1.5 MiB was searched",
		"1024.0 GiB in 1 part (0x10000000000-0x20000000000) was not searched for entities: too large a mapping; 1.5 MiB was searched",
	}
	if got := snapshot.Unsearched(); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// losing is the memory of this process as far as one mapping goes, the middle of which goes when it is about to be
// read.
type losing struct {
	*ProcessMemory
	mapping target.Mapping
	lose    func()
	swapped bool // what goes is somewhere else
}

func (l losing) Mappings() ([]target.Mapping, error) { return []target.Mapping{l.mapping}, nil }

func (l losing) ResidentRanges(start, end uint64) iter.Seq2[target.Range, error] {
	return func(yield func(target.Range, error) bool) {
		for resident, err := range l.ProcessMemory.ResidentRanges(start, end) {
			l.lose()
			if !yield(resident, err) {
				return
			}
		}
	}
}

func (l losing) IsGivenBack(address uint64) bool {
	return !l.swapped && l.ProcessMemory.IsGivenBack(address)
}

// TestAProcessLosesMemoryDuringAScan looks through memory of this very process. What it gives back held nothing that
// lives; what has only left RAM was not searched.
func TestAProcessLosesMemoryDuringAScan(t *testing.T) {
	const pages, first, last = 8, 3, 5
	size := uint64(os.Getpagesize())
	for name, test := range map[string]struct {
		lose    func(part []byte) error
		swapped bool
	}{
		"it unmaps":     {lose: unmap},
		"it gives back": {lose: func(part []byte) error { return unix.Madvise(part, unix.MADV_DONTNEED) }},
		"it is swapped": {lose: unmap, swapped: true},
	} {
		t.Run(name, func(t *testing.T) {
			memory, err := unix.Mmap(-1, 0, int(pages*size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_POPULATE)
			if err != nil {
				t.Fatal(err)
			}
			process, err := target.NewFinder().Inspect(t.Context(), int32(os.Getpid()))
			if err != nil {
				t.Skip(err)
			}
			defer process.Close()
			opened, err := OpenMemory(t.Context(), process)
			if err != nil {
				t.Skip(err)
			}
			defer opened.Close()
			layout, err := layouts.For("jazzy", elf.EM_X86_64, nil)
			if err != nil {
				t.Fatal(err)
			}
			start := uint64(uintptr(unsafe.Pointer(&memory[0])))
			if opened.IsGivenBack(start) {
				t.Error("memory that is there is said to be given back")
			}
			lose := func() {
				if err := test.lose(memory[first*size : last*size]); err != nil {
					t.Fatal(err)
				}
			}
			space := losing{opened, target.Mapping{Start: start, End: start + pages*size, Perm: "rw-p"}, lose, test.swapped}
			snapshot, err := Scan(context.Background(), space, layout, 1)
			var want []Skipped
			if test.swapped {
				want = []Skipped{{start + first*size, start + last*size, skippedGone}}
			}
			if err != nil || !slices.Equal(snapshot.Skipped, want) || snapshot.Scanned != (pages-last+first)*size {
				t.Errorf("skipped %v, want %v; searched %d bytes, %v", snapshot.Skipped, want, snapshot.Scanned, err)
			}
		})
	}
}

func unmap(part []byte) error {
	if _, _, errno := unix.Syscall(unix.SYS_MUNMAP, uintptr(unsafe.Pointer(&part[0])), uintptr(len(part)), 0); errno != 0 {
		return errno
	}
	return nil
}
