package attachguard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/test/fuse"
)

const user = 65534

// attacherLibrary is the variable by which this program is one that attaches to the file which it names.
const attacherLibrary = "ATTACH_GUARD_TEST_LIBRARY"

func TestMain(m *testing.M) {
	if library := os.Getenv(attacherLibrary); library != "" {
		if _, err := Start(func(string) {}); err != nil {
			os.Exit(1)
		}
		_, _ = attach(library)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Tests that fail beside guards of other recorders find these by their name.
func TestGuardsAreFound(t *testing.T) {
	if name != fuse.GuardName {
		t.Errorf("the guard is %q, tests look for %q", name, fuse.GuardName)
	}
}

func writeLibrary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "library")
	if err := os.WriteFile(path, code(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// attachBeside attaches to a library while processes keep their maps. It returns what the guard has told.
func attachBeside(t *testing.T, library string, keepMaps func()) (told []string) {
	t.Helper()
	guard, err := Start(func(line string) { told = append(told, line) })
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	defer func() {
		if !closed { // it would let go who keeps his map in the next test
			guard.Close()
		}
	}()
	keepMaps()
	fd, err := attach(library)
	guard.Close()
	closed = true
	if err != nil {
		t.Skip("cannot attach: ", err)
	}
	unix.Close(fd)
	return told
}

// A stranger keeps his memory map locked. Whoever attaches goes on nevertheless, and is told.
func TestAttachingGoesOn(t *testing.T) {
	library := writeLibrary(t)
	// A file system of the same user does not answer somebody else, who does not map the library.
	bystander, _ := fuse.Mount(t, fuse.Options{Owner: user})
	waits := exec.Command("cat", bystander)
	if err := waits.Start(); err != nil {
		t.Fatal(err)
	}
	fuse.Repeat(t, func() error {
		var holder int
		told := attachBeside(t, library, func() { holder = fuse.LockMap(t, library, user) })
		want := fmt.Sprintf("PID %d (\"holder\"), whose memory map was locked by a page that a file system of user %d (FUSE)", holder, user)
		if len(told) != 1 || !strings.Contains(told[0], want) {
			return fmt.Errorf("told: %q", told)
		}
		return nil
	})
	if _, err := os.ReadDir(filepath.Dir(bystander)); errors.Is(err, unix.ENOTCONN) && areMapsShown(t) {
		t.Error("the connection of a bystander was ended")
	}
}

// areMapsShown reports whether the kernel shows which files a process maps while that keeps its map, as from Linux 6.17
// on. Where it does not, all file systems of a user that do not answer are ended, and none of others.
func areMapsShown(t *testing.T) bool {
	t.Helper()
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	return major > 6 || major == 6 && minor >= 17
}

// The first thread of who keeps his map has ended, so that the process seems to have none.
func TestAttachingGoesOnBesideAThread(t *testing.T) {
	library := writeLibrary(t)
	fuse.Repeat(t, func() error {
		var holder int
		told := attachBeside(t, library, func() { holder = fuse.LockMapOfThread(t, library, user) })
		if len(told) != 1 || !strings.Contains(told[0], fmt.Sprintf("PID %d ", holder)) {
			return fmt.Errorf("told: %q", told)
		}
		return nil
	})
}

// Nothing is read: a page is written, while its mapping is being taken away.
func TestAttachingGoesOnBesideAnUnmapping(t *testing.T) {
	library := writeLibrary(t)
	fuse.Repeat(t, func() error {
		var holder int
		told := attachBeside(t, library, func() { holder = fuse.LockMapByUnmapping(t, library, user) })
		if len(told) != 1 || !strings.Contains(told[0], fmt.Sprintf("PID %d ", holder)) || !strings.Contains(told[0], "was ended") {
			return fmt.Errorf("told: %q", told)
		}
		return nil
	})
}

// Processes keep their maps one after the other: when one has been let go, attaching waits for the next.
func TestHoldersOneAfterTheOther(t *testing.T) {
	library := writeLibrary(t)
	fuse.Repeat(t, func() error {
		var holders []int
		told := attachBeside(t, library, func() {
			holders = []int{fuse.LockMap(t, library, user), fuse.LockMap(t, library, user-1), fuse.LockMap(t, library, user-2)}
		})
		for _, holder := range holders {
			if !slices.ContainsFunc(told, func(line string) bool { return strings.Contains(line, fmt.Sprintf("PID %d ", holder)) }) {
				return fmt.Errorf("of PID %d nothing is told: %q", holder, told)
			}
		}
		return nil
	})
}

// A process that maps nothing of what is probed forks while its map is locked: every attachment waits for that.
func TestAttachingGoesOnBesideAFork(t *testing.T) {
	library := writeLibrary(t)
	fuse.Repeat(t, func() error {
		var holder int
		told := attachBeside(t, library, func() { holder = fuse.Fork(t, user) })
		if len(told) != 1 || !strings.Contains(told[0], fmt.Sprintf("PID %d ", holder)) {
			return fmt.Errorf("told: %q", told)
		}
		return nil
	})
}

// Who ends the recorder may tell all of its processes. The guard is needed until the recorder has ended.
func TestTheGuardStays(t *testing.T) {
	told := make(chan string, 8)
	guard, err := Start(func(line string) { told <- line })
	if err != nil {
		t.Fatal(err)
	}
	for !ignoresTermination(t, guard.command.Process.Pid) {
		time.Sleep(time.Millisecond) // it is still beginning
	}
	if err := guard.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := guard.command.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if line := <-told; !strings.Contains(line, "has ended") { // by the second one
		t.Errorf("told: %s", line)
	}
	guard.Close()
}

func ignoresTermination(t *testing.T, pid int) bool {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if mask, found := strings.CutPrefix(line, "SigIgn:"); found {
			ignored, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return err == nil && ignored&(1<<(syscall.SIGTERM-1)) != 0
		}
	}
	return false
}

// Who waits cannot be killed, and the kernel lets him go when the guard, which lives on, has ended the wait.
func TestTheGuardOutlivesWhoIsKilled(t *testing.T) {
	library := writeLibrary(t)
	fuse.LockMap(t, library, user)
	attacher := exec.Command("/proc/self/exe")
	attacher.Env = append(os.Environ(), attacherLibrary+"="+library)
	if err := attacher.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = attacher.Wait()
	}()
	for waits := false; !waits; time.Sleep(10 * time.Millisecond) {
		select {
		case <-ended:
			t.Skip("cannot attach")
		default:
		}
		waits = len((&watch{proc: "/proc", recorder: attacher.Process.Pid}).waitingThreads()) > 0
	}
	_ = attacher.Process.Kill()
	<-ended
}

// What root has mounted is not ended.
func TestRootsFileSystemsAreLeft(t *testing.T) {
	served, _ := fuse.Mount(t, fuse.Options{})
	connections, err := openConnections()
	if err != nil {
		t.Skip(err)
	}
	defer connections.close()
	var stat unix.Stat_t
	if err := unix.Stat(served, &stat); err != nil {
		t.Fatal(err)
	}
	c, ok := connections.get(fmt.Sprint(unix.Minor(stat.Dev)))
	if !ok || c.owner != 0 || c.device != stat.Dev || c.mayBeEnded() {
		t.Errorf("%+v, %v", c, ok)
	}
}

// code is a page of instructions that a uprobe may sit on.
func code() []byte {
	if runtime.GOARCH == "arm64" {
		return bytes.Repeat(binary.LittleEndian.AppendUint32(nil, 0xd503201f), 1024) // nop
	}
	return bytes.Repeat([]byte{0x55}, 4096) // push %rbp
}

// attach attaches a counter to the second instructions of a file, in all processes.
func attach(path string) (int, error) {
	text, err := os.ReadFile("/sys/bus/event_source/devices/uprobe/type")
	if err != nil {
		return 0, err
	}
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return 0, err
	}
	attributes := unix.PerfEventAttr{Ext1: uint64(uintptr(unsafe.Pointer(name))), Ext2: 8}
	attributes.Size = uint32(unsafe.Sizeof(attributes))
	if _, err := fmt.Sscan(string(text), &attributes.Type); err != nil {
		return 0, err
	}
	fd, err := unix.PerfEventOpen(&attributes, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
	runtime.KeepAlive(name)
	return fd, err
}

// The guard ends when nobody needs it any more, and has told nothing when nothing waited.
func TestNothingWaits(t *testing.T) {
	guard, err := Start(func(line string) { t.Errorf("told: %s", line) })
	if err != nil {
		t.Fatal(err)
	}
	guard.Close()
}

func TestWaitsForMaps(t *testing.T) {
	for stack, want := range map[string]bool{
		"[<0>] register_for_each_vma+0x26b/0x480\n[<0>] uprobe_register+0x268/0x340\n":                              true,
		"[<0>] register_for_each_vma.isra.0+0x26b/0x480\n":                                                          true,
		"[<0>] percpu_rwsem_wait+0x1/0x2\n[<0>] uprobe_unregister_nosync+0x1/0x2\n":                                 true,
		"[<0>] __wait_rcu_gp+0x198/0x1a0\n[<0>] uprobe_unregister_sync+0xa/0x20\n[<0>] trace_uprobe_register+0x69/": false,
		"[<0>] futex_do_wait+0x1/0x2\n":                                                                             false,
		"":                                                                                                          false,
	} {
		if got := waitsForMaps([]byte(stack)); got != want {
			t.Errorf("%q: %v", stack, got)
		}
	}
}

// Only those users are suspected of whom a process waits for a page: others can have anybody keep his map.
func TestWhoAwaitsPages(t *testing.T) {
	const page, file = "[<0>] fuse_read_folio+0x1/0x2\n[<0>] handle_mm_fault+0x1/0x2\n", "[<0>] fuse_lookup+0x1/0x2\n"
	proc := t.TempDir()
	for pid, process := range map[int]struct {
		user   int
		stacks []string
	}{
		1: {1000, []string{file, page}},
		2: {1001, []string{file}},
		3: {1002, []string{page}},
		4: {1001, nil},
		5: {0, []string{page}}, // of its own
	} {
		folder := filepath.Join(proc, strconv.Itoa(pid))
		for i, stack := range process.stacks {
			thread := filepath.Join(folder, "task", strconv.Itoa(i))
			if err := os.MkdirAll(thread, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(thread, "stack"), []byte(stack), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "status"), fmt.Appendf(nil, "Uid:\t%d\n", process.user), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var hs holders
	of := map[int]holder{1: {pid: 1, user: 1000, account: 1000}, 2: {pid: 2, user: 1001, account: 1001}, 3: {pid: 6, user: 1000, account: 1000}}
	awaiting := func() (held, own []int) {
		waiters := hs.awaitPages(proc, map[uint32]bool{1000: true, 1001: true})
		for pid, h := range of {
			if slices.ContainsFunc(waiters, func(w waiter) bool { return w.mayHold(h) }) {
				held = append(held, pid)
			}
			if slices.ContainsFunc(waiters, func(w waiter) bool { return w.mayBeOf(h) }) {
				own = append(own, pid)
			}
		}
		slices.Sort(held)
		slices.Sort(own)
		return held, own
	}
	if held, own := awaiting(); !slices.Equal(held, []int{1}) || !slices.Equal(own, []int{1, 3}) {
		t.Errorf("%v, %v", held, own)
	}
	// Root reads the memory of somebody.
	if err := os.WriteFile(filepath.Join(proc, "5", "task", "0", "stack"), []byte(page+"[<0>] process_vm_rw+0x1/0x2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if held, own := awaiting(); !slices.Equal(held, []int{1, 2, 3}) || !slices.Equal(own, held) {
		t.Errorf("%v, %v", held, own)
	}
}

func TestWaitsForPage(t *testing.T) {
	const fault = "[<0>] filemap_fault+0x1/0x2\n[<0>] __do_fault+0x1/0x2\n[<0>] handle_mm_fault+0x1/0x2\n"
	for stack, want := range map[string]bool{
		"[<0>] request_wait_answer+0x1/0x2\n[<0>] fuse_read_folio+0x1/0x2\n" + fault:                                                   true,
		"[<0>] fuse_dev_do_read+0x1/0x2\n[<0>] vfs_read+0x1/0x2\n":                                                                     false, // the program that answers
		"[<0>] request_wait_answer+0x1/0x2\n[<0>] fuse_lookup+0x1/0x2\n[<0>] do_open\n":                                                false,
		"[<0>] folio_wait_writeback+0x1/0x2\n[<0>] fuse_vma_close+0x1/0x2\n[<0>] remove_vma+0x1/0x2\n[<0>] __x64_sys_munmap+0x1/0x2\n": true,
		"[<0>] folio_wait_bit_common+0x1/0x2\n" + fault:                                                                                true, // somebody else has asked for it
		fault: false,
		"":    false,
	} {
		if got := waitsForPage([]byte(stack)); got != want {
			t.Errorf("%q: %v", stack, got)
		}
	}
}

func TestRealUser(t *testing.T) {
	for status, want := range map[string]uint32{
		"Name:\tx\nUid:\t1000\t0\t0\t0\n": 1000, "Uid:\t4294967295\n": 4294967295, "Uid:\n": 0, "": 0, "Uid:\tx\n": 0,
	} {
		if got := realUser([]byte(status)); got != want {
			t.Errorf("%q: %d", status, got)
		}
	}
}

func TestThreadState(t *testing.T) {
	for stat, want := range map[string]byte{"1 (a) R 1": 'R', "1 (a) S b) D 1": 'D', "1 (a)": 0, "": 0, "1 (a) ": 0} {
		if got := threadState([]byte(stat)); got != want {
			t.Errorf("%q: %q", stat, got)
		}
	}
}

func TestMappedDevices(t *testing.T) {
	got := mappedDevices([]byte("7f00-7f01 r--s 00000000 00:27 2   /mnt/file\n7f02-7f03 rw-p 00000000 00:00 0\nx\n7f04-7f05 r--p 0 zz:1 3 /y\n"))
	if len(got) != 2 || !got[unix.Mkdev(0, 0x27)] || !got[0] {
		t.Errorf("%v", got)
	}
}

func FuzzTextOfProcesses(f *testing.F) {
	f.Add([]byte("7f00-7f01 r--s 00000000 00:27 2   /mnt/file\nUid:\t1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		mappedDevices(text)
		threadState(text)
		realUser(text)
		waitsForMaps(text)
	})
}
