package timesync

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestStateOfWhatTheKernelTells(t *testing.T) {
	for _, test := range []struct {
		name string
		of   unix.Timex
		want State
	}{
		{"by chrony", unix.Timex{Status: 0x2001, Maxerror: 1234, Esterror: 5, Offset: -77, Freq: -65536, Tick: 10001, Tai: 37},
			State{Status: 0x2001, Synchronized: true, MaxError: 1_234_000, EstimatedError: 5_000, Remaining: -77, Frequency: -65536, Tick: 10001, TAI: 37}},
		{"in microseconds", unix.Timex{Status: 1, Offset: 3, Tick: 10000}, State{Status: 1, Synchronized: true, Remaining: 3_000, Tick: 10000}},
		{"by nobody", unix.Timex{Status: 0x40, Maxerror: 16_000_000, Esterror: 16_000_000, Tick: 10000},
			State{Status: 0x40, MaxError: 16_000_000_000, EstimatedError: 16_000_000_000, Tick: 10000}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := stateOf(&test.of); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// The state needs no rights. Where a filter lets nobody read it, it is said to be unknown.
func TestReaderReads(t *testing.T) {
	r := NewReader()
	state, ok := r.Read()
	_, err := read()
	if ok != (err == nil) {
		t.Fatalf("readable: %t, and adjtimex says %v", ok, err)
	}
	if ok && (state.Synchronized != (state.Status&statusUnsynchronized == 0) || state.Tick == 0) {
		t.Errorf("got %+v", state)
	}
	if ok && !mayRead() {
		t.Error("the helper could not read what this program can")
	}
	if _, ok := new(Reader).Read(); ok {
		t.Error("it was read without being allowed")
	}
}

func TestFilterIsSeen(t *testing.T) {
	for status, want := range map[string]bool{
		"Name:\tx\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n": true,
		"Name:\tx\nNoNewPrivs:\t1\nSeccomp:\t0\nSeccomp_filters:\t0\n": false,
		"Name:\tSeccomp:\t0\n": true, // a kernel that does not say
	} {
		if got := isFilteredBy([]byte(status)); got != want {
			t.Errorf("%q: %t", status, got)
		}
	}
}

// filteredVariable has the test's program put a filter on itself that ends whoever calls adjtimex.
const filteredVariable = "CARET_BPF_TEST_FILTERED"

// Under a filter that kills, the program goes on, and knows nothing.
func TestReaderOutlivesAFilterThatKills(t *testing.T) {
	if os.Getenv(filteredVariable) != "" {
		if err := killWhoReads(); err != nil {
			t.Skipf("no filter can be put on: %v", err)
		}
		if state, ok := NewReader().Read(); ok {
			t.Errorf("got %+v through the filter", state)
		}
		return
	}
	command := exec.Command("/proc/self/exe", "-test.run", "^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), filteredVariable+"=1")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	} else {
		t.Logf("%s", out)
	}
}

// killWhoReads puts the filter on all threads.
func killWhoReads() error {
	runtime.LockOSThread() // the first call is for the thread only
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the system call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_ADJTIMEX, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return errno
	}
	return nil
}
