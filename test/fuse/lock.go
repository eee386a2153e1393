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

// LockMap starts a process of a user that maps a file executable and keeps its memory map locked: it waits for a page
// of a file system of his, which does not come. Until the wait ends, who attaches a uprobe to the file waits, and no
// process of the machine can fork. The process also maps further files, of which it reads nothing.
func LockMap(t *testing.T, file string, user int, further ...string) (pid int) {
	t.Helper()
	return LockMapBy(t, file, user, user, further...)
}

// LockMapBy is LockMap for a page of a file system that somebody else has mounted.
func LockMapBy(t *testing.T, file string, user, owner int, further ...string) (pid int) {
	t.Helper()
	pid, _ = run(t, user, owner, "read", append([]string{file}, further...)...)
	await(t, pid, "handle_mm_fault", "fuse")
	return pid
}

// LockMapOfThread is LockMap by a process whose first thread has ended: what /proc shows of the process has no map.
func LockMapOfThread(t *testing.T, file string, owner int) (pid int) {
	t.Helper()
	pid, _ = run(t, owner, owner, "leave", file)
	await(t, pid, "handle_mm_fault", "fuse")
	return pid
}

// LockMapByUnmapping is LockMap by a process of owner's that unmaps a page which it has written, and which is not
// taken. Kernels before 6.16 write a copy, and wait for nobody.
func LockMapByUnmapping(t *testing.T, file string, owner int) (pid int) {
	t.Helper()
	pid, _ = run(t, owner, owner, "unmap", file)
	if !isReached(t, pid, "munmap", "writeback") {
		t.Skip("this kernel does not wait until a page that is unmapped is written")
	}
	return pid
}

// Fork starts a process that does the same, maps nothing but the page, and forks. Until the wait ends, who attaches any
// uprobe waits, and no process of the machine can fork.
func Fork(t *testing.T, owner int) (pid int) {
	t.Helper()
	pid, _ = run(t, owner, owner, "fork")
	if !isReached(t, pid, "dup_mm") {
		t.Skip("this kernel lets a process fork that waits for a page")
	}
	return pid
}

// KeepMap starts a process that keeps its memory map locked, and soon wants to change it: from then on nobody may read
// it either, until release.
func KeepMap(t *testing.T) (pid int, release func()) {
	t.Helper()
	return run(t, 0, 0, "map")
}

func run(t *testing.T, user, owner int, does string, arguments ...string) (pid int, release func()) {
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
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}}
	for _, file := range append([]string{program, served}, arguments...) {
		let(t, filepath.Dir(filepath.Dir(file)))
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

// let lets everybody into a folder of a test.
func let(t *testing.T, folder string) {
	t.Helper()
	info, err := os.Stat(folder)
	if err == nil && info.Mode().Perm()&0o005 != 0o005 {
		err = os.Chmod(folder, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// await returns when the kernel's stack of a thread of a process has some functions.
func await(t *testing.T, pid int, functions ...string) {
	t.Helper()
	if !isReached(t, pid, functions...) {
		t.Fatal("the process that was to lock its map has ended")
	}
}

// isReached waits until the kernel's stack of a thread of a process has some functions. It returns false if the process
// ends before.
func isReached(t *testing.T, pid int, functions ...string) bool {
	t.Helper()
	for {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stack", pid))
		for _, thread := range threads {
			stack, err := os.ReadFile(thread)
			if errors.Is(err, fs.ErrPermission) {
				t.Skip("cannot see what the process waits for: ", err)
			}
			if isMissing := func(f string) bool { return !bytes.Contains(stack, []byte(f)) }; err == nil && !slices.ContainsFunc(functions, isMissing) {
				return true
			}
		}
		if hasEnded(pid) {
			return false
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// hasEnded reports whether a process has no thread left but the first, which is over. Who has listed its threads before
// may not have seen that there are others.
func hasEnded(pid int) bool {
	const state, threads = 0, 17 // proc_pid_stat(5), behind the name
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, behind, _ := bytes.Cut(stat, []byte(") "))
	fields := bytes.Fields(behind)
	return err != nil || len(fields) <= threads || string(fields[state]) == "Z" && string(fields[threads]) == "1"
}
