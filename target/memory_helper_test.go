package target

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/memoryhelper"
	"github.com/caret-bpf/caret-bpf/test/fuse"
)

// untrusted makes the memory one of somebody whom nobody trusts.
func (m *Memory) untrusted() *Memory {
	m.helper = m.process.finder.helperOf(0)
	return m
}

// The memory of a stranger reads as that of anybody else.
func TestMemoryOfStrangers(t *testing.T) {
	executable, _ := buildROSProgram(t)
	program := start(t, executable)
	address, large := parseAddress(t, program.do("memory")), parseAddress(t, program.do("large"))
	process := openProcess(t, NewFinder(), program.pid)
	direct, helped := openMemory(t, process), openMemory(t, process).untrusted()
	for name, at := range map[string]struct {
		address uint64
		size    int
	}{
		"text": {address, 100}, "up to an untouched page": {address + uint64(os.Getpagesize()) - 16, 32}, "unmapped": {8, 8}, "large": {large, 3 << 20},
	} {
		first, second := make([]byte, at.size), make([]byte, at.size)
		n, err := direct.ReadAt(at.address, first)
		m, helpedErr := helped.ReadAt(at.address, second)
		if n != m || (err == nil) != (helpedErr == nil) || errors.Is(err, ErrNotResident) != errors.Is(helpedErr, ErrNotResident) || string(first) != string(second) {
			t.Errorf("%s: %d bytes, %v; by the helper %d, %v", name, n, err, m, helpedErr)
		}
	}
}

// Whose memory is read by the helper: that of users who are not trusted.
func TestWhoseMemoryTheHelperReads(t *testing.T) {
	requireRoot(t)
	const user, stranger = 4242, 4343
	for owner, helped := range map[int]bool{0: false, user: false, stranger: true} {
		fake := newFakeProcess(t)
		fake.ownedBy(owner)
		fake.writeProcess("pagemap", "")
		finder := NewFinderAt(fake.proc)
		finder.Trust(user)
		memory := openMemory(t, inspectFake(t, finder))
		if (memory.helper != nil) != helped {
			t.Errorf("user %d: by the helper: %v", owner, memory.helper != nil)
		}
	}
}

// Whose pages come late keeps nobody of another user waiting, but of one in sixteen.
func TestHelpersOfUsers(t *testing.T) {
	finder := NewFinder()
	if finder.helperOf(1000) == finder.helperOf(1001) {
		t.Error("users that follow each other have one helper")
	}
}

// mapsServed maps the file that it is given where it says, and waits. Reading the page asks whoever serves the file.
const mapsServed = `import mmap, os, sys, time, ctypes
fd = os.open(sys.argv[1], os.O_RDONLY)
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
print("%x" % libc.mmap(None, 4096, 1, 2, fd, 0), flush=True)
time.sleep(600)
`

// A page that never comes is given up, and what waits for it is another process: this one goes on and can end.
func TestPagesThatDoNotCome(t *testing.T) {
	served, release := fuse.Mount(t, fuse.Options{})
	script := filepath.Join(t.TempDir(), "maps.py")
	if err := os.WriteFile(script, []byte(mapsServed), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("python3", script, served)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	line := make([]byte, 64)
	n, err := output.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	address := parseAddress(t, strings.TrimSpace(string(line[:n])))
	process, err := NewFinder().Inspect(t.Context(), int32(command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	defer process.Close()
	memory := openMemory(t, process).untrusted()
	// As if the page had been another one when it was asked whether it is in RAM.
	if _, err := memory.readBlock(address, make([]byte, 8)); !errors.Is(err, memoryhelper.ErrUnanswered) || !errors.Is(err, ErrNotRead) {
		t.Fatalf("%v", err)
	}
	if _, err := memory.readBlock(address, make([]byte, 8)); !errors.Is(err, ErrNotRead) {
		t.Errorf("again: %v", err)
	}
	other := openMemory(t, process).untrusted()
	if _, err := other.readBlock(address&^0xfff-1<<46, make([]byte, 8)); errors.Is(err, memoryhelper.ErrUnanswered) {
		t.Errorf("the next helper: %v", err)
	}
	release()
}
