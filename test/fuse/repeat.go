package fuse

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

const (
	// attempts are enough beside a few recorders of others. Beside other tests that record they are not: see
	// scripts/run-tests.sh.
	attempts = 10
	// GuardName is the name of the process that looks on while a recorder attaches.
	GuardName = "caret-bpf-attach-guard"
	// aloneVariable is set by who runs nothing else that attaches.
	aloneVariable = "CARET_BPF_ALONE"
)

// Repeat runs a test anew while it fails: every recorder of the machine waits for who keeps his map, and the guard of
// another one may let him go before the guard that is tested does. If guards of others ran each time, the test is
// skipped, for it shows nothing; it fails if nothing else is said to attach.
func Repeat(t *testing.T, test func() error) {
	t.Helper()
	var err error
	var others []int
	for range attempts {
		if err = test(); err == nil {
			return
		}
		others = append(others, guardsOfOthers()...)
	}
	if len(others) > 0 {
		slices.Sort(others)
		why := fmt.Sprintf("%v; other recorders run on this machine, whose guards do the same (PID %v): end them, and test again", err, slices.Compact(others))
		if os.Getenv(aloneVariable) == "" {
			t.Skip(why)
		}
		t.Error(why)
		return
	}
	t.Error(err)
}

// guardsOfOthers are the PIDs of guards that this program has not started.
func guardsOfOthers() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		arguments, err := os.ReadFile(file)
		if name, _, _ := bytes.Cut(arguments, []byte{0}); err != nil || string(name) != GuardName {
			continue
		}
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && !bytes.Contains(status, fmt.Appendf(nil, "\nPPid:\t%d\n", os.Getpid())) {
			pids = append(pids, pid)
		}
	}
	return pids
}
