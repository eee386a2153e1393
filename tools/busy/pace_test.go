package busy

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPaceIsWhereTheProcessIs(t *testing.T) {
	p := NewPace()
	for range 3 {
		taken, err := p.Where(int32(os.Getpid()))
		if err != nil || taken <= 0 || taken < p.Fastest {
			t.Fatalf("%v, at best %v: %v", taken, p.Fastest, err)
		}
	}
	if _, err := p.Where(-1); err == nil {
		t.Error("no such process, and no error")
	}
}

// The thread may run where it might before, also when there was no such process.
func TestPaceLeavesTheThreadWhereItMayRun(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	p := NewPace()
	for _, pid := range []int32{int32(os.Getpid()), -1} {
		_, _ = p.Where(pid)
		if err := unix.SchedGetaffinity(0, &after); err != nil || after != before {
			t.Errorf("PID %d: %v, before %v: %v", pid, after, before, err)
		}
	}
}
