package target

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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

// Whose memory is read by the helper: that of whoever has rights of users who are not trusted, and of everybody in a
// user namespace, whoever has made it. What counts is the process, not who pays for it.
func TestWhoseMemoryTheHelperReads(t *testing.T) {
	requireRoot(t)
	const user, stranger = 4242, 4343
	const elsewhere = "user:[4026532999]"
	for name, test := range map[string]struct {
		users     string // real, effective, saved, file system
		namespace string // "": this program's
		helped    bool
	}{
		"root's":                         {"0 0 0 0", "", false},
		"the caller's":                   {fmt.Sprintf("%[1]d %[1]d %[1]d %[1]d", user), "", false},
		"both, one of them":              {fmt.Sprintf("%d 0 0 0", user), "", false},
		"a stranger's":                   {fmt.Sprintf("%[1]d %[1]d %[1]d %[1]d", stranger), "", true},
		"a set-user-ID program":          {fmt.Sprintf("%d 0 0 0", stranger), "", true},
		"one that gave up rights":        {fmt.Sprintf("0 %[1]d 0 %[1]d", stranger), "", true},
		"one that may be somebody again": {fmt.Sprintf("0 0 %d 0", stranger), "", true},
		"in another user namespace":      {"0 0 0 0", elsewhere, true},
		"it has shown none":              {"", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFakeProcess(t)
			namespace := test.namespace
			if namespace == "" {
				namespace = readLink(t, "/proc/self/ns/user")
			}
			fake.link(namespace, "ns/user")
			fake.writeProcess("pagemap", "")
			finder := NewFinderAt(fake.proc)
			finder.Trust(user)
			process := inspectFake(t, finder)
			fake.writeProcess("status", "Uid:\t"+test.users+"\n")
			if memory := openMemory(t, process); (memory.helper != nil) != test.helped {
				t.Errorf("by the helper: %v", memory.helper != nil)
			}
		})
	}
}

// In a user namespace that root has made for a container, a stranger has root pay. His memory is read by the helper all
// the same, and the namespace pays for itself.
func TestContainersOfRootAreStrangers(t *testing.T) {
	const first, count = 100_000, 65_536
	served, release := fuse.Mount(t, fuse.Options{Owner: first})
	command := exec.Command("/usr/bin/python3", "-c", mapsServed, served) // everybody's
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: first, Size: count}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: first, Size: count}},
		Credential:  &syscall.Credential{Uid: 0, Gid: 0},
	}
	allowAll(t, filepath.Dir(served))
	process, address := inspectMapping(t, command)
	defer release() // before the process is ended
	memory := openMemory(t, process)
	if memory.helper == nil {
		t.Fatal("this process itself would wait for the page")
	}
	if _, err := memory.readBlock(address, make([]byte, 8)); !errors.Is(err, memoryhelper.ErrUnanswered) {
		t.Errorf("%v", err)
	}
	namespace := readLink(t, fmt.Sprintf("/proc/%d/ns/user", process.PID))
	if payer := process.Account().User(); namespace != fmt.Sprintf("user:[%d]", payer) {
		t.Errorf("%d pays for a process in %s", payer, namespace)
	}
}

// allowAll lets everybody pass a temporary folder of a test, and what it lies in.
func allowAll(t *testing.T, folder string) {
	t.Helper()
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
}

// inspectMapping starts a program that tells the address at which it has mapped something.
func inspectMapping(t *testing.T, command *exec.Cmd) (process *Process, address uint64) {
	t.Helper()
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
	address = parseAddress(t, strings.TrimSpace(string(line[:n])))
	process, err = NewFinder().Inspect(t.Context(), int32(command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { process.Close() })
	return process, address
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
	process, address := inspectMapping(t, command)
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
