package entities

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/target"
)

// What lies in a mapped file is read from the file that is there now, though the mappings were listed when it was
// another.
func TestReadingWhereAnotherFileWasMapped(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can open mapped files: run the tests with sudo")
	}
	pageSize := os.Getpagesize()
	const pages = 4
	// open makes a file whose pages are filled with consecutive letters.
	open := func(name string, first byte) int {
		var content []byte
		for i := range 2 * pages {
			content = append(content, bytes.Repeat([]byte{first + byte(i)}, pageSize)...)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		return int(file.Fd())
	}
	former, present := open("former", 'a'), open("present", 'A')
	for name, test := range map[string]struct {
		pages, offset int // of the present mapping
		want          byte
	}{
		"as long as the former": {pages, 1, 'B'},
		"shorter":               {pages - 1, 2, 'C'},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := target.NewFinder().Inspect(t.Context(), int32(os.Getpid()))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			memory, err := OpenMemory(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			defer memory.Close()
			mapFile := func(fd, offset int, at unsafe.Pointer, pages, flags int) unsafe.Pointer {
				t.Helper()
				start, err := unix.MmapPtr(fd, int64(offset*pageSize), at, uintptr(pages*pageSize), unix.PROT_READ, unix.MAP_PRIVATE|flags)
				if err != nil {
					t.Fatal(err)
				}
				return start
			}
			start := mapFile(former, 0, nil, pages, 0)
			got := make([]byte, 1)
			if err := memory.ReadAt(got, uint64(uintptr(start))); err != nil || got[0] != 'a' {
				t.Fatalf("the former file: %q, %v", got, err)
			}
			if err := unix.MunmapPtr(start, uintptr(pages*pageSize)); err != nil {
				t.Fatal(err)
			}
			mapFile(present, test.offset, start, test.pages, unix.MAP_FIXED_NOREPLACE)
			defer unix.MunmapPtr(start, uintptr(test.pages*pageSize))
			if err := memory.ReadAt(got, uint64(uintptr(start))); err != nil || got[0] != test.want {
				t.Errorf("the present file: %q, %v, want %q", got, err, test.want)
			}
		})
	}
}
