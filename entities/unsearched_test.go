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
			"it was unmapped or left RAM meanwhile; 1.5 MiB was searched",
		"some of it, nobody knows where, was not searched for entities: " +
			"more words that may be classes than one scan judges; 1.5 MiB was searched",
		"1024.0 GiB in 1 part (0x10000000000-0x20000000000) was not searched for entities: too large a mapping; 1.5 MiB was searched",
	}
	if got := snapshot.Unsearched(); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// unmapping is the memory of this process as far as one mapping goes, the middle of which is unmapped when it is about
// to be read.
type unmapping struct {
	*ProcessMemory
	t       *testing.T
	mapping target.Mapping
	gone    []byte
}

func (u unmapping) Mappings() ([]target.Mapping, error) { return []target.Mapping{u.mapping}, nil }

func (u unmapping) ResidentRanges(start, end uint64) iter.Seq2[target.Range, error] {
	return func(yield func(target.Range, error) bool) {
		for resident, err := range u.ProcessMemory.ResidentRanges(start, end) {
			if _, _, errno := unix.Syscall(unix.SYS_MUNMAP, uintptr(unsafe.Pointer(&u.gone[0])), uintptr(len(u.gone)), 0); errno != 0 {
				u.t.Fatal(errno)
			}
			if !yield(resident, err) {
				return
			}
		}
	}
}

// TestAProcessUnmapsDuringAScan looks through memory of this very process.
func TestAProcessUnmapsDuringAScan(t *testing.T) {
	const pages, first, last = 8, 3, 5
	size := uint64(os.Getpagesize())
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
	space := unmapping{opened, t, target.Mapping{Start: start, End: start + pages*size, Perm: "rw-p"}, memory[first*size : last*size]}
	snapshot, err := Scan(context.Background(), space, layout, 1)
	want := []Skipped{{start + first*size, start + last*size, skippedGone}}
	if err != nil || !slices.Equal(snapshot.Skipped, want) || snapshot.Scanned != (pages-last+first)*size {
		t.Errorf("skipped %v, want %v; searched %d bytes, %v", snapshot.Skipped, want, snapshot.Scanned, err)
	}
}
