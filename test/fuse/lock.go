package fuse

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

//go:embed testdata/holder.c
var holderSource []byte

// rescue is when whoever waits for a process that keeps its map locked is let go, so that no machine stands still
// because a test fails.
const rescue = time.Minute

// LockMap starts a process that maps a file executable and keeps its memory map locked: it waits for a page of a file
// system of owner's, which does not come. Until the wait ends, who attaches a uprobe to the file waits, and no process
// of the machine can fork.
func LockMap(t *testing.T, file string, owner int) (pid int) {
	t.Helper()
	pid, _ = run(t, owner, "read", file)
	await(t, pid, "handle_mm_fault", "fuse")
	return pid
}

// LockMapOfThread is LockMap by a process whose first thread has ended: what /proc shows of the process has no map.
func LockMapOfThread(t *testing.T, file string, owner int) (pid int) {
	t.Helper()
	pid, _ = run(t, owner, "leave", file)
	await(t, pid, "handle_mm_fault", "fuse")
	return pid
}

// LockMapByUnmapping is LockMap by a process of owner's that unmaps a page which it has written, and which is not
// taken. The file's folder must be a temporary one of the test.
func LockMapByUnmapping(t *testing.T, file string, owner int) (pid int) {
	t.Helper()
	pid, _ = run(t, owner, "unmap", file)
	await(t, pid, "munmap", "writeback")
	return pid
}

// Fork starts a process that does the same, maps nothing but the page, and forks. Until the wait ends, who attaches any
// uprobe waits, and no process of the machine can fork.
func Fork(t *testing.T, owner int) (pid int) {
	t.Helper()
	pid, _ = run(t, owner, "fork")
	await(t, pid, "dup_mm")
	return pid
}

// KeepMap starts a process that keeps its memory map locked, and soon wants to change it: from then on nobody may read
// it either, until release.
func KeepMap(t *testing.T) (pid int, release func()) {
	t.Helper()
	return run(t, 0, "map")
}

func run(t *testing.T, owner int, does string, arguments ...string) (pid int, release func()) {
	t.Helper()
	served, release := Mount(t, Options{Owner: owner, Errors: 1, Writes: does == "unmap"})
	source, program := filepath.Join(t.TempDir(), "holder.c"), filepath.Join(t.TempDir(), "holder")
	if err := os.WriteFile(source, holderSource, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O1", "-static", "-pthread", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	command := exec.Command(program, append([]string{does, served}, arguments...)...)
	if does == "unmap" { // what it does not map any more is known by who has mounted it
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(owner), Gid: uint32(owner)}}
		if err := os.Chmod(filepath.Dir(filepath.Dir(program)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(rescue, release)
	t.Cleanup(func() {
		timer.Stop()
		release() // a process that waits for the page cannot be killed
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return command.Process.Pid, release
}

// await returns when the kernel's stack of a thread of a process has some functions.
func await(t *testing.T, pid int, functions ...string) {
	t.Helper()
	for {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stack", pid))
		for _, thread := range threads {
			stack, err := os.ReadFile(thread)
			if errors.Is(err, fs.ErrPermission) {
				t.Skip("cannot see what the process waits for: ", err)
			}
			if isMissing := func(f string) bool { return !bytes.Contains(stack, []byte(f)) }; err == nil && !slices.ContainsFunc(functions, isMissing) {
				return
			}
		}
		if syscall.Kill(pid, 0) != nil {
			t.Fatal("the process that was to lock its map has ended")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
