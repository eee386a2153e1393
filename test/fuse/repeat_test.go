package fuse

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

// A test that the guard of another recorder always keeps from showing anything is skipped.
func TestRepeatBesideAnotherRecorder(t *testing.T) {
	t.Setenv(aloneVariable, "")
	command := exec.Command("bash", "-c", fmt.Sprintf("(exec -a %s sleep 60) & trap 'kill $!' TERM; echo; wait", GuardName))
	started, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	}()
	if _, err := started.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	skipped, tries := false, 0
	t.Run("nobody told", func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		Repeat(t, func() error { tries++; time.Sleep(50 * time.Millisecond); return errors.New("nobody told") })
	})
	if !skipped || tries != attempts {
		t.Errorf("skipped: %v, after %d tries", skipped, tries)
	}
}

// A guard that another process has started is one of others, and one that this program has started is not. Guards of
// real recorders may come and go meanwhile: only those count that the test has started.
func TestGuardsOfOthers(t *testing.T) {
	for _, test := range []struct {
		name, command string
		areOthers     bool
	}{
		{"its own", "exec -a %s sleep 60", false},
		{"of another recorder", "(exec -a %s sleep 60) & trap 'kill $!' TERM; wait", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			command := exec.Command("bash", "-c", fmt.Sprintf(test.command, GuardName))
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = command.Process.Signal(syscall.SIGTERM)
				_ = command.Wait()
			}()
			started := command.Process.Pid
			isStarted := func(pid int) bool {
				status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
				return pid == started || bytes.Contains(status, fmt.Appendf(nil, "\nPPid:\t%d\n", started))
			}
			patience := time.Second
			if test.areOthers {
				patience = time.Minute // looking at all processes waits for those whose map is locked
			}
			found := false
			for deadline := time.Now().Add(patience); !found && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
				found = slices.ContainsFunc(guardsOfOthers(), isStarted)
			}
			if found != test.areOthers {
				t.Errorf("found: %v", found)
			}
		})
	}
}
