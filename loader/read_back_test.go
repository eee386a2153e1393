package loader

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/memoryhelper"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/test/fuse"
)

// Where a process had a library a moment ago, it has a page that does not come. Nobody of this process waits for it.
func TestReadingBackAPageThatDoesNotCome(t *testing.T) {
	served, release := fuse.Mount(t, fuse.Options{Owner: 65534})
	// Not by os.Open: while the kernel asks this process, which serves it, whether the file can be polled, no goroutine
	// may get a thread that answers.
	file, err := unix.Open(served, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(file)
	page, err := unix.Mmap(file, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(page) }()
	var r readBacks
	defer r.helper.Close()
	if err := r.read(int32(os.Getpid()), uint64(uintptr(unsafe.Pointer(unsafe.SliceData(page)))), make([]byte, 1)); !errors.Is(err, memoryhelper.ErrUnanswered) {
		t.Errorf("error %v", err)
	}
	if r.waiting.Load() != 1 {
		t.Errorf("%d processes are waited for", r.waiting.Load())
	}
	threads, _ := filepath.Glob("/proc/self/task/*/stack")
	for _, thread := range threads {
		if stack, err := os.ReadFile(thread); err == nil && bytes.Contains(stack, []byte("handle_mm_fault")) {
			t.Errorf("a thread waits for the page:\n%s", stack)
		}
	}
	release()
	for r.waiting.Load() != 0 { // the helper ends
		unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
	}
}

// Of processes that do not answer only a few are waited for.
func TestReadingBackIsBounded(t *testing.T) {
	var r readBacks
	r.waiting.Store(maxReadBacksWaiting)
	groups := [][]placedSite{{{Site: probes.Site{Library: "library"}}}}
	problems := r.inTime(t.Context(), int32(os.Getpid()), groups)
	if len(problems) != 1 || !errors.Is(problems[0].Err, ErrUnverified) || !strings.Contains(problems[0].Err.Error(), "not looked for") {
		t.Errorf("%v", problems)
	}
}
