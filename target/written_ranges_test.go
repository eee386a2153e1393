package target

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestWrittenRanges maps a file privately, as a library's constants are that hold addresses: what was read is the
// file's, what was written and protected then is the process's own.
func TestWrittenRanges(t *testing.T) {
	page := os.Getpagesize()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 5*page), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	mapped, err := unix.Mmap(int(file.Fd()), 0, 5*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mapped) }()
	if mapped[0] != 0 || mapped[4*page] != 0 {
		t.Fatal("the file is not empty")
	}
	mapped[2*page], mapped[3*page] = 1, 1
	if err := unix.Mprotect(mapped, unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	process, err := NewFinder().Inspect(t.Context(), int32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer process.Close()
	memory := openMemory(t, process)
	start := uint64(uintptr(unsafe.Pointer(&mapped[0])))
	at := func(pages int) uint64 { return start + uint64(pages*page) }
	var written []Range
	for part, err := range memory.WrittenRanges(start, at(5)) {
		if err != nil {
			t.Fatal(err)
		}
		written = append(written, part)
	}
	if want := []Range{{at(2), at(4)}}; !slices.Equal(written, want) {
		t.Errorf("written %x, want %x", written, want)
	}
}
