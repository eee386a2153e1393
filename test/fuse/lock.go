package fuse

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// locksItsMap maps a file executable, as one does a library, and reads a page that does not come.
const locksItsMap = `import ctypes, mmap, os, sys
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mmap(None, os.path.getsize(sys.argv[1]), mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, os.open(sys.argv[1], os.O_RDONLY), 0)
page = libc.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_SHARED, os.open(sys.argv[2], os.O_RDONLY), 0)
ctypes.string_at(page, 1)
`

// rescue is when whoever waits for a process that keeps its map locked is let go, so that no machine stands still
// because a test fails.
const rescue = time.Minute

// forksWithItsMapLocked reads a page that does not come in one thread, and forks in another one.
const forksWithItsMapLocked = `import ctypes, mmap, os, sys, threading, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
page = libc.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_SHARED, os.open(sys.argv[2], os.O_RDONLY), 0)
threading.Thread(target=lambda: libc.memcmp(page, page, 1), daemon=True).start()
time.sleep(0.5)
libc.fork()
`

// LockMap starts a process that maps a file executable and keeps its memory map locked: it waits for a page of a file
// system of owner's, which does not come. The first attempt to read it fails; in the second one the kernel holds the
// lock. Until the wait ends, who attaches a uprobe to the file waits, and no process of the machine can fork.
func LockMap(t *testing.T, file string, owner int) (pid int) {
	t.Helper()
	pid = run(t, locksItsMap, file, owner)
	await(t, pid, "handle_mm_fault", "fuse")
	return pid
}

// Fork starts a process that does the same, maps nothing but the page, and forks. Until the wait ends, who attaches any
// uprobe waits, and no process of the machine can fork.
func Fork(t *testing.T, owner int) (pid int) {
	t.Helper()
	pid = run(t, forksWithItsMapLocked, "", owner)
	await(t, pid, "dup_mm")
	return pid
}

func run(t *testing.T, text, file string, owner int) (pid int) {
	t.Helper()
	served, release := Mount(t, Options{Owner: owner, Errors: 1})
	script := filepath.Join(t.TempDir(), "locks.py")
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("python3", script, file, served)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		t.Skip(err)
	}
	timer := time.AfterFunc(rescue, release)
	t.Cleanup(func() {
		timer.Stop()
		release() // a process that waits for the page cannot be killed
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return command.Process.Pid
}

// await returns when the kernel's stack of a process's first thread has some functions.
func await(t *testing.T, pid int, functions ...string) {
	t.Helper()
	for {
		stack, err := os.ReadFile(fmt.Sprintf("/proc/%d/stack", pid))
		if err != nil {
			t.Skip("cannot see what the process waits for: ", err)
		}
		missing := slices.DeleteFunc(slices.Clone(functions), func(f string) bool { return bytes.Contains(stack, []byte(f)) })
		if len(missing) == 0 {
			return
		}
		if syscall.Kill(pid, 0) != nil {
			t.Fatal("the process that was to lock its map has ended")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
