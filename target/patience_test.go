package target

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/test/fuse"
)

// learnPath learns what the file at a path says.
func learnPath(t *testing.T, f *Finder, path string) learnedFile {
	t.Helper()
	handle, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(handle)
	return f.learnFile(t.Context(), handle, path, trust)
}

// keepsItsMap waits for a page, which locks its memory map for whoever only reads it, and wants to change the map
// meanwhile: from then on nobody else may read it either.
const keepsItsMap = `import ctypes, mmap, os, sys, threading, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
page = libc.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_SHARED, os.open(sys.argv[1], os.O_RDONLY), 0)
libc.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
threading.Thread(target=lambda: libc.memcmp(page, page, 1), daemon=True).start()
time.sleep(0.5)
libc.mmap(None, 4096, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
time.sleep(600)
`

// A process that keeps its map locked is given up after a while, and not asked for again as long as it does.
func TestProcessesThatKeepTheirMap(t *testing.T) {
	served, release := fuse.Mount(t, fuse.Options{Errors: 1})
	script := filepath.Join(t.TempDir(), "keeps.py")
	if err := os.WriteFile(script, []byte(keepsItsMap), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("python3", script, served)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		release()
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	finder := NewFinder()
	pid := int32(command.Process.Pid)
	for kept := false; !kept; time.Sleep(10 * time.Millisecond) {
		process, err := finder.Inspect(t.Context(), pid)
		switch {
		case err == nil:
			process.Close() // it does not yet
		case errors.Is(err, ErrNotShown):
			kept = true
		default:
			t.Fatal(err)
		}
	}
	// Only the first question is waited for.
	for range 100 {
		if _, err := finder.Inspect(t.Context(), pid); !errors.Is(err, ErrNotShown) {
			t.Fatalf("while the map is kept: %v", err)
		}
	}
	if _, err := finder.All(t.Context()); !errors.Is(err, ErrNotShown) {
		t.Errorf("among all processes: %v", err)
	}
	release()
	for finder.waits() {
		time.Sleep(10 * time.Millisecond)
	}
	// The page never came: that ends the process.
	if _, err := finder.Inspect(t.Context(), pid); !errors.Is(err, ErrNoProcess) {
		t.Errorf("afterwards: %v", err)
	}
}

func (f *Finder) waits() bool {
	_, users := f.unshown.has(0)
	return len(users) > 0
}
