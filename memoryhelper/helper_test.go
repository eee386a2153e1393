package memoryhelper

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

var known = []byte("what is read of this test's own memory")

func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

func TestReading(t *testing.T) {
	var h Helper
	defer h.Close()
	pid := int32(os.Getpid())
	for range 3 {
		into := make([]byte, len(known))
		n, _, err := h.Read(pid, addressOf(known), into)
		if n != len(known) || err != nil || string(into) != string(known) {
			t.Fatalf("%d, %v, %q", n, err, into)
		}
	}
	if _, _, err := h.Read(pid, 16, make([]byte, 8)); !errors.Is(err, unix.EFAULT) {
		t.Errorf("memory that is not mapped: %v", err)
	}
	if _, _, err := h.Read(1<<30, addressOf(known), make([]byte, 8)); !errors.Is(err, unix.ESRCH) {
		t.Errorf("no process: %v", err)
	}
	if n, _, err := h.Read(pid, addressOf(known), nil); n != 0 || err != nil {
		t.Errorf("nothing: %d, %v", n, err)
	}
	large := make([]byte, 2*BlockSize)
	if n, _, err := h.Read(pid, addressOf(large), large); n != BlockSize || err != nil {
		t.Errorf("more than a block: %d, %v", n, err)
	}
}

func TestReadingBySeveral(t *testing.T) {
	var h Helper
	defer h.Close()
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			own := []byte(strings.Repeat(string(rune('a'+i)), 5000))
			for range 100 {
				into := make([]byte, len(own))
				if _, _, err := h.Read(int32(os.Getpid()), addressOf(own), into); err != nil || string(into) != string(own) {
					t.Errorf("%v, %q", err, into[:10])
					return
				}
			}
		})
	}
	wait.Wait()
}

// The helper holds nothing but what it needs: a helper that waits for ever keeps nothing of the recorder alive.
func TestTheHelperHoldsNothing(t *testing.T) {
	file, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var h Helper
	defer h.Close()
	if _, _, err := h.Read(int32(os.Getpid()), addressOf(known), make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	children, err := exec.Command("pgrep", "-x", "-f", name).Output()
	if err != nil {
		t.Skip(err)
	}
	for pid := range strings.FieldsSeq(string(children)) {
		links, _ := os.ReadDir("/proc/" + pid + "/fd")
		for _, link := range links {
			leads, _ := os.Readlink("/proc/" + pid + "/fd/" + link.Name())
			switch {
			case strings.HasPrefix(leads, "/sys/fs/cgroup/"): // Go's runtime looks for how many processors it may use
			case leads == "/dev/null", strings.HasPrefix(leads, "socket:"), strings.HasPrefix(leads, "/memfd:"+name), strings.HasPrefix(leads, "anon_inode:"):
			default:
				t.Errorf("descriptor %s of the helper is %s", link.Name(), leads)
			}
		}
	}
}

// Where no helper can be begun nobody waits for one, and one is begun when it can be.
func TestNoHelperCanBegin(t *testing.T) {
	var h Helper
	defer h.Close()
	read := func() (<-chan struct{}, error) {
		_, ended, err := h.Read(int32(os.Getpid()), addressOf(known), make([]byte, 8))
		return ended, err
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}, nil); err != nil {
		t.Fatal(err)
	}
	ended, err := read()
	if limitErr := unix.Prlimit(0, unix.RLIMIT_NOFILE, &limit, nil); limitErr != nil {
		t.Fatal(limitErr)
	}
	if !errors.Is(err, ErrUnanswered) || !errors.Is(err, unix.EMFILE) {
		t.Fatalf("without descriptors: %v", err)
	}
	<-ended
	if _, err := read(); err != nil {
		t.Errorf("with descriptors: %v", err)
	}
}

// A helper that is killed is replaced.
func TestAnotherHelperComes(t *testing.T) {
	var h Helper
	defer h.Close()
	read := func() (ended <-chan struct{}, err error) {
		_, ended, err = h.Read(int32(os.Getpid()), addressOf(known), make([]byte, 8))
		return ended, err
	}
	if _, err := read(); err != nil {
		t.Fatal(err)
	}
	pids, err := exec.Command("pgrep", "-x", "-f", "-P", strconv.Itoa(os.Getpid()), name).Output()
	if err != nil {
		t.Skip(err)
	}
	for pid := range strings.FieldsSeq(string(pids)) {
		number, _ := strconv.Atoi(pid)
		_ = syscall.Kill(number, syscall.SIGKILL)
	}
	ended, err := read()
	if err == nil {
		t.Fatal("a killed helper reads")
	}
	<-ended
	if _, err := read(); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(request{7, 8, 9}.encode())
	f.Add(answer{7, unix.EFAULT}.encode())
	f.Fuzz(func(t *testing.T, message []byte) {
		if r, ok := parseRequest(message); ok && (string(r.encode()) != string(message) || r.size > BlockSize) {
			t.Errorf("%+v", r)
		}
		if a, ok := parseAnswer(message); ok && (string(a.encode()) != string(message) || a.read > BlockSize) {
			t.Errorf("%+v", a)
		}
	})
}

// TestNoHelperBeginsAfterClose reads once more: nobody would end the process that began for it.
func TestNoHelperBeginsAfterClose(t *testing.T) {
	for name, before := range map[string]func(*Helper){
		"used": func(h *Helper) {
			if _, _, err := h.Read(int32(os.Getpid()), addressOf(known), make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		},
		"never used": func(*Helper) {},
	} {
		t.Run(name, func(t *testing.T) {
			var h Helper
			before(&h)
			h.Close()
			_, ended, err := h.Read(int32(os.Getpid()), addressOf(known), make([]byte, 1))
			if !errors.Is(err, ErrUnanswered) || h.socket != nil {
				t.Errorf("error %v, a helper has begun: %t", err, h.socket != nil)
			}
			<-ended
		})
	}
}
