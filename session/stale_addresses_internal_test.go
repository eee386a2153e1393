package session

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// TestStaleAddresses: what the kernel side remembers of a process that is over is freed when nobody has its PID, were
// it the same process that runs another program now.
func TestStaleAddresses(t *testing.T) {
	over := exec.Command("true")
	if err := over.Run(); err != nil {
		t.Fatal(err)
	}
	free, living, recorded := int32(over.Process.Pid), int32(os.Getpid()), int32(over.Process.Pid+1<<22) // beyond all PIDs
	stale, known := staleAddresses{}, newProcesses(datasetClock{}, nil, nil)
	known.byPID[recorded] = &process{}
	for _, pid := range []int32{free, living, recorded} {
		stale.note(&process{ros2: true, row: trace.Process{ProcessKey: trace.ProcessKey{PID: pid}}})
	}
	stale.note(&process{row: trace.Process{ProcessKey: trace.ProcessKey{PID: recorded + 1}}}) // never recorded
	if taken := stale.take(known.isUsed); !slices.Equal(taken, []int32{free}) {
		t.Errorf("%v are freed", taken)
	}
	delete(known.byPID, recorded)
	if taken := stale.take(known.isUsed); !slices.Equal(taken, []int32{recorded}) {
		t.Errorf("then %v", taken)
	}
	if taken := stale.take(known.isUsed); taken != nil {
		t.Errorf("in the end %v", taken)
	}
}
